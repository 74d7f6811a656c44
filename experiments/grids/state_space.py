# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Language models with states beside a complex Llama of equal parameters, and each beside its real twin.

    python -m experiments.run state-space-text-choice   # every row with every learning rate, 300 steps, on validation
    python -m experiments.run state-space-text          # the best of them, 800 steps, with three other seeds
    python -m experiments.tables complex_mamba          # the tables in docs/models/complex_mamba.md

Data, training and test windows are shared with ``experiments.grids.positions``, whose results hold the Llamas. The
other networks have embeddings of the same stored width; a size of their layers is fitted to the parameters of the
complex Llama.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from experiments.grid import Functions
from experiments.grids.positions import FINAL_SEEDS, RATES
from experiments.grids.rates import ChosenRate
from experiments.positions import DATA, SIZES, Decoder, settings, train_and_test, train_and_validate

__all__ = ["FIELDS", "GRIDS", "KINDS", "LLAMAS", "ROWS", "Kind"]

STEPS, CHOICE_STEPS = 800, 300
WIDTH = SIZES["hidden_size"]


@dataclass(frozen=True)
class Kind:
    """A family, its options, and the field that is fitted."""

    family: str
    options: Mapping[str, Any]
    fitted: str

    def row(self, data: str, field: str) -> Decoder:
        """Return the run of a number field on a data set."""
        options = {**self.options, "number_field": field}
        return Decoder(data, tuple(options.items()), 0.0, STEPS, family=self.family, fitted=self.fitted)


def _recurrent(rnn_type: str, layers: int) -> Kind:
    options = {"rnn_type": rnn_type, "hidden_size": WIDTH, "num_hidden_layers": layers, "hidden_dropout_prob": 0.0}
    return Kind("ComplexRecurrentLM", options, "recurrent_size")


MAMBA = {"hidden_size": WIDTH, "num_hidden_layers": 3, "expand": 1, "state_size": 64, "head_dim": 32}
KINDS: Mapping[str, Kind] = {
    "mamba": Kind("ComplexMamba", MAMBA, "intermediate_size"),
    "lru": _recurrent("lru", 6),
    "lstm": _recurrent("lstm", 2),
}
FIELDS = ("complex", "real")


ROWS = {f"{data},{field},{name}": KINDS[name].row(data, field) for data in DATA for name in KINDS for field in FIELDS}
# Row -> row of ``positions``, where the Llamas were trained.
LLAMAS = {
    f"{data},{field},llama": f"{data},{row}"
    for data in DATA
    for field, row in (("complex", "complex,rotary"), ("real", "real-equal-parameters,rotary"))
}
CHOICES = {f"{row},{rate}": replace(run.cell(rate), steps=CHOICE_STEPS) for row, run in ROWS.items() for rate in RATES}
CHOSEN: Mapping[str, Any] = {"choice": "state-space-text-choice", "rates": RATES}
GRIDS = (
    Functions("state-space-text-choice", CHOICES, (0,), train_and_validate, settings),
    ChosenRate("state-space-text", ROWS, FINAL_SEEDS, train_and_test, settings, **CHOSEN),
)
