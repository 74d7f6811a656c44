# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Polar positions: content gives the moduli of queries and keys, position gives their phases."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import (
    functional as CF,
)
from ..arithmetic import arithmetic
from ..checks import check_positive
from ..initialization import fill_
from ..precision import FullPrecision

__all__ = ["PolarHeads"]


class PolarHeads(FullPrecision):
    """Polar coordinates of queries and keys (PoPE, Gopalakrishnan et al., arXiv 2509.10534).

    Feature c of a query at position t becomes m_q exp(i w_c t), of a key at position s m_k exp(i (w_c s + d_c)), with
    moduli m >= 0 that depend on content only. Their score Re(q k^H) is sum_c m_q m_k cos(w_c (t - s) - d_c).

    In the real field each of the h elements of a head becomes one complex feature of modulus softplus(x), the paper's
    model, so queries and keys get the stored width 2h. In the complex field the modulus is |x|, which is our form, and
    a head of D complex features keeps its width 2D.

    Args:
        num_heads: heads of keys.
        num_features: complex features of a query or key, D or h.
        number_field: ``"complex"`` or ``"real"``.

    The parameter ``phase`` d ``[num_heads, num_features]``, in rad, is limited to [-2 pi, 0] and starts at 0. It stays
    in float32 for every dtype of the model.
    """

    no_weight_decay = full_precision = ("phase",)

    def __init__(self, num_heads: int, num_features: int, number_field: str = "complex") -> None:
        super().__init__()
        check_positive(num_heads=num_heads, num_features=num_features)
        self.is_complex = arithmetic(number_field).num_parts == 2
        self.phase = nn.Parameter(torch.empty(num_heads, num_features, dtype=self.full_precision_dtype()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all phases to 0."""
        fill_(self.phase, torch.zeros((), dtype=self.phase.dtype, device=self.phase.device))

    def forward(self, query: Tensor, key: Tensor, factors: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return queries ``[B, H, T, 2D]`` and keys ``[B, G, T, 2D]`` in polar form, as halves.

        ``factors`` are exp(i w t) of ``RotaryPositions``, ``[B or 1, 1, T, 2D]``; None for w = 0.
        """
        phase = self.phase.clamp(-2.0 * math.pi, 0.0).unsqueeze(-2)
        shift = CF.join(phase.cos(), phase.sin()).to(key.dtype)
        if factors is None:
            factors = CF.join(torch.ones_like(phase[:1]), torch.zeros_like(phase[:1]))
        factors = factors.to(key.dtype)
        return self.modulus(query) * factors, self.modulus(key) * CF.multiply(shift, factors)

    def modulus(self, x: Tensor) -> Tensor:
        """Return the moduli, repeated for both halves."""
        modulus = CF.modulus(x) if self.is_complex else F.softplus(x)
        return CF.join(modulus, modulus)

    def extra_repr(self) -> str:
        return "{}, {}".format(*self.phase.shape)
