# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Products of complex matrices from their parts: the block matrix [[A, -B], [B, A]] is never made.

Four products of tiles, added up in float32. Three (Gauss) would need A + B and B - A, which half precision rounds.
"""

import triton
import triton.language as tl


@triton.jit
def product(
    x_real, x_imag, y_real, y_imag, bias, out,
    x_strides, y_strides, o_strides,
    rows, columns, inner,
    CONJUGATE: tl.constexpr, HAS_BIAS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Halves ``[rows, 2 columns]`` of x y^T, or x y^H, for x ``[rows, inner]`` and y ``[columns, inner]``."""
    blocks = tl.cdiv(columns, N)
    m = (tl.program_id(0) // blocks) * M + tl.arange(0, M)
    n = (tl.program_id(0) % blocks) * N + tl.arange(0, N)
    real = tl.zeros([M, N], tl.float32)
    imag = tl.zeros([M, N], tl.float32)
    x_rows = m.to(tl.int64)[:, None] * x_strides[0]
    y_columns = n.to(tl.int64)[None, :] * y_strides[0]
    for first in range(0, inner, K):
        k = (first + tl.arange(0, K)).to(tl.int64)
        x_inside = (m < rows)[:, None] & (k < inner)[None, :]
        y_inside = (k < inner)[:, None] & (n < columns)[None, :]
        x_places = x_rows + k[None, :] * x_strides[1]
        y_places = y_columns + k[:, None] * y_strides[1]
        a = tl.load(x_real + x_places, mask=x_inside, other=0.0)
        b = tl.load(x_imag + x_places, mask=x_inside, other=0.0)
        c = tl.load(y_real + y_places, mask=y_inside, other=0.0)
        d = tl.load(y_imag + y_places, mask=y_inside, other=0.0)
        if CONJUGATE:  # (a + ib) (c - id)
            b_real, b_imag = d, -d
        else:  # (a + ib) (c + id)
            b_real, b_imag = -d, d
        real += tl.dot(a, c)
        real += tl.dot(b, b_real)
        imag += tl.dot(b, c)
        imag += tl.dot(a, b_imag)
    if HAS_BIAS:
        real += tl.load(bias + n, mask=n < columns, other=0.0).to(tl.float32)[None, :]
        imag += tl.load(bias + columns + n, mask=n < columns, other=0.0).to(tl.float32)[None, :]
    places = out + m.to(tl.int64)[:, None] * o_strides[0] + n[None, :] * o_strides[1]
    inside = (m < rows)[:, None] & (n < columns)[None, :]
    tl.store(places, real.to(out.dtype.element_ty), mask=inside)
    tl.store(places + columns * o_strides[1], imag.to(out.dtype.element_ty), mask=inside)
