# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The complex-order embedding against an embedding table."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, layer_steps, race
from complex_transformers.nn import ComplexOrderEmbedding

__all__ = ["REAL", "case", "tables"]

REAL = "nn.Embedding"


def tables(words: int, width: int) -> dict[str, nn.Module]:
    """Return embeddings of one size; token 0 is padding."""
    ours: dict[str, dict[str, Any]] = {
        "complex_order": {},
        "complex_order, frequencies shared by words": {"frequency_sharing": "word"},
        "complex_vanilla": {"embedding_type": "complex_vanilla"},
    }
    found: dict[str, nn.Module] = {REAL: nn.Embedding(words, width, padding_idx=0)}
    return found | {
        name: ComplexOrderEmbedding(words, width, padding_idx=0, **options) for name, options in ours.items()
    }


def case(rounds: int) -> Outcome:
    """ComplexOrderEmbedding (30,000 tokens, width 512) on 16 x 128 tokens against nn.Embedding of the same size."""
    words, width = 30_000, 512
    ids = torch.randint(1, words, (16, 128))
    layers = tables(words, width)
    _check_waves(layers["complex_order"], ids)
    contestants = layer_steps(layers, ids, torch.Size([16, 128, width]))
    comparisons = [Comparison(name, REAL, 3.0 if name == "complex_order" else None) for name in layers if name != REAL]
    return Outcome(race("training step", contestants, comparisons, rounds), [])


@torch.no_grad()
def _check_waves(table: ComplexOrderEmbedding, ids: Tensor) -> None:
    position = torch.arange(1, ids.shape[1] + 1, dtype=torch.float64).unsqueeze(-1)
    phase = table.frequency[ids].double() * position
    wave = torch.polar(table.amplitude[ids].double().abs(), phase) * table.amplitude[ids].double().sign()
    torch.testing.assert_close(table(ids), torch.cat([wave.real, wave.imag], dim=-1).float())
