# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

from complex_transformers.kernels import modulus_attention, real_attention
from complex_transformers.kernels.modulus_attention import ScoreModulus
from complex_transformers.nn import ComplexMultiheadAttention, complex_attention
from complex_transformers.nn.attention import multi_head
from complex_transformers.nn.attention.multi_head import ATTENTION_FUNCTIONS, REAL_SCORES, check_attention
from complex_transformers.nn.attention.phase_coherent import unit_vectors
from oracles import (
    DTYPES,
    TOLERANCE,
    assert_close,
    assert_refused,
    bias,
    finite,
    r,
    randn,
    randomize,
    softmax,
    weight,
    z,
)

SCHEMES = sorted(ATTENTION_FUNCTIONS)
FIELDS = [(*scheme, "complex") for scheme in SCHEMES] + [
    ("real", "softmax", "real"),
    ("real", "probability_amplitude", "real"),
    ("real", "sigmoid", "real"),
    ("cosine", "softmax", "real"),
    ("cosine", "sigmoid", "real"),
]
schemes = pytest.mark.parametrize(("score", "normalization"), SCHEMES)
fields = pytest.mark.parametrize(("score", "normalization", "field"), FIELDS)


# --- the oracle: one head, native complex numbers --------------------------------------------------------------------


def unit(x):
    """Divide vectors by their complex norms."""
    return x / np.sqrt((np.abs(x) ** 2).sum(-1, keepdims=True))


def oracle(q, k, v, keep, score, normalization, scaling, offset=0.0):
    """Context ``[T, d]`` and weights ``[T, S]`` of one head (complex or real arrays)."""
    if score == "cosine":  # Hioki 2026, section 3.3.1
        q, k = unit(q), unit(k)
    product = q @ (k.T if score == "bilinear_modulus" else k.conj().T) * scaling  # ComplexOrder Eq. 14, Thesis 2.44
    if normalization == "split_softmax":  # SynCoNMT Eq. 10, 13, 14
        weights = softmax(np.where(keep, product.real, -np.inf)) + 1j * softmax(np.where(keep, product.imag, -np.inf))
        return weights @ v, weights
    real = product.real if score in REAL_SCORES else np.abs(product)
    if normalization == "sigmoid":
        weights = np.where(keep, 1.0 / (1.0 + np.exp(-real - offset)), 0.0)
    elif normalization == "softmax":  # ComplexOrder Eq. 13
        weights = softmax(np.where(keep, real, -np.inf))
    else:  # Thesis 2.37, 2.43
        square = np.where(keep, real**2, 0.0)
        weights = square / (1.0 + square.sum(-1, keepdims=True))
    return weights @ v, weights


def layer_oracle(layer, x, source, keep):
    """The multi-head layer on one sequence: heads are equal slices of the features of the field."""

    def project(name, values):
        part = getattr(layer, name)
        return values @ weight(part).T + bias(part)

    q, k, v = project("q_proj", x), project("k_proj", source), project("v_proj", source)
    size = q.shape[1] // layer.num_heads
    scaling = size**0.5 if layer.score == "cosine" else size**-0.5
    offset = layer.sigmoid.score_bias.item() if layer.normalization == "sigmoid" else 0.0
    contexts, weights = [], []
    for h in range(layer.num_heads):
        s = slice(h * size, (h + 1) * size)
        heads = q[:, s], k[:, s], v[:, s]
        context, w = oracle(*heads, keep, layer.score, layer.normalization, scaling, offset)
        contexts.append(context)
        weights.append(w)
    return project("out_proj", np.concatenate(contexts, axis=1)), np.stack(weights)


def numbers(layer, x):
    return z(x) if layer.numbers.name == "complex" else r(x)


def make(score, normalization, field="complex", **kwargs):
    kwargs = {"embed_dim": 12, "num_heads": 3 if field == "real" else 2, **kwargs}
    layer = ComplexMultiheadAttention(score=score, normalization=normalization, number_field=field, **kwargs)
    return randomize(layer.double()).eval()


# --- scores ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bilinear", [False, True])
def test_gradient_of_scores_of_zero_is_zero(bilinear):
    q, k = torch.zeros(2, 3, 4, requires_grad=True), torch.randn(2, 5, 4, requires_grad=True)
    gradients = torch.autograd.grad(ScoreModulus.apply(q, k, bilinear)[0].sum(), (q, k))
    assert not any(gradient.any() for gradient in gradients)


