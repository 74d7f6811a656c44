# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Convolutions of both number fields (Thesis 2.24). Channels are ``[real | imag]`` halves on axis 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..kernels.dispatch import product_dtype
from ..kernels.exporting import halves
from . import functional as CF
from .arithmetic import arithmetic
from .initialization import Initialized
from .linear import is_plain

__all__ = [
    "ComplexConv1d",
    "ComplexConv2d",
    "ComplexConv3d",
    "ComplexConvTranspose1d",
    "ComplexConvTranspose2d",
    "ComplexUpsample",
    "RealConv1d",
    "RealConv2d",
    "RealConv3d",
    "RealConvTranspose1d",
    "RealConvTranspose2d",
    "RealInputConv2d",
]

Sizes = int | Sequence[int]


class _ComplexConv(Initialized):
    """Base of complex convolutions with the sub-layers ``real`` (A) and ``imag`` (B); see ``ComplexConv1d``."""

    num_dims: int
    layer_class: Any  # class of both sub-layers

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        options = {"padding": padding, "padding_mode": padding_mode}
        factory = {"device": device, "dtype": dtype}
        self._build(in_channels, out_channels, kernel_size, stride, dilation, groups, bias, factory, **options)

    def _build(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        dilation: Sizes,
        groups: int,
        bias: bool,
        factory: dict[str, Any],
        **options: Any,
    ) -> None:
        numbers = arithmetic("complex")
        sizes = numbers.num_features(in_channels), numbers.num_features(out_channels)
        self.in_channels = in_channels
        self.out_channels = out_channels
        options |= {"dilation": dilation, "groups": groups, "bias": False, **factory}
        self.real = self.layer_class(*sizes, kernel_size, stride, **options)
        self.imag = self.layer_class(*sizes, kernel_size, stride, **options)
        self.kernel_size, self.stride, self.padding = self.real.kernel_size, self.real.stride, self.real.padding
        self.dilation, self.groups = self.real.dilation, groups
        self.register_bias(out_channels if bias else None, **factory)
        self.reset_parameters()

    def weight_parts(self) -> tuple[Tensor, ...]:
        """Return the kernels A and B."""
        return self.real.weight, self.imag.weight

    def forward(self, x: Tensor) -> Tensor:
        CF.check_halves(x, 1)
        return self._product(x)

    def _product(self, x: Tensor, *output_size: Any) -> Tensor:
        # One product with [[A, -B], [B, A]] (Thesis 2.7), except with groups, whose order does not match the halves.
        if self.groups == 1 and is_plain(self.real) and is_plain(self.imag) and not output_size:
            return self._whole_product(x)
        layers = self.real, self.imag
        a_real, a_imag, b_real, b_imag = (layer(part, *output_size) for layer in layers for part in halves(x, 1))
        out = torch.cat([a_real - b_imag, a_imag + b_real], dim=1)
        return out if self.bias is None else out + self.bias.to(out.dtype).view(-1, *[1] * self.num_dims)

    def _whole_product(self, x: Tensor) -> Tensor:
        real, imag = self.weight_parts()
        return self.real._conv_forward(x, *CF.matrix_and_bias((real, imag), self.bias, product_dtype(real)))

    def extra_repr(self) -> str:
        return f"in_channels={self.in_channels}, out_channels={self.out_channels}, bias={self.bias is not None}"


class ComplexConv1d(_ComplexConv):
    """Complex convolution over one axis: sum_j W_j z_{n + j} + b with W = A + iB (Thesis 2.24; Trabelsi et al. 2017).

    A and B are the ``nn.Conv1d`` sub-layers ``real`` and ``imag`` without bias, b is one real vector
    ``[b_re | b_im]``. As in ``torch.nn``, "convolution" is cross-correlation (Thesis 2.23 with the kernel reversed).
    Both kernels are applied at once; with groups, or if a sub-layer has been replaced or hooked, the sub-layers are
    called.

    Args:
        in_channels, out_channels: stored channels ``[real | imag]``, twice the complex ones.
        kernel_size, stride, padding, dilation, groups, bias, padding_mode: as in ``torch.nn.Conv1d``; ``groups``
            divides the complex channels.

    Raises:
        ValueError: odd channels.
        TypeError: a complex or integer input.
    """

    num_dims = 1
    layer_class = nn.Conv1d


class ComplexConv2d(_ComplexConv):
    """``ComplexConv1d`` over two axes, ``[B, 2C, H, W]``; arguments as in ``torch.nn.Conv2d``."""

    num_dims = 2
    layer_class = nn.Conv2d


class ComplexConv3d(_ComplexConv):
    """``ComplexConv1d`` over three axes, ``[B, 2C, D, H, W]``; arguments as in ``torch.nn.Conv3d``."""

    num_dims = 3
    layer_class = nn.Conv3d


