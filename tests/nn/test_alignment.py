# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention of recurrent decoders against native complex128, steps of recurrent layers against whole sequences."""

from functools import partial

import numpy as np
import pytest
import torch

from complex_transformers.nn import (
    AdditiveAttention,
    AttentiveRecurrent,
    ComplexGRU,
    ComplexLSTM,
    ComplexRNN,
    LocalAttention,
    RealGRU,
    RealLSTM,
    RealRNN,
    SyntaxEmbedding,
    last_states,
)
from complex_transformers.nn.attention.alignment import run_steps
from complex_transformers.nn.recurrent import layers as recurrent
from oracles import assert_close, assert_refused, bias, numbers, of_parts, r, randn, randomize, softmax, weight, z

FIELDS = ("complex", "real")
LAYERS = {"complex": (ComplexRNN, ComplexLSTM, ComplexGRU), "real": (RealRNN, RealLSTM, RealGRU)}
every_layer = pytest.mark.parametrize(
    ("field", "layer_class"), [(field, layer) for field, layers in LAYERS.items() for layer in layers]
)
masks = pytest.mark.parametrize("side", ["none", "left", "right"])


def mask_of(side, batch, length):
    if side == "none":
        return None
    mask = torch.ones(batch, length, dtype=torch.bool)
    for row in range(batch):
        mask[row, length - 2 * row :] = False
    return mask if side == "right" else mask.flip(1)


def additive_oracle(layer, s, h):
    """Weights of words ``h`` for a state ``s`` (SynCoNMT Eq. 10, 14)."""
    hidden = of_parts(np.tanh, weight(layer.query_proj) @ s + h @ weight(layer.key_proj).T + bias(layer.key_proj))
    return of_parts(softmax, (hidden @ weight(layer.score_proj).T)[:, 0])


def local_oracle(layer, s, h):
    """Of the words around a predicted place (Luong et al. 2015, Eq. 9, 10)."""
    inner = of_parts(np.tanh, weight(layer.place_proj) @ s)
    stored = np.concatenate([inner.real, inner.imag]) if np.iscomplexobj(inner) else inner
    place = len(h) / (1.0 + np.exp(-float(weight(layer.place_readout)[0] @ stored)))
    near = [j for j in range(1, len(h) + 1) if abs(j - place) <= layer.window]
    assert near
    of_near = of_parts(softmax, np.array([s.conj() @ (weight(layer.key_proj) @ h[j - 1]) for j in near]))
    expected = np.zeros(len(h), dtype=of_near.dtype)
    for j, value in zip(near, of_near, strict=True):
        expected[j - 1] = value * np.exp(-((j - place) ** 2) / (2.0 * (layer.window / 2.0) ** 2))
    return expected


@masks
@pytest.mark.parametrize(
    ("make", "oracle"),
    [
        (AdditiveAttention, additive_oracle),
        (partial(LocalAttention, window=1), local_oracle),
        (partial(LocalAttention, window=2), local_oracle),
        (partial(LocalAttention, window=10), local_oracle),
    ],
)
@pytest.mark.parametrize("field", FIELDS)
def test_attention_is_the_formula(field, make, oracle, side):
    layer = randomize(make(8, number_field=field).double())
    query, source, mask = randn(3, 4, 8), randn(3, 6, 8), mask_of(side, 3, 6)
    context, weights = (numbers(field, x) for x in layer(query, layer.keys(source), source, mask))
    for row in range(3):
        words = np.ones(6, dtype=bool) if mask is None else mask[row].numpy()
        h = numbers(field, source)[row][words]
        for step in range(4):
            expected = oracle(layer, numbers(field, query)[row, step], h)
            assert_close(weights[row, step][words], expected)
            assert not weights[row, step][~words].any()
            assert_close(context[row, step], expected @ h)


@pytest.mark.parametrize("value", [-1e4, 1e4])
def test_a_place_at_the_very_end_has_a_word_in_its_window(value):
    for dtype in (torch.float32, torch.bfloat16):
        layer = LocalAttention(8, 1, "real").to(dtype)
        layer.place_proj.weight.data.fill_(1.0)
        layer.place_readout.weight.data.fill_(value)
        query, source = torch.ones(1, 1, 8, dtype=dtype), torch.ones(1, 300, 8, dtype=dtype)
        weights = layer(query, layer.keys(source), source)[1]
        assert weights[0, 0].nonzero().flatten().tolist() == ([0] if value < 0 else [298, 299])


def test_a_window_without_a_word_is_refused():
    assert_refused("window must be 1 or more, got 0", LocalAttention, 8, 0)


