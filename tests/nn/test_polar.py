# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Polar positions and imaginary heads against loops over the formulas of their papers in complex128."""

import math

import numpy as np
import pytest
import torch

from complex_transformers import optimizer_groups
from complex_transformers.nn import GroupedQueryAttention, PolarHeads, RotaryPositions, RotaryWordPositions
from oracles import assert_close, assert_refused, numbers, r, randn, randomize, softmax, weight

THETA = 50.0
both_fields = pytest.mark.parametrize("field", ["complex", "real"])


def features_of(width, field):
    return width // 2 if field == "complex" else width


def stored(values):
    """Return the numbers of a head as they are stored: real parts, then imaginary parts."""
    return np.concatenate([values.real, values.imag]) if np.iscomplexobj(values) else values


def modulus_of(value):
    """softplus (PoPE)."""
    return math.log1p(math.exp(value))


def polar_score(query, key, t, s, phase, offsets):
    """The paper's a_ts = sum_c m_q m_k cos((s - t) theta_c + delta_c), one number at a time.

    ``offsets [T, h]`` are the offsets of theta_c that the token at each position has (``polar_word``).
    """
    total, query, key = 0.0, stored(query), stored(key)
    for c in range(len(query)):
        delta = min(0.0, max(-2.0 * math.pi, phase[c]))
        theta = THETA ** (-c / len(query))
        angle = s * (theta + offsets[s, c]) - t * (theta + offsets[t, c]) + delta
        total += modulus_of(query[c].item()) * modulus_of(key[c].item()) * math.cos(angle)
    return total


def contexts_of(scores, values):
    causal = np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf)
    return softmax(causal) @ values