class _ComplexConvTranspose(_ComplexConv):
    """Base of complex transposed convolutions; see ``ComplexConvTranspose1d``."""

    transposed: Any  # the function of torch.nn.functional

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        Initialized.__init__(self)
        options = {"padding": padding, "output_padding": output_padding, "padding_mode": padding_mode}
        factory = {"device": device, "dtype": dtype}
        self._build(in_channels, out_channels, kernel_size, stride, dilation, groups, bias, factory, **options)
        self.output_padding = self.real.output_padding

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        CF.check_halves(x, 1)
        return self._product(x) if output_size is None else self._product(x, output_size)

    def _whole_product(self, x: Tensor) -> Tensor:
        real, imag = self.weight_parts()
        weight = CF.block_matrix(real, -imag, dtype=product_dtype(real))  # [[A, B], [-B, A]]: rows are inputs
        geometry = self.stride, self.padding, self.output_padding, self.groups, self.dilation
        return type(self).transposed(x, weight, self.bias, *geometry)


class ComplexConvTranspose1d(_ComplexConvTranspose):
    """Complex transposed convolution over one axis: z_n adds W_j z_n to output n stride + j, then b is added.

    As in ``torch.nn.ConvTranspose1d``, kernels are transposed but not conjugated, so it is the gradient of a
    ``ComplexConv1d`` with the conjugate kernel.

    Args:
        in_channels, out_channels: stored channels ``[real | imag]``, twice the complex ones.
        kernel_size, stride, padding, output_padding, groups, bias, dilation, padding_mode: as in
            ``torch.nn.ConvTranspose1d``; ``groups`` divides the complex channels.

    Raises:
        ValueError: odd channels.
        TypeError: a complex or integer input.
    """

    num_dims = 1
    layer_class = nn.ConvTranspose1d
    transposed = staticmethod(F.conv_transpose1d)


class ComplexConvTranspose2d(_ComplexConvTranspose):
    """``ComplexConvTranspose1d`` over two axes; arguments as in ``torch.nn.ConvTranspose2d``."""

    num_dims = 2
    layer_class = nn.ConvTranspose2d
    transposed = staticmethod(F.conv_transpose2d)


class ComplexUpsample(nn.Upsample):
    """Upsampling of complex channels ``[B, 2C, ...]``, halves on axis 1; arguments as in ``torch.nn.Upsample``.

    Every mode interpolates the real and the imaginary part in the same way.

    Raises:
        ValueError: odd channels.
        TypeError: a complex or integer input.
    """

    def forward(self, input: Tensor) -> Tensor:
        CF.check_halves(input, 1)
        return super().forward(input)


class RealInputConv2d(ComplexConv2d):
    """Complex convolution of real input: [x * A | x * B] + b (Thesis 3.9).

    It has the parameters of ``ComplexConv2d(2 * in_channels, out_channels)`` and computes the same for an input with
    imaginary part 0, at half of the cost.

    Args:
        in_channels: real channels of the input, ``[B, in_channels, H, W]``.
        out_channels: stored channels of the output, halves.
        kernel_size, options: as in ``ComplexConv2d``; ``groups`` divides ``in_channels`` and ``out_channels / 2``.

    Raises:
        ValueError: odd ``out_channels``.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Sizes, **options: Any) -> None:
        super().__init__(2 * in_channels, out_channels, kernel_size, **options)

    def forward(self, x: Tensor) -> Tensor:
        # With several groups the rows of [A; B] would not be in the order of the groups.
        if self.groups == 1 and is_plain(self.real) and is_plain(self.imag):
            return self.real._conv_forward(x, torch.cat([self.real.weight, self.imag.weight]), self.bias)
        out = torch.cat([self.real(x), self.imag(x)], dim=1)
        return out if self.bias is None else out + self.bias.to(out.dtype).view(-1, 1, 1)


class RealConv1d(Initialized, nn.Conv1d):
    """``nn.Conv1d`` with the initializer of ``ComplexConv1d``: its real twin of the same width."""


class RealConv2d(Initialized, nn.Conv2d):
    """``nn.Conv2d`` with the initializer of ``ComplexConv2d``: its real twin of the same width."""


class RealConv3d(Initialized, nn.Conv3d):
    """``nn.Conv3d`` with the initializer of ``ComplexConv3d``: its real twin of the same width."""


class RealConvTranspose1d(Initialized, nn.ConvTranspose1d):
    """``nn.ConvTranspose1d`` with the initializer of ``ComplexConvTranspose1d``: its real twin."""


class RealConvTranspose2d(Initialized, nn.ConvTranspose2d):
    """``nn.ConvTranspose2d`` with the initializer of ``ComplexConvTranspose2d``: its real twin."""
