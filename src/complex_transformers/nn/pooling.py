# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Pooling by modulus along a sequence (Thesis 2.28, 2.29)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import Arithmetic, arithmetic

__all__ = ["ModulusAvgPool1d", "ModulusMaxPool1d", "modulus_average_pool", "modulus_max_pool"]


def modulus_average_pool(x: Tensor, mask: Tensor | None = None, number_field: str = "complex") -> Tensor:
    """Mean of |z_i| over axis -2 (Thesis 2.28), as a number with imaginary part 0.

    ``[..., N, 2d]``, mask ``[..., N]`` -> ``[..., 2d]``. A row without a kept element gives 0.
    """
    numbers = arithmetic(number_field)
    r = numbers.modulus(x)
    return numbers.from_real(CF.masked_mean(r, mask))


def modulus_max_pool(x: Tensor, mask: Tensor | None = None, number_field: str = "complex") -> Tensor:
    """The number z_i of largest modulus over axis -2, for each feature (Thesis 2.29): phase and all.

    ``[..., N, 2d]``, mask ``[..., N]`` -> ``[..., 2d]``. The first of equal moduli wins; the gradient goes to the
    chosen number. A row without a kept element gives 0.
    """
    numbers = arithmetic(number_field)
    r = numbers.modulus(x)
    if mask is not None:
        keep = mask.to(torch.bool).unsqueeze(-1)
        r = r.masked_fill(~keep, -1.0)
        x = x.masked_fill(~keep, 0.0)
    index = r.argmax(dim=-2, keepdim=True)
    index = torch.cat([index] * numbers.num_parts, dim=-1)
    return x.gather(-2, index).squeeze(-2)


class _ModulusPool1d(nn.Module):
    pool = staticmethod(modulus_max_pool)

    def __init__(self, kernel_size: int, stride: int | None = None, number_field: str = "complex") -> None:
        super().__init__()
        if kernel_size < 1 or (stride is not None and stride < 1):
            raise ValueError(f"kernel_size and stride must be positive, got {kernel_size} and {stride}")
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.number_field = number_field
        self.numbers: Arithmetic = arithmetic(number_field)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """``[..., N, 2d] -> [..., (N - kernel_size) // stride + 1, 2d]``; ``mask`` is ``[..., N]``, true: counts."""
        if x.shape[-2] < self.kernel_size:
            raise ValueError(
                f"a window of {self.kernel_size} does not fit a sequence of {x.shape[-2]} steps; pad the sequence"
            )
        windows = x.unfold(-2, self.kernel_size, self.stride).transpose(-1, -2)  # [..., L, k, 2d]
        window_mask = None if mask is None else mask.unfold(-1, self.kernel_size, self.stride)
        return type(self).pool(windows, window_mask, self.number_field)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, number_field={self.number_field!r}"


class ModulusMaxPool1d(_ModulusPool1d):
    """``modulus_max_pool`` in windows along axis -2; ``stride`` defaults to ``kernel_size``, no padding."""


class ModulusAvgPool1d(_ModulusPool1d):
    """``modulus_average_pool`` in windows along axis -2; ``stride`` defaults to ``kernel_size``, no padding."""

    pool = staticmethod(modulus_average_pool)
