# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rotary positions: rotations of queries and keys, with frequencies common to all tokens or learned per token."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...kernels.waves import (
    wave_phase,
)
from .. import (
    functional as CF,
)
from ..checks import check_positive
from ..embedding import TableEmbedding
from ..initialization import fill_

__all__ = ["RotaryPositions", "RotaryWordPositions", "rotary_frequencies"]


def check_rope_theta(rope_theta: float) -> None:
    """Raise unless the base of the frequencies is positive and finite."""
    if not isinstance(rope_theta, int | float) or isinstance(rope_theta, bool) or not 0.0 < rope_theta < math.inf:
        raise ValueError(f"rope_theta must be positive and finite, got {rope_theta!r}")


def rotary_frequencies(num_features: float, rope_theta: float = 10000.0, device: torch.device | None = None) -> Tensor:
    """Return w_k = theta^(-k/D) for k = 0..D-1, in rad per position, float64 (Su et al. 2021, with D pairs)."""
    k = torch.arange(num_features, dtype=torch.float64, device=device)
    return rope_theta ** (-k / num_features)


def rotations(
    frequency: Tensor,
    positions: Tensor,
    dtype: torch.dtype,
    num_features: int | None = None,
    attention_factor: float = 1.0,
) -> Tensor:
    """Return exp(i w t) times ``attention_factor`` as halves ``[..., 1, N, 2D]``, for every head.

    Frequencies are ``[..., R]``, positions ``[B, N]``. Features beyond the first R of ``num_features`` D get the
    factor 1. The phase is reduced in float64, so it is exact at positions of 1e6 and beyond, whatever ``dtype`` is.
    """
    phase = wave_phase(frequency.double(), positions)
    phase = phase if dtype == torch.float64 else phase.float()
    missing = 0 if num_features is None else num_features - phase.shape[-1]
    real = F.pad(phase.cos() * attention_factor, (0, missing), value=1.0)
    imag = F.pad(phase.sin() * attention_factor, (0, missing))
    return CF.join(real, imag).to(dtype).unsqueeze(-3)


class RotaryPositions(nn.Module):
    """Rotary positions (Su et al. 2021): the factors exp(i w_k t), w_k = theta^(-k/D), of queries and keys.

    D complex features of a head have D angles, the same as the D pairs of a real head of width 2D. The score
    Re(q k^H) of rotated vectors depends only on the distance of their positions. The layer has no parameters and no
    maximum length. A subclass with other frequencies overrides ``frequencies`` and ``attention_factor``.

    Args:
        num_features: D.
        rope_theta: the base theta.
        partial_rotary_factor: share of the features that rotate, the first ones of a head (GPT-NeoX, Phi).

    Raises:
        ValueError: ``num_features`` or ``rope_theta`` is not positive.
    """

    attention_factor = 1.0

    def __init__(self, num_features: int, rope_theta: float = 10000.0, partial_rotary_factor: float = 1.0) -> None:
        super().__init__()
        check_positive(num_features=num_features)
        check_rope_theta(rope_theta)
        self.num_features = num_features
        self.rope_theta = rope_theta
        self.partial_rotary_factor = partial_rotary_factor

    def frequencies(self, positions: Tensor) -> Tensor:
        """Return the frequencies ``[R]`` of the features that rotate, in rad per position."""
        rotary_dim = int(2 * self.num_features * self.partial_rotary_factor)
        return rotary_frequencies(rotary_dim / 2, self.rope_theta, positions.device)

    def forward(self, positions: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the factors ``[B, 1, N, 2D]`` of positions ``[B, N]``, for heads ``[B, H, N, 2D]``."""
        return rotations(self.frequencies(positions), positions, dtype, self.num_features, self.attention_factor)

    def extra_repr(self) -> str:
        return f"{self.num_features}, rope_theta={self.rope_theta}"


class RotaryWordPositions(TableEmbedding):
    """Rotary positions with learned frequencies per token: exp(i (w_k + dw_{j,k}) t) for token j.

    This combines ComplexOrder's word frequencies (Wang et al. 2020, Eq. 5) with rotary positions; it is our addition.
    The table ``frequency`` dw ``[V, D]``, in rad per position, is 0 at initialization, where the factors equal
    ``RotaryPositions`` bit for bit. It stays in float32 for every dtype of the model.

    Args:
        num_embeddings: V, size of the vocabulary.
        num_features: D, complex features of a head.
        rope_theta: the base theta of w_k = theta^(-k/D).

    Raises:
        ValueError: ``rope_theta`` is not positive, an id outside the vocabulary.
    """

    no_weight_decay = full_precision = ("frequency",)

    def __init__(self, num_embeddings: int, num_features: int, rope_theta: float = 10000.0) -> None:
        super().__init__(num_embeddings, num_features, padding_idx=None)
        check_positive(num_embeddings=num_embeddings, num_features=num_features)
        check_rope_theta(rope_theta)
        self.num_features = num_features
        self.rope_theta = rope_theta
        self.frequency = nn.Parameter(torch.empty(num_embeddings, num_features, dtype=self.full_precision_dtype()))
        self.reset_parameters()

    @property
    def weight(self) -> Tensor:
        """The table of offsets."""
        return self.frequency

    def word_tables(self) -> list[str]:
        """Return the names of the tables with one row per token."""
        return ["frequency"]

    def reset_parameters(self) -> None:
        """Set all offsets to 0."""
        fill_(self.frequency, torch.zeros((), dtype=self.frequency.dtype, device=self.frequency.device))

    def forward(self, input_ids: Tensor, positions: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the factors ``[B, 1, N, 2D]`` of tokens ``[B, N]`` at positions ``[B or 1, N]``."""
        self.check_ids(input_ids)
        common = rotary_frequencies(self.num_features, self.rope_theta, input_ids.device)
        return rotations(common + F.embedding(input_ids, self.frequency).double(), positions, dtype)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.num_features}, rope_theta={self.rope_theta}"
