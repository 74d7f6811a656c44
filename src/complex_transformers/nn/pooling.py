# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Average and maximum pooling by modulus, over a sequence or in windows (Thesis 2.28, 2.29)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..kernels.exporting import hypot
from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_mask

__all__ = [
    "ModulusAvgPool1d",
    "ModulusAvgPool2d",
    "ModulusMaxPool1d",
    "ModulusMaxPool2d",
    "modulus_average_pool",
    "modulus_max_pool",
]


def modulus_average_pool(x: Tensor, mask: Tensor | None = None, number_field: str = "complex") -> Tensor:
    """Average |z_i| over axis -2 (Thesis 2.28); the result has imaginary part 0.

    ``[..., N, 2d]``, mask ``[..., N]`` -> ``[..., 2d]``. Without an unmasked element the result is 0.
    """
    numbers = arithmetic(number_field)
    if mask is not None:  # before the modulus, whose gradient at NaN is NaN
        x = x.masked_fill(~mask.to(torch.bool).unsqueeze(-1), 0.0)
    return numbers.from_real(CF.masked_mean(numbers.modulus(x), mask))


def _size(parts: Sequence[Tensor]) -> Tensor:
    return hypot(*parts) if len(parts) == 2 else parts[0].abs()


def modulus_max_pool(x: Tensor, mask: Tensor | None = None, number_field: str = "complex") -> Tensor:
    """Select the z_i of largest modulus over axis -2, for each feature, with its phase (Thesis 2.29).

    ``[..., N, 2d]``, mask ``[..., N]`` -> ``[..., 2d]``. The first of equal moduli wins; the gradient goes to the
    selected element. Without an unmasked element the result is 0.
    """
    numbers = arithmetic(number_field)
    with torch.no_grad():  # the index has no gradient
        parts = numbers.parts(CF.wide(x))
        r = _size(parts)
        if mask is not None:
            keep = mask.to(torch.bool).unsqueeze(-1)
            r = r.masked_fill(~keep, -1.0)
        index = r.argmax(dim=-2, keepdim=True)
        index = torch.cat([index] * numbers.num_parts, dim=-1)
    largest = x.gather(-2, index).squeeze(-2)
    return largest if mask is None else largest.masked_fill(~keep.any(dim=-2), 0.0)


_MAX_POOLS = {1: F.max_pool1d, 2: F.max_pool2d}


class _ModulusPool(nn.Module):
    """Base of layers that apply ``pool`` to windows; see ``ModulusMaxPool1d``."""

    num_dims: int
    pool = staticmethod(modulus_max_pool)

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        number_field: str = "complex",
    ) -> None:
        super().__init__()
        arithmetic(number_field)
        self.kernel_size = self._sizes(kernel_size)
        self.stride = self.kernel_size if stride is None else self._sizes(stride)
        self.number_field = number_field

    def _sizes(self, value: int | tuple[int, ...]) -> tuple[int, ...]:
        sizes = (value,) * self.num_dims if isinstance(value, int) else tuple(value)
        if len(sizes) != self.num_dims:
            raise ValueError(f"kernel_size and stride must have {self.num_dims} sizes, got {value}")
        return sizes

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Pool ``[B, 2C, L, ...]`` to ``[B, 2C, (L - kernel_size) // stride + 1, ...]``; mask ``[B, L, ...]``."""
        if x.dim() != self.num_dims + 2:
            raise ValueError(f"x must have {self.num_dims + 2} axes [batch, channels, ...], got {tuple(x.shape)}")
        if mask is not None:
            check_mask(mask, x)
        elif self.pool is modulus_max_pool:
            return self._max_pool(x)
        windows = self._windows(x, first_axis=2).movedim(1, -1)  # [B, L', ..., k, 2C]
        window_mask = None if mask is None else self._windows(mask, first_axis=1)
        return type(self).pool(windows, window_mask, self.number_field).movedim(-1, 1)

    def _max_pool(self, x: Tensor) -> Tensor:
        """Pool without a mask, with the indices of torch's own pooling of the moduli."""
        parts = x.unflatten(1, (arithmetic(self.number_field).num_parts, -1))  # [B, parts, C, L, ...]
        with torch.no_grad():
            r = _size(CF.wide(parts).unbind(1))
            _, index = _MAX_POOLS[self.num_dims](r, self.kernel_size, self.stride, return_indices=True)
        chosen = index.flatten(2).unsqueeze(1).expand(-1, parts.shape[1], -1, -1)
        return parts.flatten(3).gather(-1, chosen).flatten(1, 2).unflatten(-1, index.shape[2:])

    def _windows(self, x: Tensor, first_axis: int) -> Tensor:
        for axis, (kernel, stride) in enumerate(zip(self.kernel_size, self.stride, strict=True), first_axis):
            x = x.unfold(axis, kernel, stride)
        return x.flatten(-self.num_dims)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, number_field={self.number_field!r}"


class ModulusMaxPool1d(_ModulusPool):
    """``modulus_max_pool`` in windows of the last axis, ``[B, 2C, L]`` with ``[real | imag]`` halves on axis 1.

    Shapes as in ``torch.nn.MaxPool1d``, without padding. A fully masked window gives 0.

    Args:
        kernel_size, stride: size and step of the windows; the stride defaults to ``kernel_size``.
        number_field: ``"complex"`` or ``"real"``, where the modulus is |x|.

    Raises:
        ValueError: an input with another number of axes, a mask of another shape.
    """

    num_dims = 1


class ModulusAvgPool1d(_ModulusPool):
    """``modulus_average_pool`` in windows; arguments as in ``ModulusMaxPool1d``."""

    num_dims = 1
    pool = staticmethod(modulus_average_pool)


class ModulusMaxPool2d(_ModulusPool):
    """``ModulusMaxPool1d`` over two axes, ``[B, 2C, H, W]`` with mask ``[B, H, W]``; sizes may be pairs."""

    num_dims = 2


class ModulusAvgPool2d(_ModulusPool):
    """``ModulusAvgPool1d`` over two axes; arguments as in ``ModulusMaxPool2d``."""

    num_dims = 2
    pool = staticmethod(modulus_average_pool)
