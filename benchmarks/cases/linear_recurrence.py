# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Blocks around a linear recurrence beside recurrent layers of the same stored width."""

from __future__ import annotations

import torch

from benchmarks.cases.recurrent import States
from benchmarks.race import Comparison, Outcome, layer_steps, race, size
from complex_transformers.nn import ComplexLSTM, DiagonalRecurrence, LinearRecurrentBlock

__all__ = ["case"]

WIDTH = 256
LANES = 16  # as language models are trained here; with more rows the products decide
BLOCK = "LinearRecurrentBlock"


def case(rounds: int) -> Outcome:
    """A training step of a layer of stored width 256 on texts of 512 words, 4, 16 and 64 at once."""
    rows = []
    layers = {
        BLOCK: LinearRecurrentBlock(WIDTH, WIDTH),
        f"{BLOCK}, real": LinearRecurrentBlock(WIDTH, WIDTH, number_field="real"),
        "DiagonalRecurrence": DiagonalRecurrence(WIDTH),
        "ComplexLSTM": ComplexLSTM(WIDTH, WIDTH),
        "torch.nn.LSTM": torch.nn.LSTM(WIDTH, WIDTH),
    }
    for batch in (4, 16, 64):
        x = torch.randn(512, batch, WIDTH)
        contestants = layer_steps({name: States(layer) for name, layer in layers.items()}, x)
        comparisons = [
            Comparison(BLOCK, "ComplexLSTM", 0.5 if batch <= LANES else None),
            *(Comparison(BLOCK, name) for name in ("torch.nn.LSTM", f"{BLOCK}, real")),
            Comparison("DiagonalRecurrence", BLOCK),
        ]
        rows += race(f"{batch} texts", contestants, comparisons, rounds)
    return Outcome(rows, [f"{name}: {size(layer):,} real parameters" for name, layer in layers.items()])
