# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Queries whose mask hides every key, in PyTorch's attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__: list[str] = []


def attend_to_something(query: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Let queries without any key attend to all keys equally, by scores of 0 without a mask.

    The backward pass of PyTorch's fused attention recomputes weights from the logarithm of their sum, which has no
    digit left beside scores of -1e38.
    """
    if mask.dtype == torch.bool:
        is_empty = ~mask.any(-1, keepdim=True)
        return query.masked_fill(is_empty, 0.0), mask | is_empty
    removed = mask <= torch.finfo(mask.dtype).min
    is_empty, mask = removed.all(-1, keepdim=True), mask.to(query.dtype).masked_fill(removed, -math.inf)
    return query.masked_fill(is_empty, 0.0), mask.masked_fill(is_empty, 0.0)
