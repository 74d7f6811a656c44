# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""States, mixtures and measurements against explicit density matrices in complex128, and the postulates they keep."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from complex_transformers.nn import (
    ComplexOrderEmbedding,
    Measurement,
    QuantumEmbedding,
    RealWordEmbedding,
    WordPositionEmbedding,
    density_matrix,
    local_outcomes,
    mix,
    mixture_scores,
    mixture_weights,
    unit_norm,
)
from oracles import assert_close, assert_refused, halves, numbers, r, randn, randomize, softmax, z

FIELDS = ("complex", "real")
KINDS = ("projectors", "povm")
fields = pytest.mark.parametrize("field", FIELDS)
kinds = pytest.mark.parametrize("kind", KINDS)
V = 7


def states(field, *shape, d=3):
    return unit_norm(randn(*shape, 2 * d if field == "complex" else d))


def mixture(field, x, p):
    """rho of one text, by its definition."""
    return sum(weight * np.outer(w, w.conj()) for weight, w in zip(p, numbers(field, x), strict=True))


def measured(field, kind, outcomes=5, d=3):
    features = 2 * d if field == "complex" else d
    return randomize(Measurement(features, outcomes, kind, field)).double()


@fields
@kinds
@given(words=st.integers(1, 5), d=st.integers(1, 4), more=st.integers(0, 3))
@settings(max_examples=25)
def test_born_is_the_trace_rule(field, kind, words, d, more):
    layer, x = measured(field, kind, d + more, d), states(field, words, d=d)
    p = softmax(np.random.default_rng(0).normal(size=words))
    rho = mixture(field, x, p)
    assert_close(rho, rho.conj().T, 1e-12)
    assert np.linalg.eigvalsh(rho).min() > -1e-12
    assert np.trace(rho).real == pytest.approx(1.0, abs=1e-12)
    operators = [np.outer(v, v.conj()) for v in numbers(field, layer.states())]  # |v_k><v_k|
    expected = np.array([np.trace(operator @ rho).real for operator in operators])
    q = r(mix(layer(x), torch.from_numpy(np.log(p))))
    assert_close(q, expected, 1e-12)
    assert (q > -1e-12).all()
    assert (q < 1 + 1e-12).all()
    if kind == "povm":
        assert_close(sum(operators), np.eye(d), 1e-12)
        assert q.sum() == pytest.approx(1.0, abs=1e-12)
    else:
        assert_close(np.linalg.norm(numbers(field, layer.states()), axis=-1), np.ones(d + more), 1e-12)


@fields
@kinds
def test_the_phase_of_a_word_is_invisible(field, kind):
    layer, x = measured(field, kind), states(field, 2, 4)
    turn = np.exp(1j * np.random.default_rng(0).normal(size=(2, 4, 1))) if field == "complex" else -1.0
    turned = halves(z(x) * turn) if field == "complex" else -x
    torch.testing.assert_close(layer(turned), layer(x), rtol=0, atol=1e-12)


@fields
def test_a_povm_stays_complete_while_it_learns(field):
    torch.manual_seed(0)
    layer = Measurement(12, 20, "povm", field)
    optimizer = torch.optim.SGD(layer.parameters(), lr=10.0)
    x, target = unit_norm(torch.randn(16, 12)), torch.randint(20, (16,))
    start = layer.states().detach()
    for _ in range(5):
        optimizer.zero_grad()
        torch.nn.functional.nll_loss((layer(x) + 1e-6).log(), target).backward()
        optimizer.step()
    rows = numbers(field, layer.states())
    assert (layer.states() - start).abs().max() > 0.1
    np.testing.assert_allclose(rows.T @ rows.conj(), np.eye(rows.shape[1]), atol=1e-5)
    torch.testing.assert_close(layer(x).sum(-1), torch.ones(16), rtol=0, atol=1e-5)


def test_projectors_keep_their_norm_while_they_learn():
    torch.manual_seed(0)
    layer = Measurement(12, 4)
    optimizer = torch.optim.SGD(layer.parameters(), lr=100.0)
    for _ in range(5):
        optimizer.zero_grad()
        layer(unit_norm(torch.randn(16, 12))).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(np.linalg.norm(z(layer.states()), axis=-1), 1.0, atol=1e-5)


@fields
@kinds
def test_outcomes_begin_near_their_mean(field, kind):
    torch.manual_seed(0)
    layer = Measurement(16, 64, kind, field)
    q = layer(unit_norm(torch.randn(2000, 16)))
    assert q.mean().item() == pytest.approx(layer.mean_outcome, rel=0.1)