@pytest.mark.parametrize("bilinear", [False, True])
def test_gradient_of_tiny_scores_is_that_of_larger_ones(bilinear):
    # The gradient of |q k^H| in q does not depend on the size of q, until it fades to 0 at a score of 0.
    def gradient(size):
        q = (size * torch.linspace(1, 2, 4)).view(1, 4).requires_grad_()
        k = torch.tensor([[0.5, -1.0, 2.0, 1.0]])
        return torch.autograd.grad(ScoreModulus.apply(q, k, bilinear)[0].sum(), q)[0]

    torch.testing.assert_close(gradient(1e-18), gradient(1.0), rtol=1e-4, atol=1e-4)
    for size in (1e-21, 1e-30, 1e-37, 1e-42):
        assert (gradient(size).abs() <= gradient(1.0).abs() + 1e-4).all()


# --- attention functions ---------------------------------------------------------------------------------------------


@schemes
@given(t=st.integers(1, 4), s=st.integers(1, 5), d=st.integers(1, 3), dtype=st.sampled_from(DTYPES), data=st.data())
def test_attention_function(score, normalization, t, s, d, dtype, data):
    q, k, v = (randn(2, 2, n, 2 * d, dtype=dtype) for n in (t, s, s))
    if score == "cosine":  # the layer divides by the norms
        q, k = unit_vectors(q), unit_vectors(k)
    offset = 0.0 if normalization != "sigmoid" else -0.375  # exact in every dtype
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=s, max_size=s)))
    keep[data.draw(st.integers(0, s - 1))] = True
    boolean = torch.from_numpy(keep).expand(2, 1, t, s)
    additive = torch.zeros(2, 1, t, s, dtype=dtype).masked_fill(~boolean, torch.finfo(dtype).min)
    infinite = torch.zeros(2, 1, t, s, dtype=dtype).masked_fill(~boolean, -float("inf"))
    function = ATTENTION_FUNCTIONS[score, normalization]
    for mask in (boolean, additive, infinite):
        context, weights = function(nn.Identity(), q, k, v, mask, scaling=0.7, bias=torch.tensor([offset]))
        assert context.shape == (2, t, 2, 2 * d)
        assert context.dtype == weights.dtype == dtype
        for i in range(2):
            for h in range(2):
                arrays = (z(part[i, h]) for part in (q, k, v))
                expected, w = oracle(*arrays, keep, score, normalization, 0.7, offset)
                assert_close(z(context[i, :, h]), expected, TOLERANCE[dtype] * 3)
                got = z(weights[i, h]) if normalization == "split_softmax" else r(weights[i, h])
                assert_close(got, w, TOLERANCE[dtype] * 3)


# --- in blocks -------------------------------------------------------------------------------------------------------


def blocks(monkeypatch, scores, queries=128):
    """Blocks of that many scores and queries; returns the number of blocks every call has been cut into."""
    counts = []
    cut = modulus_attention.groups
    monkeypatch.setattr(modulus_attention, "BLOCK_SCORES", scores)
    monkeypatch.setattr(modulus_attention, "BLOCK_QUERIES", queries)
    monkeypatch.setattr(modulus_attention, "HEADS_PER_THREAD", 0)

    def counted(*args):
        counts.append(sum(1 for group in cut(*args) for _ in modulus_attention.blocks(group.select(args[0]))))
        return cut(*args)

    for module in (modulus_attention, real_attention):
        monkeypatch.setattr(module, "groups", counted)
    return counts


MASKS = {
    "none": lambda: None,
    "padding": lambda: torch.rand(3, 1, 1, 7) > 0.3,
    "padding of one row": lambda: torch.rand(1, 1, 1, 7) > 0.3,
    "each head": lambda: torch.rand(3, 2, 5, 7) > 0.3,
    "additive": lambda: randn(3, 1, 5, 7),
    "two axes": lambda: torch.ones(5, 7, dtype=torch.bool).tril(2),
    "two queries without keys": lambda: torch.ones(5, 7, dtype=torch.bool).tril(-2),
}


