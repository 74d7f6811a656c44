# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A low-bit quantized checkpoint, with and without training.

    python -m experiments.run lift-bits
    python -m experiments.run lift-training
    python -m experiments.run lift-precisions

The tables go to ``docs/quantization.md``.
"""

from __future__ import annotations

from dataclasses import replace

from experiments.grid import Functions
from experiments.grids.lift import SMOLLM2
from experiments.lift.bits import (
    Rounded,
    Trained,
    measure,
    measure_precisions,
    measure_trained,
    precision_settings,
    settings,
    training_settings,
)
from experiments.lift.gptq import Grid
from experiments.lift.learned_scales import LEARNED
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
MIXED = {
    f"calibrated-row-2-{name}-3": replace(UNITS["calibrated-row-2"], module_stages=own)
    for name, own in {"down": (("down_proj", 3),), "values": (("v_proj", 3), ("o_proj", 3))}.items()
}
HQQ = {f"hqq-{bits}-bit": Rounded(SMOLLM2, "hqq", hqq_bits=bits) for bits in (2, 4)}
# 2^bits levels with an offset; three and four levels without one.
SHIFTED = {
    f"{bits}-bit-{f'group-{group}' if group else 'row'}": Grid(0.0, 2.0**bits - 1, shifted=True, group_size=group)
    for bits in (2, 3, 4)
    for group in (None, 64)
}
CENTERED = {"ternary": Grid(-1.0, 1.0), "balanced-2-bit": Grid(-1.5, 1.5)}
UNIFORM = {
    **{
        f"gptq-{name}": Rounded(SMOLLM2, "grid", calibrated=True, grid=grid)
        for name, grid in (SHIFTED | CENTERED).items()
    },
    **{
        f"gptq-published-{name}": Rounded(SMOLLM2, "grid", calibrated=True, grid=replace(grid, published=True))
        for name, grid in SHIFTED.items()
    },
    **{f"uniform-{name}": Rounded(SMOLLM2, "grid", grid=SHIFTED[name]) for name in ("2-bit-row", "2-bit-group-64")},
}
REAL = {rule: Rounded(SMOLLM2, rule) for rule in ("float", "lifted", *RULES)}
TRAINED_RULES = {
    **{f"units-{stages}": Trained(SMOLLM2, "units", stages) for stages in (1, 2)},
    **{rule: Trained(SMOLLM2, rule) for rule in (*RULES, *LEARNED)},
}
# From calibrated weights. LSQ cannot start there: the outermost levels lie on its clipping border.
CALIBRATED = {
    f"{name}-calibrated": replace(trained, calibrated=True)
    for name, trained in TRAINED_RULES.items()
    if trained.rule == "units" or (trained.rule in LEARNED and LEARNED[trained.rule].stretched)
}
TRAINED = {
    f"{name}{'-distilled' if distilled else ''}": replace(trained, distilled=distilled)
    for distilled in (False, True)
    for name, trained in (TRAINED_RULES | CALIBRATED).items()
}

GRIDS = (
    Functions("lift-bits", REAL | HQQ | UNIFORM | UNITS | MIXED, (0,), measure, settings),
    Functions(
        "lift-precisions",
        {"calibrated-row-2": UNITS["calibrated-row-2"]},
        (0,),
        measure_precisions,
        precision_settings,
    ),
    Functions("lift-training", TRAINED, (0,), measure_trained, training_settings),
)
