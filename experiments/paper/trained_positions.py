# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Trigonometric positions whose frequencies are trained (ComplexOrder section 3.1)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from complex_transformers.kernels.waves import wave_phase
from complex_transformers.nn import join, sinusoidal_frequencies
from complex_transformers.nn.embedding import WordPositionEmbedding

__all__ = ["TrainedSinusoids", "train_sinusoids"]


class TrainedSinusoids(WordPositionEmbedding):
    """Word vectors plus ``[cos | sin](omega_k pos)``, where omega starts at 10000^(-k/d) and is trained."""

    no_weight_decay = full_precision = ("frequency",)

    def __init__(self, *sizes: Any, **options: Any) -> None:
        super().__init__(*sizes, **options)
        self.frequency = nn.Parameter(sinusoidal_frequencies(self.num_features))

    def forward(
        self, input_ids: Tensor, position_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Tensor:
        words = nn.functional.embedding(input_ids, self.weight, self.padding_idx)
        phase = wave_phase(self.frequency, self.positions(input_ids, position_ids, attention_mask))
        return words + join(phase.cos(), phase.sin()).to(words.dtype)


def train_sinusoids(model: PreTrainedModel) -> None:
    """Replace the embedding of a model with ``sinusoidal_position`` by one whose frequencies are trained."""
    old = model.get_input_embeddings()
    new = TrainedSinusoids(old.num_embeddings, old.embedding_dim, old.padding_idx, embedding_type=old.embedding_type)
    new.weight = old.weight
    model.set_input_embeddings(new)
