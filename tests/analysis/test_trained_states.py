# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words of outcomes, entropies of texts and interference, against complex128; figures; what is refused."""

import numpy as np
import pytest
import torch

from complex_transformers import ComplexFastTextConfig, ComplexFastTextModel, build_tokenizer
from complex_transformers.analysis import (
    interference,
    outcome_words,
    plot_interference,
    plot_outcome_words,
    plot_text_state,
    text_states,
)
from families import Case
from oracles import numbers, softmax
from refusals import refused

TOKENIZER = build_tokenizer(["ant bird cat dog elk"], "whitespace")
VOCABULARY = TOKENIZER.get_vocab()
WORDS = ["ant", "bird", "cat", "dog", "elk"]
NAMES = ("complex", "real", "complete", "windows")


def build(name="complex"):
    return Case("complex_quantum", name).trained(vocab_size=len(VOCABULARY))


def states_of(model, words):
    """States and norms of words, from the embedding alone, and v_k."""
    base, field = model.model, model.config.number_field
    raw = numbers(field, base.get_input_embeddings()(torch.tensor([[VOCABULARY[word]] for word in words])))[:, 0]
    norms = np.linalg.norm(raw, axis=-1)
    states = raw / norms[:, None]
    if base.config.evolution == "shared":
        parts = base.layer.evolution.matrix().detach().double().numpy()
        states = states @ (parts[: len(parts) // 2] + 1j * parts[len(parts) // 2 :]).T
    return states, norms, numbers(field, base.measurement.states())


@pytest.mark.parametrize("name", NAMES)
def test_words_of_the_outcomes(name):
    model = build(name)
    states, _, basis = states_of(model, WORDS)
    expected = np.abs(states @ basis.conj().T) ** 2
    found = outcome_words(model, TOKENIZER, count=3)
    assert [row.outcome for row in found] == list(range(model.config.num_measurements))
    for row in found:
        best = np.argsort(-expected[:, row.outcome])[:3]
        assert row.words == [WORDS[place] for place in best]
        np.testing.assert_allclose(row.probabilities, expected[best, row.outcome], atol=1e-6)
    (only,) = outcome_words(model.model, TOKENIZER, [4], words=["elk", "cat"])
    assert (only.outcome, sorted(only.words)) == (4, ["cat", "elk"])


@pytest.mark.parametrize("name", NAMES)
def test_mixtures_of_texts(name):
    model = build(name)
    pair, single, twice = text_states(model, TOKENIZER, ["cat dog", "cat", "cat cat"])
    assert single.tokens == ["cat"]
    assert [single.entropy, single.purity, *single.weights] == pytest.approx([0.0, 1.0, 1.0], abs=1e-5)
    if model.config.embedding_type != "complex_order":  # at two positions a word is two states
        assert (twice.entropy, twice.purity) == pytest.approx((0.0, 1.0), abs=1e-5)
        states, norms, basis = states_of(model, ["cat", "dog"])
        weights = softmax(np.log(norms) if model.config.mixture == "weight" else norms)
        rho = sum(p * np.outer(w, w.conj()) for p, w in zip(weights, states, strict=True))
        values = np.linalg.eigvalsh(rho)
        values = values[values > 1e-12]
        assert pair.weights == pytest.approx(weights, abs=1e-6)
        assert pair.entropy == pytest.approx(-(values * np.log(values)).sum(), abs=1e-5)
        assert pair.purity == pytest.approx((values**2).sum(), abs=1e-6)
        assert 0 < pair.entropy < np.log(2)
        outcomes = [np.real(v.conj() @ rho @ v) for v in basis]
        np.testing.assert_allclose(pair.outcomes, outcomes, atol=1e-6)


@pytest.mark.parametrize("name", ["complex", "real"])
def test_two_words_in_superposition(name):
    model = build(name)
    found = interference(model, TOKENIZER, "ant", "elk")
    (a, b), _, basis = states_of(model, ["ant", "elk"])
    b = b * np.exp(-1j * np.angle(np.vdot(a, b)))  # in phase
    assert np.vdot(a, b).real == pytest.approx(abs(np.vdot(a, b)))
    both = (a + b) / np.linalg.norm(a + b)
    alpha, beta = basis.conj() @ a, basis.conj() @ b
    np.testing.assert_allclose(found.apart, (np.abs(alpha) ** 2 + np.abs(beta) ** 2) / 2, atol=1e-6)
    np.testing.assert_allclose(found.together, np.abs(basis.conj() @ both) ** 2, atol=1e-6)
    np.testing.assert_allclose(found.interference, (np.abs(alpha + beta) ** 2 / 2 - found.apart), atol=1e-6)
    swapped = interference(model, TOKENIZER, "elk", "ant")
    np.testing.assert_allclose(swapped.together, found.together, atol=1e-6)
    same = interference(model, TOKENIZER, "elk", "elk")
    np.testing.assert_allclose(same.together, same.apart, atol=1e-6)


def test_the_phase_of_a_word_is_no_part_of_it():
    model = Case("complex_quantum", "complex").trained(vocab_size=len(VOCABULARY), embedding_type="complex_vanilla")
    found = interference(model, TOKENIZER, "ant", "elk")
    with torch.no_grad():
        model.get_input_embeddings().words.phase[VOCABULARY["elk"]] += 1.3
    np.testing.assert_allclose(interference(model, TOKENIZER, "ant", "elk").together, found.together, atol=1e-6)


def test_figures():
    pytest.importorskip("matplotlib", reason='needs the extra analysis: pip install -e ".[analysis]"')
    model = build()
    figure = plot_outcome_words(outcome_words(model, TOKENIZER, range(5), count=3))
    assert [axis.get_title() for axis in figure.axes[:5]] == [f"outcome {k}" for k in range(5)]
    (text,) = text_states(model, TOKENIZER, ["cat dog elk"])
    (axis,) = plot_text_state(text).axes
    assert [bar.get_height() for bar in axis.patches] == text.weights
    assert [label.get_text() for label in axis.get_xticklabels()] == ["cat", "dog", "elk"]
    found = interference(model, TOKENIZER, "ant", "elk")
    (axis,) = plot_interference(found, count=4).axes
    shown = [int(label.get_text()) for label in axis.get_xticklabels()]
    changes = np.abs(np.subtract(found.together, found.apart))
    assert sorted(shown) == sorted(np.argsort(-changes)[:4])
    assert [bar.get_height() for bar in axis.patches[4:]] == [found.together[k] for k in shown]


def test_what_is_refused():
    model = build()
    other = ComplexFastTextModel(ComplexFastTextConfig(vocab_size=30, hidden_size=8)).eval()
    refused("must be a complex_quantum model, got ComplexFastTextModel", outcome_words, other, TOKENIZER)
    refused(r"Call model.eval\(\)", text_states, build().train(), TOKENIZER, ["cat"])
    refused(r"must lie in \[0, 18\), got \[18\]", outcome_words, model, TOKENIZER, [18])
    refused(r"must be in the vocabulary, got \['fox'\]", interference, model, TOKENIZER, "cat", "fox")
    refused("must not be special tokens", interference, model, TOKENIZER, "cat", "<pad>")
    refused("texts must have at least one token each, got ''", text_states, model, TOKENIZER, [""])
    refused(r"Pass \[text\]", text_states, model, TOKENIZER, "cat", error=TypeError)
    larger = build_tokenizer([" ".join(f"w{i}" for i in range(20))], "whitespace")
    refused("must fit the model's 8 words", outcome_words, model, larger)