def test_blocks_read_the_keys_up_to_the_last_one_that_is_seen(monkeypatch):
    monkeypatch.setattr(modulus_attention, "BLOCK_QUERIES", 2)
    query, key, causal = torch.zeros(2, 1, 5, 4), torch.zeros(2, 1, 7, 4), torch.ones(5, 7, dtype=torch.bool).tril(2)

    def seen(keep, is_softmax=True):
        mask = None if keep is None else torch.zeros(keep.shape).masked_fill(~keep, torch.finfo(torch.float32).min)
        return modulus_attention.seen_keys(mask, query, key, is_softmax)

    assert seen(None) == [7, 7, 7]
    assert seen(causal[None, None]) == [4, 6, 7]
    assert seen(torch.arange(7).lt(3)[None, None, None]) == [3, 3, 3]
    longer = torch.stack([causal, torch.ones_like(causal)]).unsqueeze(1)  # the second sample attends to all keys
    assert seen(longer) == [7, 7, 7]
    empty = causal.tril(-1)[None, None]  # the first query has no keys: a softmax gives all of them equal weights
    assert seen(empty) == [7, 3, 4]
    assert seen(empty, is_softmax=False) == [1, 3, 4]
    assert seen(torch.zeros(1, 1, 5, 7, dtype=torch.bool), is_softmax=False) == [1, 1, 1]


@pytest.mark.parametrize("score", ["modulus", "bilinear_modulus", "real"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    ("scores", "queries", "count"),
    [(1, 1, 30), (14, 1, 15), (28, 2, 9), (140, 128, 2), (10**6, 3, 2), (10**6, 128, 1)],
)
def test_blocks_give_what_the_whole_gives(score, mask, scores, queries, count, monkeypatch):
    counts = blocks(monkeypatch, scores, queries)
    inputs = (randn(3, 2, 5, 4, grad=True), randn(3, 2, 7, 4, grad=True), randn(3, 2, 7, 6, grad=True))
    mask, cotangent = MASKS[mask](), randn(3, 5, 2, 6)
    whole, weights = complex_attention(nn.Identity(), *inputs, mask, score=score)
    blocked, none = complex_attention(nn.Identity(), *inputs, mask, score=score, need_weights=False)
    assert weights is not None
    assert none is None
    assert counts == [count]  # 7 scores a query of a head, 14 a query, 70 a sample
    torch.testing.assert_close(blocked, whole, rtol=0, atol=1e-12)
    for one, two in zip(*(torch.autograd.grad(out, inputs, cotangent) for out in (blocked, whole)), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1e-25, 1e-12, 1e12, 1e25])
def test_blocks_of_any_size(size, monkeypatch):
    blocks(monkeypatch, 28)
    inputs = [randn(2, 2, 5, 4, dtype=torch.float32) for _ in range(3)]
    query, key = (inputs[0] * size).requires_grad_(), inputs[1].requires_grad_()
    context, (grad_query, grad_key) = [], ([], [])
    for need_weights in (True, False):
        out = complex_attention(nn.Identity(), query, key, inputs[2], None, need_weights=need_weights)[0]
        one, two = torch.autograd.grad(out, (query, key), torch.ones_like(out).cumsum(0))
        for kept, value in zip((context, grad_query, grad_key), (out, one, two), strict=True):
            assert value.isfinite().all()
            kept.append(value)
    torch.testing.assert_close(*context)
    if size > 1e-20:  # below, the gradient of a score fades
        torch.testing.assert_close(*grad_query)
        torch.testing.assert_close(*grad_key)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    ("dtype", "autocast"),
    [
        (torch.float32, torch.bfloat16),
        (torch.float32, torch.float16),
        (torch.bfloat16, torch.bfloat16),
        (torch.bfloat16, None),
        (torch.float16, None),
        (torch.float32, None),
    ],
)
def test_blocks_of_any_precision(dtype, autocast, training, monkeypatch):
    """Half precision, autocast and evaluation take the blocks, too, and keep no scores."""
    counts, module = blocks(monkeypatch, 2**10, 8), nn.Identity().train(training)
    inputs = [randn(1, 2, 64, 8, dtype=dtype, grad=True) for _ in range(3)]
    exact = [value.detach().double().requires_grad_() for value in inputs]
    cotangent, error = randn(1, 64, 2, 8), 0.03 if torch.bfloat16 in (dtype, autocast) else 4e-3

    def learn(values, need_weights):
        """Context, gradients, and how many numbers wait for the backward pass."""
        kept = {}

        def keep(tensor):
            kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
            return tensor

        with torch.autocast("cpu", autocast or torch.bfloat16, enabled=autocast is not None and values is inputs):
            with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
                context, _ = complex_attention(module, *values, None, need_weights=need_weights)
            return context, torch.autograd.grad(context, values, cotangent.to(context.dtype)), sum(kept.values())

    context, gradients, memory = learn(inputs, need_weights=False)
    assert counts == [8, 8]  # forward and backward
    stored, _, stored_memory = learn(inputs, need_weights=True)
    assert counts == [8, 8]
    assert memory < 0.5 * stored_memory
    expected, slopes, _ = learn(exact, need_weights=True)
    for found, want in ((context, expected), (stored, expected), *zip(gradients, slopes, strict=True)):
        assert_close(r(found), r(want), error)
    with torch.no_grad(), torch.autocast("cpu", autocast or torch.bfloat16, enabled=autocast is not None):
        again, _ = complex_attention(module, *inputs, None, need_weights=False)
    assert counts == [8, 8, 8]
    assert torch.equal(again, context)


