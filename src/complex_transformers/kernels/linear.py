# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Products with complex weights, by three real products or by one real block matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from .accelerator.switch import may_run
from .dispatch import are_many, by_formula, is_plain_cpu, run, without_autocast

__all__ = [
    "GaussLinear",
    "MatrixLinear",
    "block_matrix",
    "is_finite",
    "matrix_and_bias",
    "widely_matrix",
    "widely_parts",
]


def block_matrix(real: Tensor, imag: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
    """Build [[A, -B], [B, A]], the real matrix that multiplies halves by A + iB (Thesis 2.7).

    ``[out, in, ...]`` parts -> ``[2 out, 2 in, ...]``, with the kernel axes of a convolution last. ``dtype`` is by
    default the dtype of the parts.
    """
    if may_run(real, imag):
        return _by_kernel((real, imag), dtype)[0]
    matrix = torch.cat([torch.cat([real, -imag], dim=1), torch.cat([imag, real], dim=1)], dim=0)
    return matrix if dtype is None else matrix.to(dtype)


def widely_matrix(
    real: Tensor, imag: Tensor, conj_real: Tensor, conj_imag: Tensor, *, dtype: torch.dtype | None = None
) -> Tensor:
    """Build [[A + C, D - B], [B + D, A - C]], the real matrix of U z + V conj(z) with U = A + iB and V = C + iD.

    ``[out, in]`` parts -> ``[2 out, 2 in]``; ``dtype`` is by default the dtype of the parts.
    """
    if may_run(real, imag, conj_real, conj_imag):
        return _by_kernel((real, imag, conj_real, conj_imag), dtype)[0]
    if is_plain_cpu(real):
        return run(_WidelyMatrix, real, imag, conj_real, conj_imag)
    upper = torch.cat([real + conj_real, conj_imag - imag], dim=1)
    lower = torch.cat([imag + conj_imag, real - conj_real], dim=1)
    matrix = torch.cat([upper, lower], dim=0)
    return matrix if dtype is None else matrix.to(dtype)


def matrix_and_bias(parts: Sequence[Tensor], bias: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """Build the real matrix of two or four parts in ``dtype`` and, if one kernel can do both, cast the bias."""
    is_cast = bias is not None and bias.dtype != dtype and bias.requires_grad == parts[0].requires_grad
    if bias is not None and is_cast and may_run(*parts, bias):
        return _by_kernel(parts, dtype, bias)
    build = block_matrix if len(parts) == 2 else widely_matrix
    return build(*parts, dtype=dtype), bias


def _by_kernel(
    parts: Sequence[Tensor], dtype: torch.dtype | None, bias: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Build matrix and bias in one launch; the kernel axes of a convolution belong to the columns."""
    from .accelerator.weights import real_matrix  # imported late: registering an operator is slow

    rows, columns, *kernel = parts[0].shape
    dtype = parts[0].dtype if dtype is None else dtype
    matrix, bias = real_matrix([part.flatten(1) for part in parts], dtype, bias)
    return matrix.view(2 * rows, 2 * columns, *kernel), bias


def _sums_of_blocks(matrix: Tensor) -> tuple[Tensor, ...]:
    """Compute twice the parts A, B, C, D of a real matrix ``[2 out, 2 in]``."""
    upper, lower = matrix.chunk(2, dim=0)
    (a, b), (c, d) = upper.chunk(2, dim=1), lower.chunk(2, dim=1)
    return a + d, c - b, a - d, b + c


def widely_parts(matrix: Tensor) -> tuple[Tensor, ...]:
    """Invert ``widely_matrix``: a real matrix ``[2 out, 2 in]`` to the parts A, B, C, D, ``[out, in]`` each."""
    return tuple(0.5 * total for total in _sums_of_blocks(matrix))


class _WidelyMatrix(torch.autograd.Function):
    """``widely_matrix`` in one pass without temporaries."""

    @staticmethod
    def forward(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
        rows, columns = a.shape
        matrix = a.new_empty(2 * rows, 2 * columns)
        torch.add(a, c, out=matrix[:rows, :columns])
        torch.sub(d, b, out=matrix[:rows, columns:])
        torch.add(b, d, out=matrix[rows:, :columns])
        torch.sub(a, c, out=matrix[rows:, columns:])
        return matrix

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        pass  # a linear map needs no saved input

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        return _sums_of_blocks(grad)


class MatrixLinear(torch.autograd.Function):
    """x R^T + b with the matrix R of ``widely_matrix``, which backward builds again instead of keeping it.

    ``[rows, 2 in]`` and parts ``[out, in]`` -> ``[rows, 2 out]``; the bias has ``2 out`` elements or is None. A
    training step takes as much memory as a real layer. Building R again is cheap, because the allocator reuses memory
    that is still in the cache.
    """

    @staticmethod
    def forward(x: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor, bias: Tensor | None) -> Tensor:
        return F.linear(x, _WidelyMatrix.forward(a, b, c, d), bias)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs[:5])

    @staticmethod
    @without_autocast
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        x, *parts = ctx.saved_tensors
        grad_x = grad @ widely_matrix(*parts) if ctx.needs_input_grad[0] else None
        grad_parts = _sums_of_blocks(grad.t() @ x) if any(ctx.needs_input_grad[1:5]) else (None,) * 4
        grad_bias = grad.sum(0) if ctx.needs_input_grad[5] else None
        return grad_x, *grad_parts, grad_bias


def is_finite(*tensors: Tensor) -> bool:
    """Return False if an element is not finite, or if the sum of finite elements overflows.

    A sum needs one pass over memory and no temporary.
    """
    return all(math.isfinite(x.sum().item()) for x in tensors)


class GaussLinear(torch.autograd.Function):
    """W z + b by three real products (Gauss); backward by three products for the input and three for the weight.

    With s = z_re + z_im, D = B - A, S = A + B:  (W z)_re = A s - S z_im,  (W z)_im = A s + D z_re.
    Autograd finds the same nine products; written out, additions are fused into the products (`addmm`), which reduces
    the time from 0.85 to 0.80 of a real layer of the same width.

    The sums s, S, D and the three products can overflow although W z does not. A result that is not finite is
    therefore recomputed with the block matrix.
    """

    @staticmethod
    def forward(x: Tensor, a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
        out_features, in_features = a.shape
        real, imag = x[:, :in_features], x[:, in_features:]
        out = x.new_empty(x.shape[0], 2 * out_features)
        out_real, out_imag = out[:, :out_features], out[:, out_features:]
        if bias is None:
            torch.mm(real + imag, a.t(), out=out_real)
            out_imag.copy_(out_real)
        else:
            torch.addmm(bias[:out_features], real + imag, a.t(), out=out_real)
            torch.add(out_real, bias[out_features:] - bias[:out_features], out=out_imag)
        out_real.addmm_(imag, (a + b).t(), alpha=-1)
        out_imag.addmm_(real, (b - a).t())
        return out if is_finite(out) else F.linear(x, block_matrix(a, b), bias)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        x, a, b, _ = inputs
        ctx.save_for_backward(x, a, b)

    @staticmethod
    @without_autocast
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        x, a, b = ctx.saved_tensors
        out_features, in_features = a.shape
        real, imag = x[:, :in_features], x[:, in_features:]
        grad_real, grad_imag = grad[:, :out_features], grad[:, out_features:]
        grad_total = grad_real + grad_imag
        grad_x = grad_a = grad_b = grad_bias = None
        if ctx.needs_input_grad[0]:  # conj(W)^T grad
            if not by_formula(grad):
                grad_x = torch.empty_like(x, memory_format=torch.contiguous_format)
                torch.mm(grad_total, a, out=grad_x[:, :in_features])
                grad_x[:, in_features:].copy_(grad_x[:, :in_features])
                grad_x[:, :in_features].addmm_(grad_imag, b - a)
                grad_x[:, in_features:].addmm_(grad_real, a + b, alpha=-1)
            if grad_x is None or not is_finite(grad_x):
                grad_x = grad @ block_matrix(a, b)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:  # grad conj(z)^T
            from_difference = grad_imag.t() @ real
            from_sum = grad_real.t() @ imag
            if not are_many(grad):  # a batched gradient is not 2-D: use the fallback
                grad_a = (from_difference + from_sum).addmm_(grad_total.t(), real + imag, beta=-1)
            grad_b = from_difference - from_sum
            if grad_a is None or not is_finite(grad_a):  # grad_b needs no sums that could overflow
                grad_a = grad_real.t() @ real + grad_imag.t() @ imag
        if ctx.needs_input_grad[3]:
            grad_bias = grad.sum(0)
        return grad_x, grad_a, grad_b, grad_bias
