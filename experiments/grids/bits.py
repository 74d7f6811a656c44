# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A low-bit quantized checkpoint, with and without training.

    python -m experiments.run lift-bits
    python -m experiments.run lift-training

The tables go to ``docs/quantization.md``.
"""

from __future__ import annotations

from experiments.grid import Functions
from experiments.grids.lift import SMOLLM2
from experiments.lift.bits import (
    Rounded,
    Trained,
    measure,
    measure_trained,
    settings,
    training_settings,
)
from experiments.lift.real_rules import RULES

__all__ = ["GRIDS"]

UNITS = {
    f"{'calibrated' if calibrated else 'nearest'}-{granularity}-{stages}": Rounded(
        SMOLLM2, "units", stages, granularity, calibrated
    )
    for calibrated in (False, True)
    for granularity in ("row", "tensor")
    for stages in (1, 2, 3)
}
HQQ = {f"hqq-{bits}-bit": Rounded(SMOLLM2, "hqq", hqq_bits=bits) for bits in (2, 4)}
REAL = {rule: Rounded(SMOLLM2, rule) for rule in ("float", "lifted", *RULES)}
TRAINED = {
    **{f"units-{stages}": Trained(SMOLLM2, "units", stages) for stages in (1, 2)},
    **{rule: Trained(SMOLLM2, rule) for rule in RULES},
}

GRIDS = (
    Functions("lift-bits", REAL | HQQ | UNITS, (0,), measure, settings),
    Functions("lift-training", TRAINED, (0,), measure_trained, training_settings),
)