def test_blocks_drop_the_same_weights_forward_and_backward(monkeypatch):
    counts = blocks(monkeypatch, 1)
    q, k = randn(1, 2, 3, 4, grad=True), randn(1, 2, 50, 4, grad=True)
    module, one_hot = nn.Identity(), torch.eye(50, dtype=torch.float64).expand(1, 2, 50, 50)

    def function(q, k, v):
        torch.manual_seed(1)
        return complex_attention(module, q, k, v, None, dropout=0.4, need_weights=False)[0]

    dropped = function(q, k, one_hot).transpose(1, 2)  # values that are unit vectors show the weights themselves
    _, weights = complex_attention(module, q, k, one_hot, None)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], weights[kept] / 0.6)
    assert 0.4 < kept.double().mean() < 0.8
    v = randn(1, 2, 50, 4, grad=True)
    assert gradcheck(function, (q, k, v), fast_mode=True)
    module.eval()
    torch.testing.assert_close(function(q, k, v), complex_attention(module, q, k, v, None)[0])
    assert counts


def test_blocks_that_drop_every_weight(monkeypatch):
    counts = blocks(monkeypatch, 1)
    inputs = [randn(1, 2, 3, 4, grad=True) for _ in range(3)]
    out = complex_attention(nn.Identity(), *inputs, None, dropout=1.0, need_weights=False)[0]
    assert not any(value.any() for value in (out, *torch.autograd.grad(out.sum(), inputs)))
    assert counts


@schemes
def test_dropout_acts_in_training_only_and_keeps_the_mean(score, normalization):
    module = nn.Identity()
    q, k, v = randn(1, 1, 1, 4), randn(1, 1, 4000, 4), torch.ones(1, 1, 4000, 4, dtype=torch.float64)
    arguments = {"score": score, "normalization": normalization, "dropout": 0.25}
    _, dropped = complex_attention(module.train(), q, k, v, None, **arguments)
    _, kept = complex_attention(module.eval(), q, k, v, None, **arguments)
    zeros = dropped == 0
    assert abs(zeros.double().mean().item() - 0.25) < 0.03
    torch.testing.assert_close(dropped[~zeros], kept[~zeros] / 0.75)


# --- the layer -------------------------------------------------------------------------------------------------------


@fields
@given(
    t=st.integers(1, 4),
    s=st.integers(1, 5),
    kind=st.sampled_from(["self", "cross", "causal"]),
    is_causal=st.booleans(),
    share=st.booleans(),
    data=st.data(),
)
def test_layer(score, normalization, field, t, s, kind, is_causal, share, data):
    share = share and field == "complex"
    layer = make(score, normalization, field, share_parts=share, is_causal=is_causal or kind == "causal")
    x, states = randn(2, t, 12), randn(2, s, 12) if kind == "cross" else None
    source = x if states is None else states
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=source.shape[1], max_size=source.shape[1])))
    keep[0] = True
    mask = torch.from_numpy(keep).expand(2, 1, t, -1)  # takes the place of causality
    if kind == "causal":
        keep, mask = np.tri(t, dtype=bool), None
    out, weights = layer(x, states, attention_mask=mask)
    for i in range(2):
        expected, w = layer_oracle(layer, numbers(layer, x[i]), numbers(layer, source[i]), keep)
        assert_close(numbers(layer, out[i]), expected)
        assert_close(z(weights[i]) if normalization == "split_softmax" else r(weights[i]), w)


def test_shared_parts_are_those_of_three_projections():
    layer = make("modulus", "softmax", share_parts=True)
    assert layer.q_proj.imag is layer.k_proj.imag is layer.v_proj.imag is None
    assert layer.out_proj.imag is not None


@fields
def test_row_that_attends_to_nothing_is_finite(score, normalization, field):
    layer = make(score, normalization, field).float()
    x = torch.randn(2, 3, 12, requires_grad=True)
    mask = torch.zeros(2, 1, 3, 3, dtype=torch.bool)
    mask[1] = True
    out, weights = layer(x, attention_mask=mask)
    out.sum().backward()
    assert finite(out, weights, x.grad)


