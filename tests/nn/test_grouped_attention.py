# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Grouped-query attention and the gated feed-forward network against loops of numpy in complex128."""

import itertools

import numpy as np
import pytest
import torch

from complex_transformers.nn import GatedFeedForward, GroupedQueryAttention, RotaryPositions, rms_norm
from oracles import assert_close, assert_refused, bias, numbers, of_parts, r, randn, randomize, softmax, weight

LINEAR = {"complex": ("complex", "conjugate", "widely_linear"), "real": ("real",)}


def applied(layer, values):
    """W z + b, W conj(z) + b or U z + V conj(z) + b of ``[..., features]``."""
    name = type(layer).__name__
    out = (values.conj() if name == "ConjugateLinear" else values) @ weight(layer).T + bias(layer)
    if name == "WidelyLinear":
        out = out + values.conj() @ (r(layer.conj_real.weight) + 1j * r(layer.conj_imag.weight)).T
    return out


def normalized(norm, values, scale, eps=1e-6):
    """By the mean of |z|^2, or by half of it, which is the mean square of the parts; a gain for each part."""
    if norm is None:
        return values
    square = (np.abs(values) ** 2).mean(-1, keepdims=True)
    if np.iscomplexobj(values) and scale == "stored":
        square = square / 2
    out, gain = values / np.sqrt(square + eps), r(norm.weight)
    if not np.iscomplexobj(values):
        return out * gain
    half = len(gain) // 2
    return out.real * gain[:half] + 1j * out.imag * gain[half:]


