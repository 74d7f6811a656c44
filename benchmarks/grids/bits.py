# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A checkpoint whose layers are rounded to few bits, without training."""

from __future__ import annotations

from benchmarks.grid import Functions
from benchmarks.grids.lift import SMOLLM2
from benchmarks.lift.bits import Rounded, measure, settings

__all__ = ["GRIDS"]

UNITS = {
    f"{'calibrated' if calibrated else 'nearest'}-{granularity}-{stages}": Rounded(
        SMOLLM2, stages, granularity, calibrated
    )
    for calibrated in (False, True)
    for granularity in ("row", "tensor")
    for stages in (1, 2, 3)
}
ROWS = {"float": Rounded(SMOLLM2), "hqq-2-bit-group-64": Rounded(SMOLLM2, hqq_group=64)} | UNITS

GRIDS = (Functions("lift-bits", ROWS, (0,), measure, settings),)
