# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Blocks around a linear recurrence against recurrent layers of the same stored width."""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.cases.recurrent import States
from benchmarks.race import Comparison, Outcome, layer_steps, race, size
from complex_transformers.nn import ComplexLSTM, DiagonalRecurrence, LinearRecurrentBlock

__all__ = ["BLOCK", "case", "layers"]

WIDTH = 256
LANES = 16  # as in our language models; with more rows, matrix products dominate
BLOCK = "LinearRecurrentBlock"


def layers(width: int) -> dict[str, nn.Module]:
    """Return blocks and recurrent layers of one stored width that return only their states."""
    found = {
        BLOCK: LinearRecurrentBlock(width, width),
        f"{BLOCK}, real": LinearRecurrentBlock(width, width, number_field="real"),
        "DiagonalRecurrence": DiagonalRecurrence(width),
        "ComplexLSTM": ComplexLSTM(width, width),
        "torch.nn.LSTM": nn.LSTM(width, width),
    }
    return {name: States(layer) for name, layer in found.items()}


def case(rounds: int) -> Outcome:
    """A training step of a layer of stored width 256 on sequences of 512 tokens, 4, 16 and 64 at once."""
    rows = []
    contestants = layers(WIDTH)
    for batch in (4, 16, 64):
        x = torch.randn(512, batch, WIDTH)
        steps = layer_steps(contestants, x)
        comparisons = [
            Comparison(BLOCK, "ComplexLSTM", 0.5 if batch <= LANES else None),
            *(Comparison(BLOCK, name) for name in ("torch.nn.LSTM", f"{BLOCK}, real")),
            Comparison("DiagonalRecurrence", BLOCK),
        ]
        rows += race(f"{batch} sequences", steps, comparisons, rounds)
    return Outcome(rows, [f"{name}: {size(layer):,} real parameters" for name, layer in contestants.items()])