def test_bad_values():
    assert_refused("num_heads must divide the 6 complex features of width 12, got 4", ComplexMultiheadAttention, 12, 4)
    assert_refused("got 0", ComplexMultiheadAttention, 12, 0)
    assert ComplexMultiheadAttention(12, 4, score="real", number_field="real").scaling == 3**-0.5
    assert_refused("even, got 13. Use 14", ComplexMultiheadAttention, 13, 1)
    message = r"attention_score .*\['bilinear_modulus', 'cosine', 'modulus', 'real'\], got 'dot'"
    assert_refused(message, ComplexMultiheadAttention, 12, 2, score="dot")
    message = r"attention_normalization .*\['probability_amplitude', 'sigmoid', 'softmax', 'split_"
    assert_refused(message, ComplexMultiheadAttention, 12, 2, normalization="sparsemax")
    message = r"number_field must be one of \['complex', 'real'\], got 'dual'"
    assert_refused(message, check_attention, "modulus", "softmax", "dual")
    for score, normalization in (("modulus", "softmax"), ("real", "split_softmax")):
        assert_refused("with number_field='real'", check_attention, score, normalization, "real")
    assert_refused("got 'real'", check_attention, "real", "split_softmax")
    for normalization in ("probability_amplitude", "split_softmax"):
        message = f"attention_normalization .* with attention_score='cosine', got '{normalization}'"
        assert_refused(message, check_attention, "cosine", normalization)


# --- second derivatives, and masks that are learned ------------------------------------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("score", ["modulus", "bilinear_modulus"])
@pytest.mark.parametrize("need_weights", [True, False], ids=["whole", "blocks"])
def test_second_derivatives(need_weights, score, dropout, monkeypatch):
    monkeypatch.setattr(modulus_attention, "BLOCK_SCORES", 4)
    module = nn.Module().train()
    q, k, v = (randn(2, 1, n, 4, grad=True) for n in (2, 3, 3))

    def attend(q, k, v):
        torch.manual_seed(0)
        options = {"score": score, "need_weights": need_weights, "dropout": dropout}
        return complex_attention(module, q, k, v, torch.tensor([0.0, 0.3, -0.2]).double(), **options)[0]

    assert gradcheck(attend, (q, k, v), fast_mode=True)
    assert gradgradcheck(attend, (q, k, v), fast_mode=True)


def test_a_learned_mask_has_its_gradient():
    q, k, v = (randn(2, 1, n, 4) for n in (2, 3, 3))
    mask = randn(2, 1, 2, 3, grad=True)
    module = nn.Module()

    def attend(mask):
        return complex_attention(module, q, k, v, mask, need_weights=False)[0]

    assert gradcheck(attend, (mask,))
    blocks = attend(mask.detach())
    torch.testing.assert_close(attend(mask), blocks)


@pytest.mark.parametrize("mask", [None, "boolean", "additive", "no key", "no key, additive"])
@pytest.mark.parametrize(("length", "size"), [(5, 5), (2, 5)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_real_score_runs_in_the_attention_of_torch(mask, length, size, is_causal, monkeypatch):
    monkeypatch.setattr(multi_head, "is_eager_cpu", lambda x: False)  # as on a GPU
    module = SimpleNamespace(training=False, num_key_value_groups=2)
    query, key, value = (randn(2, heads, n, 6, grad=True) for heads, n in ((4, length), (2, size), (2, size)))
    given = {"boolean": torch.rand(2, 1, length, size) > 0.3, "additive": randn(length, size)}.get(mask)
    if mask == "no key":  # a query that attends to nothing attends to all keys equally
        given = torch.zeros(2, 1, length, size, dtype=torch.bool)
    if mask == "no key, additive":  # of the last query; the lowest value of float16 counts as all others do
        given = torch.zeros(length, size, dtype=torch.float16)
        given[:, 0] = given[-1] = torch.finfo(torch.float16).min
    if mask == "boolean":
        given[..., -length:] |= torch.eye(length, dtype=torch.bool)

    def results(need_weights):
        out, weights = complex_attention(
            module, query, key, value, given, score="real", need_weights=need_weights, is_causal=is_causal
        )
        assert (weights is None) != need_weights
        return [out, *torch.autograd.grad(out.square().sum(), (value, query, key))]

    found, expected = results(False), results(True)
    if "no key" in str(mask):  # the formula has gradients of scores that its rounding discards
        assert not found[2][:, :, -1].any()
        found, expected = found[:2], expected[:2]
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
