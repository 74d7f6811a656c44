# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The convolutional classifier against its real twin."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from benchmarks.race import Comparison, Outcome, race
from benchmarks.timing import model_steps
from complex_transformers import ComplexTextCNNConfig, ComplexTextCNNForSequenceClassification

__all__ = ["case", "text_cnn"]


def text_cnn(number_field: str, **changes: Any) -> nn.Module:
    """Build the convolutional classifier: 300 complex features, 100 complex filters of 3, 4 and 5 tokens."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 10_000, "hidden_size": 600, "num_filters": 200, "num_labels": 6, **changes}
    config = ComplexTextCNNConfig(number_field=number_field, hidden_dropout_prob=0.0, **sizes)
    return ComplexTextCNNForSequenceClassification(config)


def case(rounds: int) -> Outcome:
    """The convolutional classifier (embedding included) on 50 sequences of 24 tokens against its real twin."""
    ids, labels = torch.randint(1, 10_000, (50, 24)), torch.randint(0, 6, (50,))
    models = {f"{field} CNN": text_cnn(field) for field in ("complex", "real")}
    contestants = model_steps(models, lambda _: {"input_ids": ids, "labels": labels})
    comparisons = [Comparison("complex CNN", "real CNN", 1.05)]
    return Outcome(race("training step", contestants, comparisons, rounds), [])
