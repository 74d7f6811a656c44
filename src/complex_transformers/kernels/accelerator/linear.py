# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The complex dense layer in half precision as a Triton kernel: W z + b from the parts of W, each read once."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..dispatch import gradients_with_graph, run
from ..linear import block_matrix
from . import switch
from .switch import may_run

__all__ = ["MOST_ROWS", "KernelLinear", "fused_linear", "linear_operands"]

# With few rows the block matrix costs more to write and to read than the product. With many the library's product of
# it is the fastest way. Where they meet is an estimate, not yet measured.
MOST_ROWS = 2048
LARGEST_TILE = (64, 64, 32)  # rows, columns, inner


Operands = tuple[Tensor, Tensor, Tensor, Tensor | None]


def linear_operands(x: Tensor, real: Tensor, imag: Tensor, bias: Tensor | None) -> Operands | None:
    """The arguments in half precision, that of autocast, where the kernel takes them; None for another way."""
    if x.device.type not in switch.DEVICES or real.dim() != 2 or real.shape != imag.shape:
        return None
    if x.shape[:-1].numel() > MOST_ROWS:
        return None
    given = [x, real, imag] if bias is None else [x, real, imag, bias]
    if torch.is_autocast_enabled(x.device.type):
        if any(value.dtype not in switch.DTYPES for value in given):
            return None
        given = [value.to(torch.get_autocast_dtype(x.device.type)) for value in given]
    if given[0].dtype not in switch.DTYPES[1:] or not may_run(*given):
        return None
    return given[0], given[1], given[2], None if bias is None else given[3]


def fused_linear(x: Tensor, real: Tensor, imag: Tensor, bias: Tensor | None) -> Tensor:
    """W z + b with W = A + iB: ``[..., 2 in] -> [..., 2 out]`` for operands of ``linear_operands``."""
    out_features, in_features = real.shape
    flat = run(KernelLinear, x.reshape(-1, 2 * in_features), real, imag, bias)
    return flat.view(*x.shape[:-1], 2 * out_features)


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    real, imag = x.chunk(2, dim=-1)
    return real, imag


def _product(
    x: tuple[Tensor, Tensor], y: tuple[Tensor, Tensor], bias: Tensor | None = None, conjugate: bool = False
) -> Tensor:
    """x y^T + b, or x y^H: parts ``[rows, inner]`` and ``[columns, inner]`` -> halves ``[rows, 2 columns]``."""
    from . import linear_kernels as kernels

    (rows, inner), columns = x[0].shape, y[0].shape[0]
    out = x[0].new_empty(rows, 2 * columns)
    largest_m, n, k = LARGEST_TILE
    m = min(largest_m, max(16, 1 << (rows - 1).bit_length()))
    switch.launch(
        kernels.product,
        (-(-rows // m) * -(-columns // n),),
        *x,
        *y,
        out if bias is None else bias,
        out,
        *(tuple(matrix.stride()) for matrix in (x[0], y[0], out)),
        rows,
        columns,
        inner,
        CONJUGATE=conjugate,
        HAS_BIAS=bias is not None,
        M=m,
        N=n,
        K=k,
        num_warps=4,
        num_stages=3,
    )
    return out


def _plain(x: Tensor, real: Tensor, imag: Tensor, bias: Tensor | None) -> tuple[Tensor]:
    return (F.linear(x, block_matrix(real, imag), bias),)


class KernelLinear(torch.autograd.Function):
    """W z + b of rows ``[N, 2 in]``; the gradients conj(W)^T g and g conj(z)^T are products of the same kind."""

    @staticmethod
    def forward(x: Tensor, real: Tensor, imag: Tensor, bias: Tensor | None) -> Tensor:
        return _product(_halves(x), _alike(real, imag), None if bias is None else bias.contiguous())

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Any:  # type: ignore[no-untyped-def]
        """Gradients of x, A, B and b from that of the result, ``[N, 2 out]``."""
        x, real, imag, bias = ctx.saved_tensors
        needed = ctx.needs_input_grad
        if torch.is_grad_enabled():  # a graph of the gradient is wanted
            return gradients_with_graph(_plain, (x, real, imag, bias), needed, (grad,))
        grad_x = grad_real = grad_imag = grad_bias = None
        if needed[0]:
            a, b = _alike(real, imag)
            grad_x = _product(_halves(grad), (a.t(), b.t()), conjugate=True)
        if needed[1] or needed[2]:
            (g, h), (a, b) = _halves(grad), _halves(x)
            grad_real, grad_imag = _halves(_product((g.t(), h.t()), (a.t(), b.t()), conjugate=True))
        if needed[3]:
            grad_bias = grad.sum(0)
        return grad_x, grad_real, grad_imag, grad_bias


def _alike(real: Tensor, imag: Tensor) -> tuple[Tensor, Tensor]:
    """Both parts with the same strides, of which the kernel takes one."""
    return (real, imag) if real.stride() == imag.stride() else (real.contiguous(), imag.contiguous())
