# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""State tracking: networks that must carry a sum, a value or a permutation along a sequence.

    python -m experiments.run state-tracking-choice      # every learning rate on three tasks, 1,500 steps
    python -m experiments.run state-tracking             # the best of them with three other seeds
    python -m experiments.run state-tracking-limits      # Mamba-3 with one part changed

Networks are trained on sequences of 3 to 40 symbols and tested on up to 256. All have as many parameters as Mamba-3,
but for Mamba-3 without rotation, which lacks the projection to angles (3 % fewer).
The tables go to ``docs/state-tracking.md``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from experiments.diagnostics import Cell, Network, Task, run, settings
from experiments.grid import Functions
from experiments.grids.long_range import FINAL_SEEDS, Row, rate_grids

__all__ = ["GRIDS", "LIMITS", "NETWORKS", "RATES", "ROWS", "TASKS"]

FIELDS = ("complex", "real")
RATES = (1.25e-3, 2.5e-3, 5e-3, 1e-2, 2e-2)
CHOICE_SEEDS = (0, 4)  # large learning rates fail with some seeds
LENGTHS = (40, 64, 128, 256)  # of validation and test sequences


def _task(function: str, steps: int = 3000, label_smoothing: float = 0.1, **options: Any) -> Task:
    """Return a task whose training lengths grow to 40 during the first quarter of the steps."""
    training = {"steps": steps, "ramp": 0.25, "label_smoothing": label_smoothing, "weight_decay": 0.0}
    return Task(function, tuple(options.items()), (3, 40), LENGTHS, **training, validation_lengths=LENGTHS)


TASKS = {
    "parity": _task("parity_data", 12000),
    # In trials of one seed, more smoothing made angles more exact; state-tracking-limits has rows for it.
    "addition-5": _task("modular_addition_data", 24000, label_smoothing=0.6, modulus=5),
    "addition-60": _task("modular_addition_data", modulus=60),
    "arithmetic": _task("modular_arithmetic_data"),
    "arithmetic-brackets": _task("modular_arithmetic_data", brackets=True),
    "S3": _task("permutation_data", group="S3"),
    "A5": _task("permutation_data", group="A5"),
}
# To save time: task -> the task on which its learning rates were chosen.
CHOSEN_ON = {
    "addition-60": "addition-5",
    "arithmetic": "addition-5",
    "arithmetic-brackets": "addition-5",
    "A5": "S3",
}
MAMBA: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": None,  # with a feed-forward network the gradient vanishes before angles are exact
    "num_hidden_layers": 1,
    "state_size": 32,
    "head_dim": 32,
    "rope_fraction": 1.0,
    "time_step_min": 0.1,
    "time_step_max": 1.0,
    "A_activation": "softplus",
    "initializer_range": 0.2,
}
RECURRENT = {"hidden_size": 64, "num_hidden_layers": 1, "hidden_dropout_prob": 0.0}
DECODER = {
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "number_field": "real",
    "initializer_range": 0.2,
}
COMPARED = Network("ComplexMamba", tuple(MAMBA.items()))


def _mamba(**changes: Any) -> Network:
    return Network("ComplexMamba", tuple({**MAMBA, **changes}.items()))


def _recurrent(rnn_type: str, number_field: str) -> Network:
    options = {**RECURRENT, "rnn_type": rnn_type, "number_field": number_field}
    return Network("ComplexRecurrentLM", tuple(options.items()), COMPARED, fitted="recurrent_size")


def _decoder(position_type: str) -> Network:
    return Network("ComplexLlama", tuple({**DECODER, "position_type": position_type}.items()), COMPARED)


NETWORKS = {
    "Mamba-3": COMPARED,
    "Mamba-3, without rotation": _mamba(number_field="real"),
    **{f"{field} {kind.upper()}": _recurrent(kind, field) for kind in ("lru", "lstm", "gru") for field in FIELDS},
    **{f"Transformer, {position_type}": _decoder(position_type) for position_type in ("rotary", "polar")},
}
ROWS = {f"{task},{name}": Row(TASKS[task], network) for task in TASKS for name, network in NETWORKS.items()}
CHOSEN_WITH = {f"{task},{name}": f"{other},{name}" for task, other in CHOSEN_ON.items() for name in NETWORKS}


def _changed(cell: Cell, **changes: Any) -> Cell:
    return replace(cell, task=replace(cell.task, **changes))


PARITY, ADDITION = (ROWS[f"{task},Mamba-3"].cell(rate) for task, rate in (("parity", 1e-2), ("addition-5", 2.5e-3)))
LIMITS = {
    "parity,no change": PARITY,
    "parity,3000 steps": _changed(PARITY, steps=3000),
    "parity,trained on 3 to 160 symbols": _changed(PARITY, train_lengths=(3, 160)),
    "parity,all lengths from the first step on": _changed(PARITY, ramp=0.0),
    "parity,labels not smoothed": _changed(PARITY, label_smoothing=0.0),
    "parity,weight decay 0.01": _changed(PARITY, weight_decay=0.01),
    "parity,feed-forward network of 128 units": replace(PARITY, network=_mamba(intermediate_size=128)),
    "parity,heavy-tailed decay": replace(PARITY, network=_mamba(A_activation="heavy_tail")),
    "addition-5,no change": ADDITION,
    **{f"addition-5,{steps} steps": _changed(ADDITION, steps=steps) for steps in (48000, 12000, 6000)},
    **{
        f"addition-5,6000 steps, label smoothing {smoothing}": _changed(
            ADDITION, steps=6000, label_smoothing=smoothing
        )
        for smoothing in (0.1, 0.3)
    },
}
GRIDS = (
    *rate_grids("state-tracking", ROWS, RATES, 1500, CHOICE_SEEDS, CHOSEN_WITH),
    Functions("state-tracking-limits", LIMITS, FINAL_SEEDS, run, settings),
)
