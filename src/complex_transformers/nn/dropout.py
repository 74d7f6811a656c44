# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dropout of whole complex numbers."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from . import functional as CF

__all__ = ["ComplexDropout"]


class ComplexDropout(nn.Module):
    """Zero each complex number with probability p, both parts together, and scale the rest by 1/(1 - p).

    ``[..., 2d] -> [..., 2d]``. A separate mask for each part would turn phases at random.

    Raises:
        ValueError: p outside [0, 1].
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"dropout probability must be between 0 and 1, got {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Identity in evaluation mode."""
        CF.check_halves(x)
        if not self.training or self.p == 0.0:
            return x
        keep = F.dropout(x.new_ones(*x.shape[:-1], x.shape[-1] // 2), self.p)
        return CF.scale(x, keep)

    def extra_repr(self) -> str:
        return f"p={self.p}"
