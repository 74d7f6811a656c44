# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The real matrix of a complex or widely linear weight, and its transposed map (the gradient)."""

import triton
import triton.language as tl


@triton.jit
def block(pointer, strides, row, column, inside):
    """Load a tile of a matrix in float32, with 0 outside."""
    places = row.to(tl.int64)[:, None] * strides[0] + column.to(tl.int64)[None, :] * strides[1]
    return tl.load(pointer + places, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def store(pointer, strides, row, column, inside, value):
    """Store a tile in the dtype of the matrix."""
    places = row.to(tl.int64)[:, None] * strides[0] + column.to(tl.int64)[None, :] * strides[1]
    tl.store(pointer + places, value.to(pointer.dtype.element_ty), mask=inside)


@triton.jit
def copy(source, target, row, rows):
    """Copy a vector of ``2 rows`` elements, in the first column of programs."""
    inside = row + tl.program_id(1) * rows < rows
    tl.store(target + row, tl.load(source + row, mask=inside).to(target.dtype.element_ty), mask=inside)
    row += rows
    tl.store(target + row, tl.load(source + row, mask=inside).to(target.dtype.element_ty), mask=inside)


@triton.jit
def real_matrix(
    a, b, c, d, matrix, bias, cast, a_strides, b_strides, c_strides, d_strides, strides, rows, columns,
    FOUR: tl.constexpr, BIAS: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Write [[A, -B], [B, A]], or with four parts [[A + C, D - B], [B + D, A - C]], and copy a bias."""
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    if BIAS:
        copy(bias, cast, row, rows)
    real, imag = block(a, a_strides, row, column, inside), block(b, b_strides, row, column, inside)
    if FOUR:
        conj_real, conj_imag = block(c, c_strides, row, column, inside), block(d, d_strides, row, column, inside)
        first, last = real + conj_real, real - conj_real
        upper, lower = conj_imag - imag, imag + conj_imag
    else:
        first, last = real, real
        upper, lower = -imag, imag
    store(matrix, strides, row, column, inside, first)
    store(matrix, strides, row, column + columns, inside, upper)
    store(matrix, strides, row + rows, column, inside, lower)
    store(matrix, strides, row + rows, column + columns, inside, last)


@triton.jit
def parts_of(
    matrix, a, b, c, d, bias, cast, strides, a_strides, b_strides, c_strides, d_strides, rows, columns,
    FOUR: tl.constexpr, BIAS: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Write A = R11 + R22 and B = R21 - R12 of a matrix R, with four parts also C = R11 - R22 and D = R12 + R21.

    Copy a bias, too.
    """
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    if BIAS:
        copy(bias, cast, row, rows)
    first = block(matrix, strides, row, column, inside)
    upper = block(matrix, strides, row, column + columns, inside)
    lower = block(matrix, strides, row + rows, column, inside)
    last = block(matrix, strides, row + rows, column + columns, inside)
    store(a, a_strides, row, column, inside, first + last)
    store(b, b_strides, row, column, inside, lower - upper)
    if FOUR:
        store(c, c_strides, row, column, inside, first - last)
        store(d, d_strides, row, column, inside, upper + lower)
