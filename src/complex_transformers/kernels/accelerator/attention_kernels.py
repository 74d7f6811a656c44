# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention by complex scores in one pass over the keys (Dao, *FlashAttention-2*, ICLR 2024): scores are never stored.

A score of ``[real | imag]`` halves is made of two real products: Re = a . k and Im = b . k, where a and b are the
query with its halves in place or exchanged and one of them negated (``pair``). Tiles are M queries by N keys; products
accumulate in float32 whatever the dtype. Masked scores have the lowest float32 value, as in the plain formula, so a
fully masked query attends to all keys equally.

Softmax weights are 2^((score - maximum) factor). If SCALED, scores and maxima include the scaling, as an additive mask
needs, and the factor is log2(e); otherwise they are moduli and the factor is scaling log2(e). The difference is taken
before the product, whose rounding would keep the largest score from cancelling exactly.

If SIGMOID, weights are sigmoid(score + bias) with one bias for all scores. They need no maxima and sums, so a masked
key has weight 0 and a gradient of 0. Scores are then SCALED. REAL scores have the product Re only.

The kernels do not read ``bucket``, the length class that is part of the key of the autotuner.
"""

import triton
import triton.language as tl

from .half_kernels import number_of

# Codes of scores and masks, as the launcher passes them.
MODULUS, BILINEAR, REAL = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
NO_MASK, BOOLEAN = tl.constexpr(0), tl.constexpr(1)

LOG2_E = tl.constexpr(1.4426950408889634)
LOWEST = tl.constexpr(-3.4028234663852886e38)
HIGHEST = tl.constexpr(3.4028234663852886e38)
# Scores whose squares would overflow float32 are divided by 2^64 first.
LARGE, SHRINK, GROW = tl.constexpr(1e18), tl.constexpr(2.0**-64), tl.constexpr(2.0**64)
TINY = tl.constexpr(1.1754943508222875e-38)


@triton.jit
def tile(pointer, rows, columns, strides, num_rows, inside):
    """Load ``[rows, columns]`` of a matrix, with 0 outside of it."""
    places = pointer + rows.to(tl.int64)[:, None] * strides[2] + columns[None, :] * strides[3]
    return tl.load(places, mask=(rows < num_rows)[:, None] & inside[None, :], other=0.0)


@triton.jit
def pair(pointer, rows, columns, inside, strides, num_rows, width, SCORE: tl.constexpr):
    """Load the two operands whose products with the keys are Re and Im of the score.

    q k^H: a = q, b = [q_im | -q_re]. q k^T: a = [q_re | -q_im], b = [q_im | q_re]. REAL scores have no b.
    """
    first = tile(pointer, rows, columns, strides, num_rows, inside)
    second = first
    if SCORE != REAL:
        half = width // 2
        is_imag = (columns >= half)[None, :]
        exchanged = tl.where(columns >= half, columns - half, columns + half)
        second = tile(pointer, rows, exchanged, strides, num_rows, inside)
        if SCORE == BILINEAR:
            first = tl.where(is_imag, -first, first)
        else:
            second = tl.where(is_imag, -second, second)
    return first, second


@triton.jit
def halves(x):
    """Split ``[M, D]`` into its first and its last D / 2 columns."""
    return tl.split(tl.permute(tl.reshape(x, (x.shape[0], 2, x.shape[1] // 2)), (0, 2, 1)))


@triton.jit
def of_query(of_real, of_imag, SCORE: tl.constexpr):
    """Compute the gradient of a query from the products of the gradients of Re and Im of the scores with the keys."""
    result = of_real
    if SCORE != REAL:
        real_real, real_imag = halves(of_real)
        imag_real, imag_imag = halves(of_imag)
        if SCORE == BILINEAR:
            real, imag = real_real + imag_imag, imag_real - real_imag
        else:
            real, imag = real_real - imag_imag, imag_real + real_imag
        result = tl.reshape(tl.permute(tl.join(real, imag), (0, 2, 1)), of_real.shape)
    return result


@triton.jit
def polar(real, imag):
    """Compute |s| and the parts of s / |s|, which decrease to 0 below |s| = 1e-19."""
    large = tl.maximum(tl.abs(real), tl.abs(imag)) > LARGE
    factor = tl.where(large, SHRINK, 1.0)
    real *= factor
    imag *= factor
    square = real * real + imag * imag
    inverse = tl.rsqrt(tl.maximum(square, TINY))
    modulus = square * inverse * tl.where(large, GROW, 1.0)
    return tl.minimum(modulus, HIGHEST, propagate_nan=tl.PropagateNan.ALL), real * inverse, imag * inverse


@triton.jit
def polar_of_half(real, imag, BOUNDED: tl.constexpr):
    """Compute the same to the precision of half dtypes, without rescaling.

    Scores of float16 are BOUNDED: 256 products are below 2e12. bfloat16 has the range of float32, so moduli are
    limited to 1.8e19, beyond which their gradient is 0.
    """
    square = real * real + (imag * imag + TINY)
    limited = square if BOUNDED else tl.minimum(square, HIGHEST, propagate_nan=tl.PropagateNan.ALL)
    inverse = tl.rsqrt(limited)
    modulus = limited * inverse
    if not BOUNDED:
        inverse = tl.where(square > HIGHEST, 0.0, inverse)
    return modulus, real * inverse, imag * inverse


@triton.jit
def masked(
    score, mask, row, column, rows, columns, strides, length, size, lowest, MASK: tl.constexpr, CAUSAL: tl.constexpr
):
    """Mask scores ``[M, N]``; entries beyond the keys are minus infinity."""
    inside = (columns < size)[None, :]
    if MASK != NO_MASK:
        places = mask + rows.to(tl.int64)[:, None] * strides[2] + columns[None, :] * strides[3]
        given = tl.load(places, mask=(rows < length)[:, None] & inside, other=0)
        if MASK == BOOLEAN:
            score = tl.where(given != 0, score, LOWEST)
        else:
            added = given.to(tl.float32)
            total = tl.maximum(score + added, LOWEST, propagate_nan=tl.PropagateNan.ALL)
            score = tl.where(added <= lowest, LOWEST, total)
    is_cut = column + score.shape[1] > size
    if CAUSAL:
        is_cut = is_cut | (column + score.shape[1] - 1 > row + (size - length))
    if is_cut:  # tiles below the diagonal and within the keys need no comparison
        if CAUSAL:
            score = tl.where(columns[None, :] <= rows[:, None] + (size - length), score, LOWEST)
        score = tl.where(inside, score, -float("inf"))
    return score


@triton.jit
def scores(
    a, b, keys, mask, row, column, rows, columns, strides, scale, shift, length, size, lowest,
    SCORE: tl.constexpr, SIGMOID: tl.constexpr, SCALED: tl.constexpr, MASK: tl.constexpr, CAUSAL: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute masked scores ``[M, N]``, with the scaling if SCALED and the bias if SIGMOID, and s / |s|."""
    real = tl.dot(a, tl.trans(keys), input_precision=PRECISION)
    score, imag = real, real
    if SCORE != REAL:
        imag = tl.dot(b, tl.trans(keys), input_precision=PRECISION)
        if a.dtype == tl.float32:
            score, real, imag = polar(real, imag)
        else:
            score, real, imag = polar_of_half(real, imag, a.dtype == tl.float16)
    if SCALED:
        score *= scale
    if SIGMOID:
        score += shift
    score = masked(score, mask, row, column, rows, columns, strides, length, size, lowest, MASK, CAUSAL)
    return score, real, imag


