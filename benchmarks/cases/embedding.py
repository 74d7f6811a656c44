# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The complex-order embedding against a table of words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, layer_steps, race
from complex_transformers.nn import ComplexOrderEmbedding

__all__ = ["case"]


def case(rounds: int) -> Outcome:
    """ComplexOrderEmbedding of 30,000 words and width 512 on 16 x 128 tokens against nn.Embedding of the same size."""
    words, width = 30_000, 512
    ids = torch.randint(1, words, (16, 128))
    tables = {
        "nn.Embedding": nn.Embedding(words, width, padding_idx=0),
        "complex_order": ComplexOrderEmbedding(words, width, padding_idx=0),
        "complex_order, frequencies shared by words": ComplexOrderEmbedding(
            words, width, padding_idx=0, frequency_sharing="word"
        ),
        "complex_vanilla": ComplexOrderEmbedding(words, width, padding_idx=0, embedding_type="complex_vanilla"),
    }
    _check_waves(tables["complex_order"], ids)
    contestants = layer_steps(tables, ids, torch.Size([16, 128, width]))
    comparisons = [
        Comparison(name, "nn.Embedding", 3.0 if name == "complex_order" else None)
        for name in tables
        if name != "nn.Embedding"
    ]
    return Outcome(race("training step", contestants, comparisons, rounds), [])


@torch.no_grad()
def _check_waves(table: ComplexOrderEmbedding, ids: Tensor) -> None:
    position = torch.arange(1, ids.shape[1] + 1, dtype=torch.float64).unsqueeze(-1)
    phase = table.frequency[ids].double() * position
    wave = torch.polar(table.amplitude[ids].double().abs(), phase) * table.amplitude[ids].double().sign()
    torch.testing.assert_close(table(ids), torch.cat([wave.real, wave.imag], dim=-1).float())
