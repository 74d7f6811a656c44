# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The real matrix of a complex or widely linear weight, built and differentiated in one kernel launch each.

The map from the parts (A, B) or (A, B, C, D) to the matrix is linear, and its gradient is the transposed map. Both are
operators, so that profilers and dispatch modes see one operation instead of a dozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..dispatch import are_many, run
from . import switch

__all__ = ["real_matrix", "real_parts"]

TILE = (32, 64)  # rows, columns
DEVICES = ["cuda", "cpu"]  # the CPU for Triton's interpreter

_LIBRARY = torch.library.Library("complex_transformers", "FRAGMENT")
_LIBRARY.define("real_matrix(Tensor[] parts, ScalarType dtype) -> Tensor")
_LIBRARY.define("real_parts(Tensor matrix, int count, ScalarType dtype) -> Tensor[]")


def _launch(kernel: Any, tensors: Sequence[Tensor], parts: Sequence[Tensor]) -> None:
    """Run ``kernel`` over all elements of a part; ``tensors`` are its arguments, with their strides."""
    rows, columns = parts[0].shape
    programs = -(-rows // TILE[0]), -(-columns // TILE[1])
    strides = [tuple(tensor.stride()) for tensor in tensors]
    sizes = {"M": TILE[0], "N": TILE[1], "FOUR": len(parts) == 4}
    switch.launch(kernel, programs, *tensors, *strides, rows, columns, **sizes)


def _four(parts: Sequence[Tensor]) -> list[Tensor]:
    """Repeat two parts, since a kernel has four arguments and reads two."""
    return [*parts, *parts][:4]


@torch.library.impl("complex_transformers::real_matrix", DEVICES, lib=_LIBRARY)
def _real_matrix(parts: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    from . import weight_kernels as kernels

    matrix = _empty_matrix(parts, dtype)
    _launch(kernels.real_matrix, [*_four(parts), matrix], parts)
    return matrix


@torch.library.impl("complex_transformers::real_parts", DEVICES, lib=_LIBRARY)
def _real_parts(matrix: Tensor, count: int, dtype: torch.dtype) -> list[Tensor]:
    from . import weight_kernels as kernels

    parts = _empty_parts(matrix, count, dtype)
    _launch(kernels.parts_of, [matrix, *_four(parts)], parts)
    return parts


@torch.library.register_fake("complex_transformers::real_matrix", lib=_LIBRARY)
def _empty_matrix(parts: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    rows, columns = parts[0].shape
    return parts[0].new_empty(2 * rows, 2 * columns, dtype=dtype)


@torch.library.register_fake("complex_transformers::real_parts", lib=_LIBRARY)
def _empty_parts(matrix: Tensor, count: int, dtype: torch.dtype) -> list[Tensor]:
    rows, columns = matrix.shape
    return [matrix.new_empty(rows // 2, columns // 2, dtype=dtype) for _ in range(count)]


def real_matrix(parts: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """Compute the real matrix ``[2 out, 2 in]`` of the parts A, B (and C, D), ``[out, in]`` each, in ``dtype``."""
    return run(_Matrix, dtype, *parts)


def real_parts(matrix: Tensor, count: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Compute the transposed map of ``real_matrix``: 2 or 4 parts ``[out, in]`` of a matrix ``[2 out, 2 in]``."""
    return tuple(run(_Parts, matrix, count, dtype))


class _Matrix(torch.autograd.Function):
    """``real_matrix``; its gradient in the dtype of the parts."""

    @staticmethod
    def forward(dtype: torch.dtype, *parts: Tensor) -> Tensor:
        return torch.ops.complex_transformers.real_matrix(parts, dtype)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        _, *parts = inputs
        ctx.count, ctx.dtype = len(parts), parts[0].dtype

    @staticmethod
    def backward(ctx, grad: Tensor) -> Any:  # type: ignore[no-untyped-def]
        if are_many(grad):  # a batched gradient has three axes, which the kernel does not know
            first, upper, lower, last = (block for half in grad.chunk(2, -2) for block in half.chunk(2, -1))
            sums = first + last, lower - upper, first - last, upper + lower
            return None, *(total.to(ctx.dtype) for total in sums[: ctx.count])
        return None, *real_parts(grad, ctx.count, ctx.dtype)


class _Parts(torch.autograd.Function):
    """``real_parts``; its gradient in the dtype of the matrix."""

    @staticmethod
    def forward(matrix: Tensor, count: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
        return tuple(torch.ops.complex_transformers.real_parts(matrix, count, dtype))

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.dtype = inputs[0].dtype

    @staticmethod
    def backward(ctx, *grads: Tensor) -> Any:  # type: ignore[no-untyped-def]
        return real_matrix(grads, ctx.dtype), None, None
