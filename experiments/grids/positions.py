# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Positions of causal decoders: quality at the trained length, and perplexity by position far beyond it.

    python -m experiments.run positions-choice   # every row with every learning rate, 300 steps, on validation
    python -m experiments.run positions          # the best of them, 800 steps, with three other seeds
    python -m experiments.run positions-512      # some rows trained on sequences of 512 tokens, read to 8,192
    python -m experiments.tables.positions       # the picture of positions-512
    python -m experiments.tables positions       # the tables

The tables and the picture are in ``docs/concepts/positions.md`` and ``docs/positions.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.grid import Functions
from experiments.grids.rates import ChosenRate
from experiments.positions import Decoder, settings, train_and_test, train_and_validate

__all__ = ["GRIDS", "LONG_ROWS", "PAIR", "RATES", "RATES_OF", "ROWS"]

RATES = (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2)
# For rows in which the smallest of RATES was the best: as many, smaller.
LOW_RATES = (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3)
LOW_ROWS = ("text8,complex,polar_word", "text8,real,polar_word", "text8,real,none")
FINAL_SEEDS = (1, 2, 3)
DECODERS: Mapping[str, Mapping[str, Any]] = {
    "rotary": {},
    "polar": {"position_type": "polar"},
    "polar_word": {"position_type": "polar_word"},
    "none": {"no_rope_layers": [0, 0, 0]},
    "equal_heads": {"imaginary_heads": "equal_heads"},
    "equal_cache": {"imaginary_heads": "equal_cache"},
}
# Sizes of a real network with as many parameters as the complex one.
EQUAL = {
    "text8": {"hidden_size": 88, "intermediate_size": 266},
    "wikitext-2": {"hidden_size": 112, "intermediate_size": 276},
}


PAIR = ("rotary", "polar")
COMPARED: Mapping[str, Sequence[str]] = {"text8": tuple(DECODERS), "wikitext-2": PAIR}  # two, to save time


def _rows(data: str) -> dict[str, Decoder]:
    real = {"number_field": "real"}
    networks = {f"complex,{name}": DECODERS[name] for name in COMPARED[data]}
    networks |= {f"real,{name}": {**real, **DECODERS[name]} for name in COMPARED[data]}
    equal = {**real, **EQUAL[data]}
    networks |= {f"real-equal-parameters,{name}": {**equal, **DECODERS[name]} for name in PAIR}
    return {f"{data},{name}": Decoder(data, tuple(given.items()), 0.0, 800) for name, given in networks.items()}


ROWS = {row: run for data in EQUAL for row, run in _rows(data).items()}
RATES_OF = {row: LOW_RATES if row in LOW_ROWS else RATES for row in ROWS}
CHOICES = {f"{row},{rate}": replace(run.cell(rate), steps=300) for row, run in ROWS.items() for rate in RATES_OF[row]}
CHOSEN: Mapping[str, Any] = {"choice": "positions-choice", "other_rates": RATES_OF}
LONG: Sequence[str] = ("rotary", "polar", "polar_word", "none")
LONG_ROWS = {row: replace(ROWS[row], length=512, window=8192) for row in (f"text8,complex,{name}" for name in LONG)}
GRIDS = (
    Functions("positions-choice", CHOICES, (0,), train_and_validate, settings),
    ChosenRate("positions", ROWS, FINAL_SEEDS, train_and_test, settings, **CHOSEN),
    ChosenRate("positions-512", LONG_ROWS, FINAL_SEEDS, train_and_test, settings, **CHOSEN),
)
