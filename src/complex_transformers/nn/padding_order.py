# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Move the padding of a batch to the end of its rows, and back, without a sort."""

from __future__ import annotations

import torch
from torch import Tensor

__all__: list[str] = []


def real_first(mask: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return gather indices that move true entries of ``mask`` before false ones along ``dim``, and the inverse.

    Both have the shape of ``mask``; the order within true and false entries is kept.
    """
    before, after = mask.long(), (~mask).long()
    back = torch.where(mask, before.cumsum(dim) - 1, before.sum(dim, keepdim=True) + after.cumsum(dim) - 1)
    shape = [1] * mask.dim()
    shape[dim] = mask.shape[dim]
    steps = torch.arange(mask.shape[dim], device=mask.device).view(shape).expand(mask.shape)
    return torch.zeros_like(back).scatter(dim, back, steps), back


def reorder(x: Tensor, order: Tensor, dim: int = 1) -> Tensor:
    """Gather ``x [..., C]`` in an ``order [...]`` along ``dim``."""
    return x.gather(dim, order.unsqueeze(-1).expand(*order.shape, x.shape[-1]))
