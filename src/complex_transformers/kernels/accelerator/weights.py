# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The real matrix of a complex or widely linear weight, built and differentiated in one kernel launch each.

Under autocast the launch casts the bias, too.
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
# Two or four parts and, if their number is odd, a bias, to a matrix and the bias; and the transposed map.
_LIBRARY.define("real_matrix(Tensor[] parts, ScalarType dtype) -> Tensor[]")
_LIBRARY.define("real_parts(Tensor[] matrix, int count, ScalarType dtype) -> Tensor[]")


def _launch(kernel: Any, tensors: Sequence[Tensor], biases: Sequence[Tensor], parts: Sequence[Tensor]) -> None:
    """Run ``kernel`` over all elements of a part; its arguments are ``tensors``, biases and strides."""
    rows, columns = parts[0].shape
    programs = -(-rows // TILE[0]), -(-columns // TILE[1])
    strides = [tuple(tensor.stride()) for tensor in tensors]
    sizes = {"M": TILE[0], "N": TILE[1], "FOUR": len(parts) == 4, "BIAS": bool(biases)}
    given = biases or tensors[:2]  # two tensors that are not read
    switch.launch(kernel, programs, *tensors, *given, *strides, rows, columns, **sizes)


def _four(parts: Sequence[Tensor]) -> list[Tensor]:
    """Repeat two parts, since a kernel has four arguments and reads two."""
    return [*parts, *parts][:4]


@torch.library.impl("complex_transformers::real_matrix", DEVICES, lib=_LIBRARY)
def _real_matrix(parts: Sequence[Tensor], dtype: torch.dtype) -> list[Tensor]:
    from . import weight_kernels as kernels

    found, count = _empty_matrix(parts, dtype), len(parts) // 2 * 2
    biases = [bias.contiguous() for bias in parts[count:]] + found[1:]
    _launch(kernels.real_matrix, [*_four(parts[:count]), found[0]], biases, parts[:count])
    return found


@torch.library.impl("complex_transformers::real_parts", DEVICES, lib=_LIBRARY)
def _real_parts(matrix: Sequence[Tensor], count: int, dtype: torch.dtype) -> list[Tensor]:
    from . import weight_kernels as kernels

    found = _empty_parts(matrix, count, dtype)
    biases = [bias.contiguous() for bias in matrix[1:]] + found[count:]
    _launch(kernels.parts_of, [matrix[0], *_four(found[:count])], biases, found[:count])
    return found


@torch.library.register_fake("complex_transformers::real_matrix", lib=_LIBRARY)
def _empty_matrix(parts: Sequence[Tensor], dtype: torch.dtype) -> list[Tensor]:
    (rows, columns), count = parts[0].shape, len(parts) // 2 * 2
    matrix = parts[0].new_empty(2 * rows, 2 * columns, dtype=dtype)
    return [matrix, *(bias.new_empty(2 * rows, dtype=dtype) for bias in parts[count:])]


@torch.library.register_fake("complex_transformers::real_parts", lib=_LIBRARY)
def _empty_parts(matrix: Sequence[Tensor], count: int, dtype: torch.dtype) -> list[Tensor]:
    rows, columns = matrix[0].shape
    parts = [matrix[0].new_empty(rows // 2, columns // 2, dtype=dtype) for _ in range(count)]
    return [*parts, *(bias.new_empty(rows, dtype=dtype) for bias in matrix[1:])]


def real_matrix(
    parts: Sequence[Tensor], dtype: torch.dtype, bias: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Compute the real matrix ``[2 out, 2 in]`` of the parts A, B (and C, D), ``[out, in]`` each, in ``dtype``.

    The bias ``[2 out]``, if any, is cast in the same launch.
    """
    matrix, *cast = run(_Matrix, dtype, *parts, *(() if bias is None else (bias,)))
    return matrix, cast[0] if cast else None


def real_parts(matrix: Tensor, count: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Compute the transposed map of ``real_matrix``: 2 or 4 parts ``[out, in]`` of a matrix ``[2 out, 2 in]``."""
    return tuple(run(_Parts, count, dtype, matrix))


class _Matrix(torch.autograd.Function):
    """Parts and a bias, if any, to a matrix and the bias; gradients in the dtype of the parts."""

    @staticmethod
    def forward(dtype: torch.dtype, *parts: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.ops.complex_transformers.real_matrix(parts, dtype))

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        _, *parts = inputs
        ctx.count, ctx.dtype = len(parts) // 2 * 2, parts[0].dtype

    @staticmethod
    def backward(ctx, *grads: Tensor) -> Any:  # type: ignore[no-untyped-def]
        if are_many(*grads):  # a batched gradient has three axes, which the kernel does not know
            first, upper, lower, last = (block for half in grads[0].chunk(2, -2) for block in half.chunk(2, -1))
            sums = first + last, lower - upper, first - last, upper + lower
            return None, *(total.to(ctx.dtype) for total in (*sums[: ctx.count], *grads[1:]))
        return None, *run(_Parts, ctx.count, ctx.dtype, *grads)


class _Parts(torch.autograd.Function):
    """The transposed map of ``_Matrix``; gradients in the dtype of the matrix."""

    @staticmethod
    def forward(count: int, dtype: torch.dtype, *matrix: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.ops.complex_transformers.real_parts(matrix, count, dtype))

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.dtype = inputs[2].dtype

    @staticmethod
    def backward(ctx, *grads: Tensor) -> Any:  # type: ignore[no-untyped-def]
        return None, None, *run(_Matrix, ctx.dtype, *grads)
