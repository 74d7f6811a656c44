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
from ..checks import check_positive
from ..initialization import fill_
from ..precision import FullPrecision

__all__ = ["PolarHeads"]


class PolarHeads(FullPrecision):
    """Polar coordinates of queries and keys (PoPE, Gopalakrishnan et al., arXiv 2509.10534).

    Each of the h elements x of a head becomes a complex feature with the modulus m = softplus(x), so queries and
    keys get the stored width 2h: feature c of a query at position t is m_q exp(i w_c t), of a key at position s
    m_k exp(i (w_c s + d_c)). Their score Re(q k^H) is sum_c m_q m_k cos(w_c (t - s) - d_c).

    The paper has real networks. In the complex field the elements are the real and imaginary parts of the D complex
    features of a head, h = 2D. That is our form; as in all complex heads, its scores are scaled by D^(-1/2). Scores of
    real heads are scaled by h^(-1/2).

    Args:
        num_heads: heads of keys.
        num_features: h, the stored width of a head.

    The parameter ``phase`` d ``[num_heads, num_features]``, in rad, is limited to [-2 pi, 0] and starts at 0. It stays
    in float32 for every dtype of the model.
    """

    no_weight_decay = full_precision = ("phase",)

    def __init__(self, num_heads: int, num_features: int) -> None:
        super().__init__()
        check_positive(num_heads=num_heads, num_features=num_features)
        self.phase = nn.Parameter(torch.empty(num_heads, num_features, dtype=self.full_precision_dtype()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all phases to 0."""
        fill_(self.phase, torch.zeros((), dtype=self.phase.dtype, device=self.phase.device))

    def forward(self, query: Tensor, key: Tensor, factors: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return queries ``[B, H, T, h]`` and keys ``[B, G, T, h]`` in polar form, ``[..., 2h]`` as halves.

        ``factors`` are exp(i w t) of ``RotaryPositions``, ``[B or 1, 1, T, 2h]``; None for w = 0.
        """
        phase = self.phase.clamp(-2.0 * math.pi, 0.0).unsqueeze(-2)
        shift = CF.join(phase.cos(), phase.sin()).to(key.dtype)
        if factors is None:
            factors = CF.join(torch.ones_like(phase[:1]), torch.zeros_like(phase[:1]))
        factors = factors.to(key.dtype)
        query, key = (CF.join(modulus, modulus) for modulus in (F.softplus(query), F.softplus(key)))
        return query * factors, key * CF.multiply(shift, factors)

    def extra_repr(self) -> str:
        return "{}, {}".format(*self.phase.shape)