@triton.jit
def kept(seed, place, rows, columns, size, dropout):
    """Draw dropout factors, 0 or 1 / (1 - dropout), reproducibly by position."""
    drawn = tl.rand(number_of(seed) + place, rows[:, None] * size + columns[None, :])
    return tl.where(drawn >= dropout, 1.0 / (1.0 - dropout), 0.0)


@triton.jit
def factor_of(scale, SCALED: tl.constexpr):
    """Return the factor of score differences in exponents of 2."""
    factor = LOG2_E
    if not SCALED:
        factor *= scale
    return factor


@triton.jit
def shift_of(bias, SIGMOID: tl.constexpr):
    """Load the bias of a sigmoid."""
    shift = 0.0
    if SIGMOID:
        shift = tl.load(bias).to(tl.float32)
    return shift


@triton.jit
def sigmoid(score):
    """Compute 1 / (1 + exp(-score)), which is exactly 0 for the lowest scores."""
    return 1.0 / (1.0 + tl.exp2(score * -LOG2_E))


@triton.jit
def weights_of(score, largest, total, factor, SIGMOID: tl.constexpr):
    """Compute the softmax from saved row maxima and sums; rounding may not raise a score above the maximum."""
    if SIGMOID:
        weights = sigmoid(score)
    else:
        exponent = tl.minimum((score - largest[:, None]) * factor, 0.0, propagate_nan=tl.PropagateNan.ALL)
        weights = tl.exp2(exponent) * (1.0 / total)[:, None]
    return weights