class Largest(TorchDispatchMode):
    """The most numbers that an operation has made."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for value in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(value, torch.Tensor):
                self.numbers = max(self.numbers, value.numel())
        return out


def test_no_density_matrix_is_made():
    layer, x = Measurement(400, 3), unit_norm(torch.randn(2, 5, 400))
    with Largest() as largest:
        mix(layer(x), mixture_scores(x))
    assert largest.numbers <= 2 * 5 * 400 < 200 * 200
    with Largest() as largest:
        density_matrix(x, mixture_weights(x))
    assert largest.numbers >= 200 * 200


@pytest.mark.parametrize("name", ["weight", "norm", "mean"])
@fields
def test_weights_of_a_mixture(field, name):
    x = randn(2, 4, 6)
    mask = torch.tensor([[1, 1, 1, 1], [0, 1, 0, 1]])
    norm = np.linalg.norm(numbers(field, x), axis=-1)
    score = {"weight": np.log(norm), "norm": norm, "mean": np.zeros_like(norm)}[name]
    expected = np.stack([softmax(score[0]), np.zeros(4)])
    expected[1, [1, 3]] = softmax(score[1, [1, 3]])
    assert_close(r(mixture_weights(x, mask, name)), expected)
    assert not mixture_weights(x, torch.zeros(2, 4), name).any()  # of no words
    assert_close(r(mixture_weights(x, None, name))[0], expected[0])


@fields
def test_density_matrix(field):
    x, p = states(field, 2, 4), torch.softmax(randn(2, 4), -1)
    found = numbers(field, density_matrix(x, p, number_field=field))
    for text in range(2):
        assert_close(found[text], mixture(field, x[text], r(p[text])), 1e-12)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    x[1, 2:] = float("nan")
    found = numbers(field, density_matrix(x, p, mask, field))
    assert_close(found[1], mixture(field, x[1, :2], r(p[1, :2])), 1e-12)


@pytest.mark.parametrize("window", [1, 2, 3, 6])
def test_local_mixtures(window):
    lengths = [4, 1, 0]
    probabilities, scores = torch.rand(3, 4, 2, dtype=torch.float64), randn(3, 4)
    found = r(local_outcomes(probabilities, scores, torch.tensor(lengths), window))
    for text, length in enumerate(lengths):
        for start in range(4):
            words = slice(start, min(start + window, length))
            expected = np.zeros(2)
            if start < length:
                expected = softmax(r(scores)[text, words]) @ r(probabilities)[text, words]
            assert_close(found[text, start], expected)


def test_a_window_of_light_words_is_a_mixture_too():
    probabilities, scores = torch.rand(1, 3, 2), torch.tensor([[1e4, -1e4, -1e4]])
    found = local_outcomes(probabilities, scores, torch.tensor([3]), 2)
    torch.testing.assert_close(found[0, 1], probabilities[0, 1:].mean(0))


WORDS = {
    "free phases": lambda: ComplexOrderEmbedding(V, 6, 0, "complex_vanilla", amplitude_std=1.0),
    "phases of positions": lambda: ComplexOrderEmbedding(V, 6, 0, amplitude_std=1.0),
    "no phases": lambda: RealWordEmbedding(V, 6, 0, amplitude_std=1.0),
    "free numbers": lambda: WordPositionEmbedding(V, 6, 0, amplitude_std=1.0),
}
IDS = torch.tensor([[3, 1, 2], [6, 3, 0]])


@pytest.mark.parametrize("name", WORDS)
def test_a_word_is_a_state_and_a_weight(name):
    layer = QuantumEmbedding(WORDS[name]())
    with torch.no_grad():
        layer.mixture_weight.normal_()
    out, words = layer(IDS), z(layer.words(IDS))
    norms = np.linalg.norm(words, axis=-1, keepdims=True)
    direction = np.divide(words, norms, out=np.zeros_like(words), where=norms > 0)
    assert_close(z(out), np.exp(r(layer.mixture_weight))[IDS] * direction, 1e-5)
    assert not out[1, 2].any()  # padding
    weights = softmax(r(layer.mixture_weight)[IDS[:, :2], 0])
    assert_close(r(mixture_weights(out, IDS != 0))[1, :2], weights[1], 1e-5)
    assert r(mixture_weights(out))[1, 2] < 1e-9  # without a mask it weighs nothing
    if name == "no phases":
        assert not z(out).imag.any()


def test_weights_stay_in_their_range():
    layer = QuantumEmbedding(WORDS["free phases"]())
    with torch.no_grad():
        layer.mixture_weight.copy_(torch.linspace(-1e9, 1e9, V).unsqueeze(1))
    for dtype in (torch.float32, torch.float16):
        out = layer.to(dtype)(torch.tensor([[1, 5]]))
        assert out.isfinite().all()
        assert out.dtype == dtype
        assert out[0, 0].any()


def test_vectors_become_directions():
    layer = QuantumEmbedding(WORDS["phases of positions"]())
    assert layer.load_vectors({"a": [3.0, 0.0, -4.0], "b": [1.0, 1.0, 1.0]}, {"a": 1, "b": 2, "c": 3}) == 2 / 3
    np.testing.assert_allclose(r(layer.weight[1]), [3.0, 0.0, -4.0])
    np.testing.assert_allclose(np.abs(z(layer(torch.tensor([[1]])))[0, 0]), [0.6, 0.0, 0.8], atol=1e-6)
    assert not layer.weight[0].any()


@pytest.mark.parametrize("size", [4, 9])
def test_resize(size):
    layer = randomize(QuantumEmbedding(WORDS["free phases"]()))
    ids = torch.tensor([[1, 2, 3]])
    before = layer(ids).detach()
    mean = layer.mixture_weight.mean().item()
    layer.resize(size)
    torch.testing.assert_close(layer(ids), before)
    assert {len(value) for value in layer.parameters()} == {size}
    if size > V:
        assert layer.mixture_weight[-1].item() == pytest.approx(mean)


def test_bad_values():
    assert_refused("at least 3, the complex features, for .*'povm', got 2. Use more", Measurement, 6, 2, "povm")
    assert_refused("at least 6, the real features", Measurement, 6, 4, "povm", "real")
    assert_refused("num_outcomes must be positive, got 0", Measurement, 6, 0)
    assert_refused(r"measurement must be one of \['povm', 'projectors'\], got 'one'", Measurement, 6, 2, "one")
    assert_refused("even, got 5", Measurement, 5, 2)
    assert_refused(r"mixture must be one of \['mean', 'norm', 'weight'\]", mixture_weights, randn(2, 4), None, "sum")
    assert_refused("window must be positive", local_outcomes, randn(1, 2, 2), randn(1, 2), torch.tensor([2]), 0)
    layer = QuantumEmbedding(WORDS["free phases"]())
    assert_refused(r"\[0, 7\), got 7", layer, torch.tensor([[7]]))