def turned(values, theta, field):
    """Features ``[T, D]`` turned by their positions; a real head of 2D is D pairs (k, k + D)."""
    pairs = (
        values if field == "complex" else values[:, : values.shape[1] // 2] + 1j * values[:, values.shape[1] // 2 :]
    )
    angles = np.arange(len(pairs))[:, None] * theta ** (-np.arange(pairs.shape[1]) / pairs.shape[1])
    out = pairs * np.exp(1j * angles)
    return out if field == "complex" else np.concatenate([out.real, out.imag], axis=1)


def scores_of(query, key, score):
    product = query @ (key if score == "bilinear_modulus" else key.conj()).T
    return product.real if score == "real" else np.abs(product)


def attention_oracle(layer, values, field, scale, norm_scale, theta):
    """One text ``[T, features]``, head by head."""
    groups = layer.num_heads // layer.num_key_value_heads
    d = layer.head_dim // 2 if field == "complex" else layer.head_dim

    def head(projection, norm, index):
        out = applied(projection, values)
        if norm is not False and layer.qk_norm == "all_heads":
            out, norm = normalized(norm, out, norm_scale), False
        out = out.reshape(len(values), -1, d)[:, index]
        return out if norm is False else normalized(norm, out, norm_scale)

    contexts = []
    for index in range(layer.num_heads):
        query = turned(head(layer.q_proj, layer.q_norm, index), theta, field)
        key = turned(head(layer.k_proj, layer.k_norm, index // groups), theta, field)
        scores = scores_of(query, key, layer.score) * scale
        scores = scores if layer.softcap is None else layer.softcap * np.tanh(scores / layer.softcap)
        weights = softmax(np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf))
        contexts.append(weights @ head(layer.v_proj, False, index // groups))
    return applied(layer.o_proj, normalized(layer.sub_norm, np.concatenate(contexts, axis=1), norm_scale))


CASES = [
    ("complex", {}),
    ("complex", {"linear_type": "conjugate", "sub_norm": True, "bias": True}),
    ("complex", {"linear_type": "widely_linear", "norm_scale": "stored", "qk_norm": True, "scaling": 0.3}),
    ("complex", {"score": "modulus", "head_dim": 6, "qk_norm": True, "num_key_value_heads": 4}),
    ("complex", {"score": "bilinear_modulus", "num_key_value_heads": 1}),
    ("complex", {"softcap": 0.7, "qk_norm": "all_heads", "norm_scale": "stored"}),
    ("complex", {"score": "modulus", "softcap": 0.7}),
    ("real", {"softcap": 0.7, "qk_norm": "all_heads"}),
    ("real", {"bias": True, "output_bias": False, "qk_norm": True}),
    ("real", {"head_dim": 6, "sub_norm": True, "num_key_value_heads": 1}),
]


@pytest.mark.parametrize(("field", "changes"), CASES, ids=str)
def test_attention(field, changes):
    options = {"num_key_value_heads": 2, **changes}
    layer = randomize(GroupedQueryAttention(16, 4, number_field=field, **options)).double()
    x = randn(2, 5, 16)
    factors = RotaryPositions(layer.head_dim // 2, 50.0)(torch.arange(5)[None], torch.float64)
    d = layer.head_dim // 2 if field == "complex" else layer.head_dim
    scale, norm_scale = changes.get("scaling", d**-0.5), changes.get("norm_scale")
    out, weights = layer(x, factors=factors)
    assert weights.shape == (2, 4, 5, 5)
    for text, found in zip(numbers(field, x), numbers(field, out), strict=True):
        assert_close(found, attention_oracle(layer, text, field, scale, norm_scale, 50.0), 1e-10)


def test_biases_are_where_they_are_asked_for():
    for bias_, output_bias in itertools.product((False, True), (None, False, True)):
        layer = GroupedQueryAttention(16, 4, bias=bias_, output_bias=output_bias)
        assert (layer.q_proj.bias is not None) is (layer.v_proj.bias is not None) is bias_
        assert (layer.o_proj.bias is not None) is (bias_ if output_bias is None else output_bias)


def activated(name, values):
    """SiLU of both parts, or squares of the parts where one of them is positive."""
    if name == "split_silu":
        return of_parts(lambda v: v / (1.0 + np.exp(-v)), values)
    alive = (values.real > 0) | (values.imag > 0)
    square = of_parts(np.square, values)
    return np.where(alive, square, 0.0)


PRODUCTS = {
    "complex": lambda a, u: a * u,
    "conj": lambda a, u: a.conj() * u,
    "parts": lambda a, u: a.real * u.real + 1j * a.imag * u.imag if np.iscomplexobj(a) else a * u,
}


@pytest.mark.parametrize("activation", ["split_silu", "relu2"])
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize(("field", "linear"), [(field, name) for field, names in LINEAR.items() for name in names])
def test_feed_forward(field, linear, product, activation):
    if field == "real" and product != "parts":
        assert_refused(f"gate_product must be 'parts' .* got '{product}'", GatedFeedForward, 8, 12,
                       gate_product=product, number_field="real")  # fmt: skip
        return
    for sub_norm in (False, True):
        options = {"linear_type": linear, "sub_norm": sub_norm, "bias": sub_norm, "number_field": field}
        layer = randomize(GatedFeedForward(8, 12, activation, product, **options)).double()
        x = randn(3, 8)
        values = numbers(field, x)
        gated = PRODUCTS[product](
            activated(activation, applied(layer.gate_proj, values)), applied(layer.up_proj, values)
        )
        assert_close(
            numbers(field, layer(x)), applied(layer.down_proj, normalized(layer.sub_norm, gated, None)), 1e-10
        )


def test_bad_values():
    assert_refused("num_key_value_heads must divide num_attention_heads=4, got 3", GroupedQueryAttention, 16, 4, 3)
    assert_refused(
        "num_attention_heads must divide the width 16, got 3. Or set head_dim", GroupedQueryAttention, 16, 3
    )
    assert_refused("head_dim .* must be even, got 5", GroupedQueryAttention, 16, 4, head_dim=5)
    assert_refused("attention_score must be one of", GroupedQueryAttention, 16, 4, score="xavier")
    assert_refused(
        "attention_score must be 'real' .* with number_field='real'",
        GroupedQueryAttention,
        16,
        4,
        score="modulus",
        number_field="real",
    )
    assert_refused("gate_product must be one of", GatedFeedForward, 8, 12, gate_product="xavier")
    assert_refused("norm_scale must be one of", rms_norm, 8, 1e-6, "xavier")
    assert_refused(
        "norm_scale must be 'stored' with number_field='real', got 'modulus'", rms_norm, 8, 1e-6, "modulus", "real"
    )
