# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The rows of every table, for ``experiments.grid``."""

from __future__ import annotations

from experiments.grid import Grid
from experiments.grids import (
    bits,
    causal,
    coherent,
    fair,
    gates,
    lift,
    long_range,
    paper,
    positions,
    quantum,
    speech,
    stability,
    state_space,
    state_tracking,
    text,
    thesis,
    thesis_language,
    thesis_memory,
    thesis_semantics,
)

__all__ = ["GRIDS"]

MODULES = (
    *(text, speech, paper, fair, coherent, quantum, gates, stability, lift, bits, causal, positions, long_range),
    *(state_tracking, state_space, thesis, thesis_language, thesis_memory, thesis_semantics),
)
GRIDS: dict[str, Grid] = {grid.name: grid for module in MODULES for grid in module.GRIDS}
