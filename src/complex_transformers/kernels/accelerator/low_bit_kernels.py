# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Products with packed two-bit complex weights, U z + V conj(z), which read each byte of four codes once.

U and V are sums of stages s_t i^c_t. Codes are uint8 ``[stages, rows, width]`` with ``width = ceil(columns / 4)``,
scales ``[stages, 2, rows or 1]``. A matrix of 0 stages is absent, and its tensors are not read.
"""

import triton
import triton.language as tl


@triton.jit
def scale(scales, index, row, rows, PER_ROW: tl.constexpr):
    """Load the scales ``[M, 1]`` of one stage and axis, or the only one."""
    if PER_ROW:
        value = tl.load(scales + index * rows + row, mask=row < rows, other=0.0)[:, None]
    else:
        value = tl.load(scales + index)
    return value.to(tl.float32)


@triton.jit
def unpack(codes, scales, row, byte, rows, width, STAGES: tl.constexpr, PER_ROW: tl.constexpr, M: tl.constexpr,
           BYTES: tl.constexpr):  # fmt: skip
    """Return both parts of a tile of M rows and 4 BYTES columns in float32; columns beyond the last one are not 0."""
    real = tl.zeros([M, 4 * BYTES], tl.float32)
    imag = tl.zeros([M, 4 * BYTES], tl.float32)
    inside = (row < rows)[:, None] & (byte < width)[None, :]
    for stage in tl.static_range(STAGES):
        places = (stage * rows + row).to(tl.int64)[:, None] * width + byte[None, :]
        packed = tl.load(codes + places, mask=inside, other=0).to(tl.int32)
        even = tl.interleave(packed, packed >> 4)  # columns 0 and 2
        code = tl.interleave(even, even >> 2)
        of_real = scale(scales, 2 * stage, row, rows, PER_ROW)
        of_imag = scale(scales, 2 * stage + 1, row, rows, PER_ROW)
        is_imag, is_negative = code & 1 != 0, code & 2 != 0
        value = tl.where(is_imag, of_imag, of_real)
        value = tl.where(is_negative, -value, value)
        real += tl.where(is_imag, 0.0, value)
        imag += tl.where(is_imag, value, 0.0)
    return real, imag


@triton.jit
def blocks(codes, scales, conj_codes, conj_scales, row, byte, rows, width, STAGES: tl.constexpr,
           CONJ_STAGES: tl.constexpr, PER_ROW: tl.constexpr, M: tl.constexpr, BYTES: tl.constexpr):  # fmt: skip
    """Return a tile of the four blocks [[A + C, D - B], [B + D, A - C]] for U = A + iB and V = C + iD."""
    a, b = unpack(codes, scales, row, byte, rows, width, STAGES, PER_ROW, M, BYTES)
    c, d = unpack(conj_codes, conj_scales, row, byte, rows, width, CONJ_STAGES, PER_ROW, M, BYTES)
    return a + c, d - b, b + d, a - c


@triton.jit
def low_bit_one(
    x, out, codes, scales, conj_codes, conj_scales, rows, columns, width,
    STAGES: tl.constexpr, CONJ_STAGES: tl.constexpr, PER_ROW: tl.constexpr, M: tl.constexpr, BYTES: tl.constexpr,
):  # fmt: skip
    """Multiply M rows by one input in float32, without tensor cores."""
    row = tl.program_id(0) * M + tl.arange(0, M)
    real, imag = tl.zeros([M], tl.float32), tl.zeros([M], tl.float32)
    for first in range(0, width, BYTES):
        byte, column = first + tl.arange(0, BYTES), 4 * first + tl.arange(0, 4 * BYTES)
        inside = column < columns
        a = tl.load(x + column, mask=inside, other=0.0).to(tl.float32)[None, :]
        b = tl.load(x + columns + column, mask=inside, other=0.0).to(tl.float32)[None, :]
        real_a, real_b, imag_a, imag_b = blocks(
            codes, scales, conj_codes, conj_scales, row, byte, rows, width, STAGES, CONJ_STAGES, PER_ROW, M, BYTES
        )
        real += tl.sum(real_a * a + real_b * b, axis=1)
        imag += tl.sum(imag_a * a + imag_b * b, axis=1)
    tl.store(out + row, real.to(out.dtype.element_ty), mask=row < rows)
    tl.store(out + rows + row, imag.to(out.dtype.element_ty), mask=row < rows)


@triton.jit
def low_bit_many(
    x, out, codes, scales, conj_codes, conj_scales, rows, columns, width, count, chunk,
    STAGES: tl.constexpr, CONJ_STAGES: tl.constexpr, PER_ROW: tl.constexpr, M: tl.constexpr, BYTES: tl.constexpr,
    N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Multiply M rows by N inputs with tensor cores, over ``chunk`` bytes: weights in the dtype of x, sums in float32.

    Programs of the last axis write a sum of their own, ``out [chunks, count, 2 rows]``.
    """
    row = tl.program_id(0) * M + tl.arange(0, M)
    item = tl.program_id(1) * N + tl.arange(0, N)
    start = tl.program_id(2) * chunk
    x += item.to(tl.int64)[None, :] * 2 * columns
    real, imag = tl.zeros([M, N], tl.float32), tl.zeros([M, N], tl.float32)
    for first in range(start, tl.minimum(start + chunk, width), BYTES):
        byte, column = first + tl.arange(0, BYTES), 4 * first + tl.arange(0, 4 * BYTES)
        inside = (column < columns)[:, None] & (item < count)[None, :]
        a = tl.load(x + column[:, None], mask=inside, other=0.0)
        b = tl.load(x + columns + column[:, None], mask=inside, other=0.0)
        real_a, real_b, imag_a, imag_b = blocks(
            codes, scales, conj_codes, conj_scales, row, byte, rows, width, STAGES, CONJ_STAGES, PER_ROW, M, BYTES
        )
        real = tl.dot(real_a.to(a.dtype), a, real, input_precision=PRECISION)
        real = tl.dot(real_b.to(a.dtype), b, real, input_precision=PRECISION)
        imag = tl.dot(imag_a.to(a.dtype), a, imag, input_precision=PRECISION)
        imag = tl.dot(imag_b.to(a.dtype), b, imag, input_precision=PRECISION)
    places = (tl.program_id(2).to(tl.int64) * count + item)[None, :] * 2 * rows + row[:, None]
    inside = (row < rows)[:, None] & (item < count)[None, :]
    tl.store(out + places, real.to(out.dtype.element_ty), mask=inside)
    tl.store(out + places + rows, imag.to(out.dtype.element_ty), mask=inside)


