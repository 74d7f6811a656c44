# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows of a real recurrent layer from the parts of a complex one, and the gradients of the parts.

A row of a gate is alpha Re + beta Im of the row of the complex layer, for both halves of its unit; the halves of the
candidate, which is the gate 2, are Re and Im. Parts are ``[gates d, columns]``, rows ``[gates 2 d, 2 columns]`` with
the columns of both halves of the input; of a bias, ``[gates 2 d, 1]``.
"""

import triton
import triton.language as tl


@triton.jit
def coefficients(learned, gate, unit, d, count, inside, LEARNED: tl.constexpr):
    """Return the factors of Re and Im in the first half of the rows, then in the second."""
    is_gate = inside & (gate != 2)
    alpha, beta = tl.where(is_gate, 1.0, 0.0), tl.zeros([gate.shape[0]], tl.float32)
    if LEARNED:
        place = tl.where(gate > 2, gate - 1, gate) * d + unit
        alpha = tl.load(learned + place, mask=is_gate, other=0.0).to(tl.float32)
        beta = tl.load(learned + count + place, mask=is_gate, other=0.0).to(tl.float32)
    return tl.where(is_gate, alpha, 1.0), beta, alpha, tl.where(is_gate, beta, 1.0)


@triton.jit
def tile(pointer, row, column, width, inside):
    """Load a tile of a contiguous matrix in float32, with 0 outside."""
    places = row.to(tl.int64)[:, None] * width + column[None, :]
    return tl.load(pointer + places, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def put(pointer, row, column, width, inside, value):
    """Store a tile of a contiguous matrix in its dtype."""
    places = row.to(tl.int64)[:, None] * width + column[None, :]
    tl.store(pointer + places, value.to(pointer.dtype.element_ty), mask=inside)


@triton.jit
def recurrent_rows(
    real, imag, learned, out, d, rows, columns, count,
    LEARNED: tl.constexpr, BIAS: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Write the rows of M units of gates, N columns."""
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    gate, unit = row // d, row % d
    a, b, p, q = coefficients(learned, gate, unit, d, count, row < rows, LEARNED)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    first = tile(real, row, column, columns, inside)
    second = tile(imag, row, column, columns, inside)
    upper, width = gate * 2 * d + unit, columns if BIAS else 2 * columns
    put(out, upper, column, width, inside, a[:, None] * first + b[:, None] * second)
    put(out, upper + d, column, width, inside, p[:, None] * first + q[:, None] * second)
    if not BIAS:
        put(out, upper, column + columns, width, inside, b[:, None] * first - a[:, None] * second)
        put(out, upper + d, column + columns, width, inside, q[:, None] * first - p[:, None] * second)


@triton.jit
def recurrent_parts(
    real, imag, learned, grad, grad_real, grad_imag, grad_learned, d, rows, columns, count,
    LEARNED: tl.constexpr, BIAS: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Write the gradients of M rows of both parts, contiguous, and of their alpha and beta."""
    row = tl.program_id(0) * M + tl.arange(0, M)
    gate, unit = row // d, row % d
    a, b, p, q = coefficients(learned, gate, unit, d, count, row < rows, LEARNED)
    upper, width = gate * 2 * d + unit, columns if BIAS else 2 * columns
    of_alpha, of_beta = tl.zeros([M], tl.float32), tl.zeros([M], tl.float32)
    for start in range(0, columns, N):
        column = start + tl.arange(0, N)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        first = tile(grad, upper, column, width, inside)
        second = tile(grad, upper + d, column, width, inside)
        of_real = a[:, None] * first + p[:, None] * second
        of_imag = b[:, None] * first + q[:, None] * second
        x, y = first + second, tl.zeros([M, N], tl.float32)
        if not BIAS:
            first = tile(grad, upper, column + columns, width, inside)
            second = tile(grad, upper + d, column + columns, width, inside)
            of_real += b[:, None] * first + q[:, None] * second
            of_imag -= a[:, None] * first + p[:, None] * second
            y = first + second
        put(grad_real, row, column, columns, inside, of_real)
        put(grad_imag, row, column, columns, inside, of_imag)
        if LEARNED:
            first = tile(real, row, column, columns, inside)
            second = tile(imag, row, column, columns, inside)
            of_alpha += tl.sum(x * first - y * second, 1)
            of_beta += tl.sum(x * second + y * first, 1)
    if LEARNED:
        is_gate = (row < rows) & (gate != 2)
        place = tl.where(gate > 2, gate - 1, gate) * d + unit
        tl.store(grad_learned + place, of_alpha, mask=is_gate)
        tl.store(grad_learned + count + place, of_beta, mask=is_gate)
