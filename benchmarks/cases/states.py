# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Quantum-like states and measurements against their real twin."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, race
from benchmarks.timing import model_steps
from complex_transformers import ComplexQuantumConfig, ComplexQuantumForSequenceClassification
from complex_transformers.nn import density_matrix, to_complex

__all__ = ["case", "states"]


def states(number_field: str, **changes: object) -> nn.Module:
    """Build a model of 300 complex features, 128 measurements, six labels."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 10_000, "hidden_size": 600, "num_measurements": 128, "num_labels": 6, **changes}
    return ComplexQuantumForSequenceClassification(
        ComplexQuantumConfig(**sizes, number_field=number_field, hidden_dropout_prob=0.0)
    )


def check_outcomes(model: nn.Module, ids: Tensor) -> None:
    """Check the outcomes against density matrices."""
    with torch.no_grad():
        base = model.model
        words = base.embed_tokens(ids)
        weights = words.new_full(ids.shape, 1.0 / ids.shape[1])  # initially, all tokens have equal weight
        rho = to_complex(density_matrix(base.layer(words), weights))
        basis = to_complex(base.measurement.states())
        expected = torch.einsum("ki,bij,kj->bk", basis.conj(), rho, basis).real
        torch.testing.assert_close(base(ids).pooler_output, expected, rtol=1e-4, atol=1e-6)


def case(rounds: int) -> Outcome:
    """States and measurements (with embedding) on 50 sequences of 24 tokens against real states and embeddings."""
    ids, labels = torch.randint(1, 10_000, (50, 24)), torch.randint(0, 6, (50,))
    rows = []
    for what, changes in (("sentence", {}), ("n-grams", {"pooling": "max"})):
        models = {f"{field} states": states(field, **changes) for field in ("complex", "real")}
        models["real embeddings"] = states("real", embedding_type="word", **changes)
        if not changes:
            check_outcomes(models["complex states"], ids[:4])
        contestants = model_steps(models, lambda _: {"input_ids": ids, "labels": labels})
        comparisons = [
            Comparison("complex states", other, bar)
            for other, bar in (("real states", 1.5), ("real embeddings", None))
        ]
        rows += race(f"training step, {what}", contestants, comparisons, rounds)
    return Outcome(rows, [])
