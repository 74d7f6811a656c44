# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Fused embedding r exp(i (omega pos + theta)) and its gradients, without intermediate tensors."""

import triton
import triton.language as tl

TWO_PI = tl.constexpr(6.283185307179586)


@triton.jit
def rows_of(table, words, features, strides, inside):
    """Load ``[tokens, features]`` of a table, with 0 outside; shared axes have stride 0."""
    places = table + words[:, None] * strides[0] + features[None, :] * strides[1]
    return tl.load(places, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def angles(
    frequency, phase, words, positions, features, f_strides, p_strides, inside, F: tl.constexpr, P: tl.constexpr
):
    """Compute omega pos + theta with the product reduced modulo 2 pi in float64."""
    angle = tl.zeros([inside.shape[0], inside.shape[1]], tl.float32)
    if F:
        cycles = rows_of(frequency, words, features, f_strides, inside).to(tl.float64)
        cycles = cycles * (positions.to(tl.float64) / TWO_PI)[:, None]
        angle += ((cycles - tl.floor(cycles + 0.5)) * TWO_PI).to(tl.float32)
    if P:
        angle += rows_of(phase, words, features, p_strides, inside)
    return angle


@triton.jit
def scatter(table, values, words, features, strides, inside, BY_WORD: tl.constexpr, BY_FEATURE: tl.constexpr):
    """Add ``[tokens, features]`` to the rows of a float32 table, summed over shared axes."""
    values = tl.where(inside, values, 0.0)
    if BY_WORD and BY_FEATURE:
        tl.atomic_add(table + words[:, None] * strides[0] + features[None, :] * strides[1], values, mask=inside)
    elif BY_WORD:
        tl.atomic_add(table + words * strides[0], tl.sum(values, 1), mask=tl.max(inside.to(tl.int32), 1) > 0)
    elif BY_FEATURE:
        tl.atomic_add(table + features * strides[1], tl.sum(values, 0), mask=tl.max(inside.to(tl.int32), 0) > 0)
    else:
        tl.atomic_add(table, tl.sum(values))


@triton.jit
def forward(
    ids, positions, amplitude, frequency, phase, out,
    a_strides, f_strides, p_strides,
    tokens, width, vocabulary,
    F: tl.constexpr, P: tl.constexpr, T: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Compute T tokens by D features of halves ``[tokens, 2 width]``; NaN for ids outside the vocabulary."""
    token = (tl.program_id(0) * T + tl.arange(0, T)).to(tl.int64)
    feature = tl.program_id(1) * D + tl.arange(0, D)
    inside = (token < tokens)[:, None] & (feature < width)[None, :]
    words = tl.load(ids + token, mask=token < tokens, other=0)
    places = tl.load(positions + token, mask=token < tokens, other=0)
    known = inside & ((words >= 0) & (words < vocabulary))[:, None]
    size = tl.where(known, rows_of(amplitude, words, feature, a_strides, known), float("nan"))
    angle = angles(frequency, phase, words, places, feature, f_strides, p_strides, known, F, P)
    targets = out + token[:, None] * (2 * width) + feature[None, :]
    tl.store(targets, (size * tl.cos(angle)).to(out.dtype.element_ty), mask=inside)
    tl.store(targets + width, (size * tl.sin(angle)).to(out.dtype.element_ty), mask=inside)


@triton.jit
def backward(
    ids, positions, amplitude, frequency, phase, grad, grad_amplitude, grad_frequency, grad_phase,
    a_strides, f_strides, p_strides,
    tokens, width, vocabulary, padding,
    F: tl.constexpr, P: tl.constexpr, A_WORD: tl.constexpr, A_FEATURE: tl.constexpr, F_WORD: tl.constexpr,
    F_FEATURE: tl.constexpr, P_WORD: tl.constexpr, P_FEATURE: tl.constexpr, T: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Accumulate the gradients of the tables in float32; the amplitude of the id ``padding`` has none."""
    token = (tl.program_id(0) * T + tl.arange(0, T)).to(tl.int64)
    feature = tl.program_id(1) * D + tl.arange(0, D)
    words = tl.load(ids + token, mask=token < tokens, other=-1)
    places = tl.load(positions + token, mask=token < tokens, other=0)
    inside = ((words >= 0) & (words < vocabulary))[:, None] & (feature < width)[None, :]
    size = rows_of(amplitude, words, feature, a_strides, inside)
    angle = angles(frequency, phase, words, places, feature, f_strides, p_strides, inside, F, P)
    sources = grad + token[:, None] * (2 * width) + feature[None, :]
    real = tl.load(sources, mask=inside, other=0.0).to(tl.float32)
    imag = tl.load(sources + width, mask=inside, other=0.0).to(tl.float32)
    cos, sin = tl.cos(angle), tl.sin(angle)
    trained = inside & (words != padding)[:, None]
    scatter(grad_amplitude, real * cos + imag * sin, words, feature, a_strides, trained, A_WORD, A_FEATURE)
    of_angle = size * (imag * cos - real * sin)
    if F:
        of_frequency = of_angle * places.to(tl.float32)[:, None]
        scatter(grad_frequency, of_frequency, words, feature, f_strides, inside, F_WORD, F_FEATURE)
    if P:
        scatter(grad_phase, of_angle, words, feature, p_strides, inside, P_WORD, P_FEATURE)
