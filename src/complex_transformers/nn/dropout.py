# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dropout that zeroes the real and the imaginary part together."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from ..kernels.accelerator.halves import dropout, takes_dropout
from . import functional as CF

__all__ = ["ComplexDropout"]


class ComplexDropout(nn.Module):
    """Zero each complex number with probability p, both parts together, and scale the rest by 1/(1 - p).

    ``[..., 2d] -> [..., 2d]``. Separate masks for the real and the imaginary part would rotate phases at random.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        CF.check_halves(x)
        if not self.training or self.p == 0.0:
            return x
        if takes_dropout(x):
            return dropout(x, self.p)
        keep = F.dropout(x.new_ones(*x.shape[:-1], x.shape[-1] // 2), self.p)
        return CF.scale(x, keep)

    def extra_repr(self) -> str:
        return f"p={self.p}"