@triton.jit
def gradient_of_scores(score, weights, of_weights, products, SIGMOID: tl.constexpr, MASK: tl.constexpr):
    """Compute w (dw - sum w dw), where sum w dw = out . grad; 0 in rows whose keys are all masked.

    If SIGMOID it is w (1 - w) dw.
    """
    if SIGMOID:
        result = weights * (1.0 - weights) * of_weights
    else:
        result = weights * (of_weights - products[:, None])
        if MASK != NO_MASK:
            result = tl.where(score > LOWEST, result, 0.0)
    return result


@triton.jit
def offset(strides, batch, head):
    """Return the offset of a matrix of ``[B, H, rows, columns]``."""
    return batch.to(tl.int64) * strides[0] + head.to(tl.int64) * strides[1]


@triton.jit(do_not_specialize=["seed", "bucket"])
def forward(
    query, key, value, mask, bias, out, row_max, row_sum,
    q_strides, k_strides, v_strides, m_strides, o_strides,
    heads, groups, length, size, width, value_width, scale, lowest, dropout, seed, bucket,
    SCORE: tl.constexpr, SIGMOID: tl.constexpr, SCALED: tl.constexpr, MASK: tl.constexpr, CAUSAL: tl.constexpr,
    DROPOUT: tl.constexpr, PRECISION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    """Compute the context of M queries of a head, with their row maxima and row sums of exponentials."""
    blocks = tl.cdiv(length, M)
    place = tl.program_id(0) // blocks
    batch, head = place // heads, place % heads
    start = (tl.program_id(0) % blocks) * M
    rows, d, c = start + tl.arange(0, M), tl.arange(0, D), tl.arange(0, V)
    key += offset(k_strides, batch, head // groups)
    value += offset(v_strides, batch, head // groups)
    mask += offset(m_strides, batch, head)
    a, b = pair(query + offset(q_strides, batch, head), rows, d, d < width, q_strides, length, width, SCORE)

    factor, shift = factor_of(scale, SCALED), shift_of(bias, SIGMOID)
    largest = tl.full([M], -float("inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    context = tl.zeros([M, V], tl.float32)
    end = size
    if CAUSAL:
        end = tl.minimum(size, start + M + size - length)
    for first in range(0, end, N):
        columns = first + tl.arange(0, N)
        keys = tile(key, columns, d, k_strides, size, d < width)
        score, _, _ = scores(
            a, b, keys, mask, start, first, rows, columns, m_strides, scale, shift, length, size, lowest,
            SCORE, SIGMOID, SCALED, MASK, CAUSAL, PRECISION,
        )  # fmt: skip
        if SIGMOID:
            weights = sigmoid(score)
        else:
            new = tl.maximum(largest, tl.max(score, 1))
            shrink = tl.exp2((largest - new) * factor)
            weights = tl.exp2((score - new[:, None]) * factor)
            total = total * shrink + tl.sum(weights, 1)
            largest = new
        if DROPOUT:
            weights *= kept(seed, place, rows, columns, size, dropout)
        values = tile(value, columns, c, v_strides, size, c < value_width)
        if not SIGMOID:
            context = context * shrink[:, None]
        context += tl.dot(weights.to(values.dtype), values, input_precision=PRECISION)
    if not SIGMOID:
        context = context / total[:, None]
        tl.store(row_max + place.to(tl.int64) * length + rows, largest, mask=rows < length)
        tl.store(row_sum + place.to(tl.int64) * length + rows, total, mask=rows < length)
    places = (
        out + offset(o_strides, batch, head) + rows.to(tl.int64)[:, None] * o_strides[2] + c[None, :] * o_strides[3]
    )
    inside = (rows < length)[:, None] & (c < value_width)[None, :]
    tl.store(places, context.to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["seed", "bucket"])
def backward_query(
    query, key, value, mask, bias, out, row_max, row_sum, grad, inner, grad_query,
    q_strides, k_strides, v_strides, m_strides, o_strides, g_strides, gq_strides,
    heads, groups, length, size, width, value_width, scale, lowest, dropout, seed, bucket,
    SCORE: tl.constexpr, SIGMOID: tl.constexpr, SCALED: tl.constexpr, MASK: tl.constexpr, CAUSAL: tl.constexpr,
    DROPOUT: tl.constexpr, PRECISION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of M queries, and out . grad per query for ``backward_key``.

    If SIGMOID, ``inner`` becomes the sum of the gradients of the scores of each query, for the bias.
    """
    blocks = tl.cdiv(length, M)
    place = tl.program_id(0) // blocks
    batch, head = place // heads, place % heads
    start = (tl.program_id(0) % blocks) * M
    rows, c = start + tl.arange(0, M), tl.arange(0, V)
    # Both halves are padded, so that they can be exchanged in registers.
    place_in_half = tl.arange(0, D) % (D // 2)
    d, inside_half = tl.arange(0, D) // (D // 2) * (width // 2) + place_in_half, place_in_half < width // 2
    key += offset(k_strides, batch, head // groups)
    value += offset(v_strides, batch, head // groups)
    mask += offset(m_strides, batch, head)
    a, b = pair(query + offset(q_strides, batch, head), rows, d, inside_half, q_strides, length, width, SCORE)
    of_out = tile(grad + offset(g_strides, batch, head), rows, c, g_strides, length, c < value_width)
    row_places = place.to(tl.int64) * length + rows
    products = tl.zeros([M], tl.float32)
    largest, total = products, products
    if not SIGMOID:
        contexts = tile(out + offset(o_strides, batch, head), rows, c, o_strides, length, c < value_width)
        products = tl.sum(of_out.to(tl.float32) * contexts.to(tl.float32), 1)
        tl.store(inner + row_places, products, mask=rows < length)
        largest = tl.load(row_max + row_places, mask=rows < length, other=0.0)
        total = tl.load(row_sum + row_places, mask=rows < length, other=1.0)

    factor, shift = factor_of(scale, SCALED), shift_of(bias, SIGMOID)
    of_real = tl.zeros([M, D], tl.float32)
    of_imag = tl.zeros([M, D], tl.float32)
    end = size
    if CAUSAL:
        end = tl.minimum(size, start + M + size - length)
    for first in range(0, end, N):
        columns = first + tl.arange(0, N)
        keys = tile(key, columns, d, k_strides, size, inside_half)
        score, real, imag = scores(
            a, b, keys, mask, start, first, rows, columns, m_strides, scale, shift, length, size, lowest,
            SCORE, SIGMOID, SCALED, MASK, CAUSAL, PRECISION,
        )  # fmt: skip
        weights = weights_of(score, largest, total, factor, SIGMOID)
        values = tile(value, columns, c, v_strides, size, c < value_width)
        of_weights = tl.dot(of_out, tl.trans(values), input_precision=PRECISION)
        if DROPOUT:
            of_weights *= kept(seed, place, rows, columns, size, dropout)
        of_scores = gradient_of_scores(score, weights, of_weights, products, SIGMOID, MASK)
        if SIGMOID:
            products += tl.sum(of_scores, 1)
        if SCORE == REAL:
            of_real += tl.dot(of_scores.to(keys.dtype), keys, input_precision=PRECISION)
        else:
            of_real += tl.dot((of_scores * real).to(keys.dtype), keys, input_precision=PRECISION)
            of_imag += tl.dot((of_scores * imag).to(keys.dtype), keys, input_precision=PRECISION)
    if SIGMOID:
        tl.store(inner + row_places, products, mask=rows < length)
    result = of_query(of_real, of_imag, SCORE)
    places = grad_query + offset(gq_strides, batch, head) + rows.to(tl.int64)[:, None] * gq_strides[2]
    inside = (rows < length)[:, None] & inside_half[None, :]
    tl.store(places + d[None, :] * gq_strides[3], (result * scale).to(grad_query.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["seed", "bucket"])
def backward_key(
    query, key, value, mask, bias, row_max, row_sum, grad, inner, grad_key, grad_value,
    q_strides, k_strides, v_strides, m_strides, g_strides, gk_strides, gv_strides,
    heads, groups, length, size, width, value_width, scale, lowest, dropout, seed, bucket,
    SCORE: tl.constexpr, SIGMOID: tl.constexpr, SCALED: tl.constexpr, MASK: tl.constexpr, CAUSAL: tl.constexpr,
    DROPOUT: tl.constexpr, PRECISION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of N keys and values, summed over all query heads that share them."""
    blocks = tl.cdiv(size, N)
    place = tl.program_id(0) // blocks
    key_heads = heads // groups
    batch, key_head = place // key_heads, place % key_heads
    start = (tl.program_id(0) % blocks) * N
    columns, d, c = start + tl.arange(0, N), tl.arange(0, D), tl.arange(0, V)
    keys = tile(key + offset(k_strides, batch, key_head), columns, d, k_strides, size, d < width)
    values = tile(value + offset(v_strides, batch, key_head), columns, c, v_strides, size, c < value_width)
    factor, shift = factor_of(scale, SCALED), shift_of(bias, SIGMOID)
    of_keys = tl.zeros([N, D], tl.float32)
    of_values = tl.zeros([N, V], tl.float32)
    begin = 0
    if CAUSAL:  # earlier queries do not attend to these keys
        begin = tl.maximum(0, start - (size - length)) // M * M
    for member in range(groups):
        head = key_head * groups + member
        own_mask = mask + offset(m_strides, batch, head)
        row_start = (batch * heads + head).to(tl.int64) * length
        for first in range(begin, length, M):
            rows = first + tl.arange(0, M)
            a, b = pair(query + offset(q_strides, batch, head), rows, d, d < width, q_strides, length, width, SCORE)
            score, real, imag = scores(
                a, b, keys, own_mask, first, start, rows, columns, m_strides, scale, shift, length, size, lowest,
                SCORE, SIGMOID, SCALED, MASK, CAUSAL, PRECISION,
            )  # fmt: skip
            products = tl.zeros([M], tl.float32)
            largest, total = products, products
            if not SIGMOID:
                largest = tl.load(row_max + row_start + rows, mask=rows < length, other=float("inf"))
                total = tl.load(row_sum + row_start + rows, mask=rows < length, other=1.0)
                products = tl.load(inner + row_start + rows, mask=rows < length, other=0.0)
            weights = weights_of(score, largest, total, factor, SIGMOID)
            of_out = tile(grad + offset(g_strides, batch, head), rows, c, g_strides, length, c < value_width)
            of_weights = tl.dot(of_out, tl.trans(values), input_precision=PRECISION)
            used = weights
            if DROPOUT:
                factors = kept(seed, batch * heads + head, rows, columns, size, dropout)
                of_weights *= factors
                used *= factors
            of_values += tl.dot(tl.trans(used.to(of_out.dtype)), of_out, input_precision=PRECISION)
            of_scores = gradient_of_scores(score, weights, of_weights, products, SIGMOID, MASK)
            if SCORE == REAL:
                of_keys += tl.dot(tl.trans(of_scores.to(a.dtype)), a, input_precision=PRECISION)
            else:
                of_keys += tl.dot(tl.trans((of_scores * real).to(a.dtype)), a, input_precision=PRECISION)
                of_keys += tl.dot(tl.trans((of_scores * imag).to(a.dtype)), b, input_precision=PRECISION)
    places = grad_key + offset(gk_strides, batch, key_head) + columns.to(tl.int64)[:, None] * gk_strides[2]
    inside = (columns < size)[:, None]
    tl.store(
        places + d[None, :] * gk_strides[3],
        (of_keys * scale).to(grad_key.dtype.element_ty),
        mask=inside & (d < width)[None, :],
    )
    places = grad_value + offset(gv_strides, batch, key_head) + columns.to(tl.int64)[:, None] * gv_strides[2]
    tl.store(
        places + c[None, :] * gv_strides[3],
        of_values.to(grad_value.dtype.element_ty),
        mask=inside & (c < value_width)[None, :],
    )


@triton.jit(do_not_specialize=["seed"])
def keep_factors(out, length, size, dropout, seed, M: tl.constexpr, N: tl.constexpr):
    """Store the dropout factors of the other kernels, ``[B, H, T, S]``, for double backward."""
    blocks, across = tl.cdiv(length, M), tl.cdiv(size, N)
    place = tl.program_id(0) // (blocks * across)
    rows = (tl.program_id(0) // across % blocks) * M + tl.arange(0, M)
    columns = (tl.program_id(0) % across) * N + tl.arange(0, N)
    places = out + (place.to(tl.int64) * length + rows)[:, None] * size + columns[None, :]
    factors = kept(seed, place, rows, columns, size, dropout)
    tl.store(places, factors, mask=(rows < length)[:, None] & (columns < size)[None, :])