def heads_of(layer, projection, sequence, field):
    """The heads of one sequence, ``[T, features of a head]`` each."""
    out = sequence @ weight(projection).T
    return np.split(out, out.shape[1] // features_of(layer.head_dim, field), axis=1)


@both_fields
@pytest.mark.parametrize("has_words", [False, True])
def test_polar_attention_is_the_formula_of_the_paper(field, has_words):
    layer = randomize(GroupedQueryAttention(16, 4, 2, polar=True, number_field=field)).double()
    features = features_of(4, field)
    x, places = randn(2, 5, 16), torch.arange(5)[None]
    if has_words:
        words, positions = torch.tensor([[3, 0, 3, 1, 2], [2, 2, 1, 0, 3]]), RotaryWordPositions(4, 4, THETA)
        randomize(positions)
        factors, offsets = positions(words, places, torch.float64), r(positions.frequency)[words]
        assert abs(offsets).min() > 0
    else:
        factors, offsets = RotaryPositions(4, THETA)(places, torch.float64), np.zeros((2, 5, 4))
    out, _ = layer(x, factors=factors)
    for sequence, found, offset in zip(numbers(field, x), numbers(field, out), offsets, strict=True):
        queries, keys, values = (
            heads_of(layer, each, sequence, field) for each in (layer.q_proj, layer.k_proj, layer.v_proj)
        )
        contexts = []
        for head, query in enumerate(queries):
            key, phase = keys[head // 2], r(layer.polar.phase)[head // 2]
            scores = [[polar_score(query[t], key[s], t, s, phase, offset) for s in range(5)] for t in range(5)]
            contexts.append(contexts_of(np.array(scores) * features**-0.5, values[head // 2]))
        assert_close(found, np.concatenate(contexts, axis=1) @ weight(layer.o_proj).T, 1e-10)


@both_fields
@pytest.mark.parametrize("kind", ["equal_heads", "equal_cache"])
def test_imaginary_heads_score_the_imaginary_part(field, kind):
    layer = randomize(GroupedQueryAttention(16, 4, 2, imaginary_heads=kind, number_field=field)).double()
    x = randn(1, 5, 16)
    features = features_of(4, field)
    out, _ = layer(x, factors=RotaryPositions(2, THETA)(torch.arange(5)[None], torch.float64))
    (sequence,), (found,) = numbers(field, x), numbers(field, out)
    queries, keys, values = (
        heads_of(layer, each, sequence, field) for each in (layer.q_proj, layer.k_proj, layer.v_proj)
    )
    rotation = np.exp(1j * np.arange(5)[:, None] * THETA ** (-np.arange(2) / 2))
    rotated = [[(each if field == "complex" else each[:, :2] + 1j * each[:, 2:]) * rotation for each in heads]
               for heads in (queries, keys)]  # fmt: skip
    groups, contexts = len(queries) // len(keys), []
    for head, query in enumerate(rotated[0]):
        product = query @ rotated[1][head // groups].conj().T * features**-0.5
        for scores in (product.real, product.imag):  # beside each other
            contexts.append(contexts_of(scores, values[head // groups]))
    assert_close(found, np.concatenate(contexts, axis=1) @ weight(layer.o_proj).T, 1e-10)


@both_fields
def test_imaginary_heads_have_the_sizes_of_the_paper(field):
    plain, half, more = (
        GroupedQueryAttention(32, 4, keys, imaginary_heads=kind, number_field=field)
        for kind, keys in (("none", 2), ("equal_heads", 1), ("equal_cache", 2))
    )
    count = {
        layer: [each.num_parameters for each in map(Projection, (layer.q_proj, layer.k_proj, layer.o_proj))]
        for layer in (plain, half, more)
    }
    query, key, out = count[plain]
    assert count[half] == [query // 2, key // 2, out]
    assert count[more] == [query, key, 2 * out]
    assert GroupedQueryAttention(32, 4, imaginary_heads="equal_heads").num_key_value_heads == 2
    for layer, cached in ((plain, 2), (half, 1), (more, 2)):
        cache = Recorded()
        layer(randn(1, 3, 32, dtype=torch.float32), cache=cache)
        assert cache.key.shape == cache.value.shape == (1, cached, 3, 8)


class Projection:
    def __init__(self, layer):
        self.num_parameters = sum(parameter.numel() for parameter in layer.parameters())


class Recorded:
    """A cache that keeps what it is given."""

    def update(self, key, value, layer_idx, **kwargs):
        self.key, self.value = key, value
        return key, value


def test_gradients():
    heads = PolarHeads(1, 2).double()
    with torch.no_grad():
        heads.phase.copy_(torch.tensor([[-1.0, -4.0]]))
    query, key = randn(1, 2, 3, 2, grad=True), randn(1, 1, 3, 2, grad=True)
    factors = RotaryPositions(2)(torch.arange(3)[None], torch.float64)

    def scores(query, key, phase):
        found = torch.func.functional_call(heads, {"phase": phase}, (query, key, factors))
        return found[0] @ found[1].mT

    assert torch.autograd.gradcheck(scores, (query, key, heads.phase))


OTHER_SCORES = [("modulus", "split_softmax"), ("modulus", "sigmoid"), ("cosine", "softmax")]


@pytest.mark.parametrize(("score", "normalization"), OTHER_SCORES)
def test_other_scores_of_polar_heads(score, normalization):
    """Many queries at once give what one query at a time gives, although only values of real scores are padded."""
    layer = randomize(GroupedQueryAttention(16, 4, 2, polar=True, score=score, normalization=normalization)).double()
    x, factors = randn(1, 5, 16), RotaryPositions(4, THETA)(torch.arange(5)[None], torch.float64)
    out, _ = layer(x, factors=factors)
    cache = Growing()
    steps = [layer(x[:, [t]], factors=factors[..., [t], :], cache=cache)[0] for t in range(5)]
    torch.testing.assert_close(torch.cat(steps, dim=1), out)


class Growing:
    """A cache that keeps all keys and values."""

    def __init__(self):
        self.kept = None

    def update(self, key, value, layer_idx, **kwargs):
        new = key, value
        self.kept = new if self.kept is None else [torch.cat(pair, dim=2) for pair in zip(self.kept, new, strict=True)]
        return self.kept


def test_phases_start_at_zero_stay_exact_and_do_not_decay():
    layer = GroupedQueryAttention(8, 2, polar=True)
    assert not layer.polar.phase.any()
    assert layer.to(torch.bfloat16).polar.phase.dtype == torch.float32
    decayed, plain = optimizer_groups(layer, 0.1)
    assert not any(each is layer.polar.phase for each in decayed["params"])
    assert any(each is layer.polar.phase for each in plain["params"])


def test_bad_values():
    message = "num_key_value_heads must divide half of num_attention_heads=4, got 4"
    assert_refused(message, GroupedQueryAttention, 16, 4, 4, imaginary_heads="equal_heads")
    message = "imaginary_heads must be one of .*, got 'both'"
    assert_refused(message, GroupedQueryAttention, 8, 2, imaginary_heads="both")
