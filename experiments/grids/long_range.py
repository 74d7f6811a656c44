# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Positions and attention scores of ``complex_llama`` on diagnostic tasks, at and beyond the training length.

    python -m experiments.run long-range-choice      # every row with every learning rate, on validation
    python -m experiments.run long-range             # the best of them with three other seeds

A row is a task, positions and attention, and a number field: complex, real of the same width, or real with the same
number of parameters. The table goes to ``docs/long-range.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.diagnostics import Cell, Network, Task, run, settings, validate
from experiments.grid import Functions, Grid
from experiments.grids.rates import ChosenRate

__all__ = ["ATTENTION", "COMPLEX_ONLY", "FIELDS", "GRIDS", "RATES", "ROWS", "TASKS", "Row", "rate_grids"]

RATES = (1.2e-3, 3e-3, 8e-3, 2e-2, 5e-2)
CHOICE_SEEDS = (0,)
FINAL_SEEDS = (1, 2, 3)

# Training lengths, test lengths (1, 2, 4, 8, 16 times the longest), steps.
SHORT, LONG = (24, 64), (64, 128, 256, 512, 1024)
NEEDLES = {"num_keys": 16, "num_values": 16, "num_noise": 4, "num_needles": 8, "num_questions": 8}
# Strings of 8 to 15 symbols, tested with 15 and 30 of them.
INDEXING = {"num_symbols": 32, "max_shift": 2, "num_questions": 12}
TASKS = {
    "copy": Task("copy_data", (("num_symbols", 8),), SHORT, LONG, 400),
    "indirect-indexing": Task("indirect_indexing_data", tuple(INDEXING.items()), (57, 64), (64, 79), 800),
    "needle": Task("needle_data", tuple(NEEDLES.items()), (48, 64), LONG, 600),
    "listops": Task("listops_data", (), SHORT, LONG, 300),
    "selective-copy": Task("selective_copy_data", (("num_symbols", 8), ("num_copied", 8)), SHORT, LONG, 400),
    "phase-memory": Task("phase_memory_data", (), SHORT, LONG, 400),
}
# Positions, then attention.
ATTENTION: dict[str, dict[str, Any]] = {
    "rotary": {},
    "polar": {"position_type": "polar"},
    "polar_word": {"position_type": "polar_word"},
    "complex_order": {"position_type": "complex_order"},
    "none": {"no_rope_layers": [0, 0]},
    "rotary-sigmoid": {"attention_normalization": "sigmoid", "attention_score": "cosine"},
    "polar-sigmoid": {"position_type": "polar", "attention_normalization": "sigmoid", "attention_score": "cosine"},
}
FIELDS = ("complex", "real", "real-equal-parameters")
# To save time: positions without real twins, on three tasks; rotary positions only in the task of PCT's preprint.
COMPLEX_ONLY = ("polar_word", "complex_order", "none")
COMPLEX_ONLY_TASKS = ("copy", "needle", "listops")
ROTARY_ONLY_TASKS = ("phase-memory",)
COMPLEX: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": 0.5,  # with the default, retrieval starts after several times as many steps
}
REAL = {**COMPLEX, "number_field": "real"}
NARROW = {**REAL, "hidden_size": 48}  # intermediate_size is fitted


def _network(attention: str, field: str) -> Network:
    changes = ATTENTION[attention]
    sizes = {"complex": COMPLEX, "real": REAL, "real-equal-parameters": NARROW}[field]
    wanted = Network("ComplexLlama", tuple({**COMPLEX, **changes}.items())) if sizes is NARROW else None
    return Network("ComplexLlama", tuple({**sizes, **changes}.items()), wanted)


@dataclass(frozen=True)
class Row:
    """A network on a task, before its learning rate is chosen."""

    task: Task
    network: Network

    def cell(self, learning_rate: float) -> Cell:
        """Return the cell with a learning rate."""
        return Cell(self.task, self.network, learning_rate)


ROWS = {
    f"{task},{attention},{field}": Row(TASKS[task], _network(attention, field))
    for task in TASKS
    for attention in ATTENTION
    for field in FIELDS
    if attention not in COMPLEX_ONLY or (field == "complex" and task in COMPLEX_ONLY_TASKS)
    if attention.startswith("rotary") or task not in ROTARY_ONLY_TASKS
}


def rate_grids(
    name: str,
    rows: Mapping[str, Row],
    rates: Sequence[float] = RATES,
    choice_steps: int | None = None,
    choice_seeds: Sequence[int] = CHOICE_SEEDS,
    chosen_with: Mapping[str, str] = {},
) -> tuple[Grid, Grid]:
    """Return ``name-choice``, every row with every learning rate on validation, and ``name``, the best of them.

    The runs of the choice have ``choice_steps`` steps, by default those of the task. A row that is in ``chosen_with``
    takes the learning rate of another row and is not in ``name-choice``.
    """
    shorter = {
        row: replace(value, task=replace(value.task, steps=choice_steps or value.task.steps))
        for row, value in rows.items()
        if row not in chosen_with
    }
    choices = {f"{row},{rate}": value.cell(rate) for row, value in shorter.items() for rate in rates}
    return (
        Functions(f"{name}-choice", choices, choice_seeds, validate, settings),
        ChosenRate(name, rows, FINAL_SEEDS, run, settings, f"{name}-choice", rates, chosen_with=chosen_with),
    )


GRIDS = rate_grids("long-range", ROWS)
