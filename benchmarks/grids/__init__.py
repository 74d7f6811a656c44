# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The rows of every table, as data, for ``benchmarks.grid``."""

from __future__ import annotations

from benchmarks.grid import Grid
from benchmarks.grids import fair, gates, paper, speech, stability, text, thesis

__all__ = ["GRIDS"]

GRIDS: dict[str, Grid] = {
    grid.name: grid for module in (text, speech, paper, fair, gates, stability, thesis) for grid in module.GRIDS
}