@masks
@every_layer
def test_steps_equal_the_whole_sequence(field, layer_class, side):
    layer = randomize(layer_class(6, 8, batch_first=True).double())
    x, mask = randn(3, 6, 6), mask_of(side, 3, 6)
    first = tuple(randn(3, 8) for _ in range(layer.num_states))
    hx = tuple(part.unsqueeze(0) for part in first)
    out, last = layer(x, hx if len(hx) > 1 else hx[0], mask)
    (found,), states = run_steps(layer, x, first, mask)
    torch.testing.assert_close(found, out)
    for one, two in zip(states, last if isinstance(last, tuple) else (last,), strict=True):
        torch.testing.assert_close(one, two[0])
    state, pieces = first, []
    for step in range(6):  # and one call for each
        part = slice(step, step + 1)
        (piece,), state = run_steps(layer, x[:, part], state, None if mask is None else mask[:, part])
        pieces.append(piece)
    torch.testing.assert_close(torch.cat(pieces, 1), out)


@pytest.mark.parametrize("least", [3, 4])  # of three steps: gates are read from the weights, the context's too, or not
@every_layer
def test_attentive_layer_reads_the_context_of_the_state_before(field, layer_class, least, monkeypatch):
    monkeypatch.setattr(recurrent, "_MIN_READ_STEPS", least)
    rnn = layer_class(6, 8, batch_first=True)
    layer = randomize(AttentiveRecurrent(rnn, AdditiveAttention(8, field)).double())
    x, source, mask = randn(2, 3, 6), randn(2, 5, 8), mask_of("left", 2, 5)
    state = tuple(randn(2, 8) for _ in range(rnn.num_states))
    keys = layer.attention.keys(source)
    out, weights, last = layer(x, state, keys, source, mask)
    for step in range(3):
        context, expected = layer.attention(state[0].unsqueeze(1), keys, source, mask)
        torch.testing.assert_close(weights[:, step : step + 1], expected)
        total = rnn.input_products(x[:, step]) + layer.context_proj(context[:, 0])
        state = rnn.step(total, rnn.state_product(num_steps=1), state)
        torch.testing.assert_close(out[:, step], state[0])
    for one, two in zip(last, state, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("bidirectional", [False, True])
@every_layer
def test_last_states_are_those_of_the_layer(field, layer_class, bidirectional):
    layer = randomize(layer_class(6, 8, batch_first=True, bidirectional=bidirectional).double())
    x = randn(3, 6, 6)
    for side in ("none", "left", "right"):
        mask = mask_of(side, 3, 6)
        out, last = layer(x, mask=mask)
        last = last[0] if isinstance(last, tuple) else last
        found = numbers(field, last_states(out, mask, bidirectional, field))
        assert_close(found, np.concatenate([numbers(field, part) for part in last], -1))


def test_hooked_layers_are_called_in_every_step():
    layer = randomize(AttentiveRecurrent(ComplexGRU(6, 8, batch_first=True), AdditiveAttention(8)).double())
    x, source, state = randn(2, 3, 6), randn(2, 4, 8), (randn(2, 8),)
    expected = layer(x, state, layer.attention.keys(source), source)[0]
    calls = []
    layer.context_proj.real.register_forward_hook(lambda *_: calls.append(1))
    layer.attention.query_proj.imag.register_forward_hook(lambda *_: calls.append(2))
    torch.testing.assert_close(layer(x, state, layer.attention.keys(source), source)[0], expected)
    assert sorted(calls) == [1, 1, 1, 2, 2, 2]


def test_syntax_embedding_is_word_and_relation():
    embedding = SyntaxEmbedding(9, 5, 6, padding_idx=0, relation_padding_idx=1)
    ids, relations = torch.tensor([[3, 0, 4]]), torch.tensor([[2, 1, 2]])
    out = z(embedding(ids, relations))
    words, kinds = r(embedding.weight), r(embedding.relation)
    assert_close(out, words[ids.numpy()] + 1j * kinds[relations.numpy()])
    assert not out[0, 1].any()
    assert not embedding.weight[0].any()
    assert not embedding.relation[1].any()
    assert embedding.relation[0].any()
    before = embedding.relation.detach().clone()
    embedding.resize(12)
    assert torch.equal(embedding.relation, before)
    assert embedding.weight.shape == (12, 3)
    assert_refused("relation_ids must be given, got None", embedding, ids)
    assert_refused(
        "relation_ids must be None without num_relations, got ids", SyntaxEmbedding(9, None, 6), ids, relations
    )
    assert_refused("must be even, got 5", SyntaxEmbedding, 9, 5, 5)
    assert SyntaxEmbedding(9, None, 5)(ids).shape == (1, 3, 5)