@triton.jit
def low_bit_matrix(
    matrix, codes, scales, conj_codes, conj_scales, rows, columns, width,
    STAGES: tl.constexpr, CONJ_STAGES: tl.constexpr, PER_ROW: tl.constexpr, M: tl.constexpr, BYTES: tl.constexpr,
):  # fmt: skip
    """Write the real matrix of the weights, ``[2 rows, 2 columns]``."""
    row = tl.program_id(0) * M + tl.arange(0, M)
    byte = tl.program_id(1) * BYTES + tl.arange(0, BYTES)
    column = tl.program_id(1) * 4 * BYTES + tl.arange(0, 4 * BYTES)
    real_a, real_b, imag_a, imag_b = blocks(
        codes, scales, conj_codes, conj_scales, row, byte, rows, width, STAGES, CONJ_STAGES, PER_ROW, M, BYTES
    )
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    upper = matrix + row.to(tl.int64)[:, None] * 2 * columns + column[None, :]
    lower = matrix + (row.to(tl.int64) + rows)[:, None] * 2 * columns + column[None, :]
    tl.store(upper, real_a.to(matrix.dtype.element_ty), mask=inside)
    tl.store(upper + columns, real_b.to(matrix.dtype.element_ty), mask=inside)
    tl.store(lower, imag_a.to(matrix.dtype.element_ty), mask=inside)
    tl.store(lower + columns, imag_b.to(matrix.dtype.element_ty), mask=inside)
