# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Real token vectors with the position in the imaginary part or as a phase (Thesis 4.3 to 4.6)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import (
    functional as CF,
)
from .arithmetic import arithmetic
from .checks import check_choice, check_positive
from .embedding import TableEmbedding

__all__ = ["RealWordEmbedding"]

PLACES = ("none", "slot", "phase")


class RealWordEmbedding(TableEmbedding):
    """A real token vector e_j with its place t in a sequence of length m: ``[B, N]`` ids -> ``[B, N, 2d]`` halves.

    - ``none``: e_j alone, imaginary part 0.
    - ``slot``: e_j + i P_s with a learned vector for each of S slots, s = floor(t S / m) (Thesis 4.3, 4.4).
    - ``phase``: e_j exp(2 pi i t / m) (Thesis 4.5, 4.6).

    t = 0, ..., m - 1. (The thesis counts to m, which would add a slot and repeat the first phase.) With
    ``position_length=m`` t counts tokens modulo m, so an embedding does not depend on later tokens. With
    ``"sentence"``, as printed, m is the length of the sequence: models with it are not causal.

    Args:
        num_embeddings: V, vocabulary size.
        embedding_dim: stored width 2d.
        padding_idx: token kept at zero.
        place: one of the three above.
        num_slots: S, at most m.
        position_length: m, or ``"sentence"``.
        amplitude_std: standard deviation of both tables.

    Raises:
        ValueError: an odd width, an unknown place, a length or number of slots below 1, more slots than places, an id
            outside the vocabulary.
    """

    no_weight_decay = ()

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        place: str = "none",
        num_slots: int = 5,
        position_length: int | str = 35,
        amplitude_std: float = 0.02,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        check_choice("place", place, PLACES)
        check_place(place, num_slots, position_length)
        size = arithmetic("complex").num_features(embedding_dim)
        self.place = place
        self.num_slots = num_slots
        self.position_length = position_length
        self.amplitude_std = amplitude_std
        self.weight = nn.Parameter(torch.empty(num_embeddings, size))
        self.slot = nn.Parameter(torch.empty(num_slots, size)) if place == "slot" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the tables from N(0, ``amplitude_std`` squared); the padding row is zero."""
        torch.nn.init.normal_(self.weight, std=self.amplitude_std)
        self._zero_row(self.weight, self.padding_idx)
        if self.slot is not None:
            torch.nn.init.normal_(self.slot, std=self.amplitude_std)

    def forward(
        self, input_ids: Tensor, position_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Embed ids ``[B, N]`` at positions 1.. along ``attention_mask [B, N]``, or at ``position_ids [B, N]``."""
        self.check_ids(input_ids)
        words = F.embedding(input_ids, self.weight, self.padding_idx)
        if self.place == "none":
            return CF.join(words, torch.zeros_like(words))
        place, length = self._place(input_ids, position_ids, attention_mask)
        if self.slot is not None:
            slots = (place * self.num_slots).div(length, rounding_mode="floor")
            return CF.join(words, F.embedding(slots, self.slot).expand_as(words))
        phase = (2.0 * math.pi * place.double() / length).unsqueeze(-1).to(CF.wide(words).dtype)
        return CF.join(words * phase.cos().to(words.dtype), words * phase.sin().to(words.dtype))

    def _place(
        self, input_ids: Tensor, position_ids: Tensor | None, attention_mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return t and m of every token."""
        positions = self.positions(input_ids, position_ids, attention_mask)
        if self.position_length == "sentence":
            return positions - 1, positions.amax(-1, keepdim=True)
        length = positions.new_tensor(self.position_length)
        return (positions - 1) % length, length

    def _vector_target(self, dimension: int) -> Tensor:
        self._check_dimension(dimension, self.weight.shape[1])
        return self.weight

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}, place={self.place!r}"
        return text if self.place == "none" else f"{text}, position_length={self.position_length!r}"


def check_place(place: str, num_slots: int, position_length: int | str) -> None:
    """Raise unless ``position_length`` is positive or ``"sentence"`` and every slot has a place."""
    check_positive(num_slots=num_slots)
    if position_length != "sentence" and (not isinstance(position_length, int) or position_length < 1):
        raise ValueError(f"position_length must be a positive integer or 'sentence', got {position_length!r}")
    if place == "slot" and isinstance(position_length, int) and num_slots > position_length:
        raise ValueError(f"num_slots must be at most position_length={position_length}, got {num_slots}")
