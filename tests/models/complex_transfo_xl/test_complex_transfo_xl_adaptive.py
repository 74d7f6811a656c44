# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The head as an adaptive softmax: its loss is that of its log-probabilities, tied or with narrow tails."""

import pytest
import torch
from small_transfo_xl import build

from complex_transformers.nn import AdaptiveReadout
from families import REAL
from family_inputs import words

ADAPTIVE = {
    "one width": {"cutoffs": (8, 20)},
    "narrow tails": {"cutoffs": (8, 20), "div_value": 2},
    "narrow tails of moduli": {"cutoffs": (8, 20), "div_value": 2, "lm_readout": "feature_modulus"},
    "tied to amplitudes": {"cutoffs": (20,), "tie_word_embeddings": True, "lm_readout": "feature_modulus"},
    "real, narrow tails": {"cutoffs": (8, 20), "div_value": 4, **REAL, "embedding_type": "word"},
    "real, tied": {"cutoffs": (8, 20), "tie_word_embeddings": True, **REAL, "embedding_type": "word"},
}
every_head = pytest.mark.parametrize("changes", ADAPTIVE.values(), ids=ADAPTIVE.keys())


@every_head
def test_the_loss_is_that_of_the_log_probabilities(changes):
    model = build(**changes)
    ids = words(9, 3)
    out = model(ids)
    assert out.loss is None
    torch.testing.assert_close(out.logits.exp().sum(-1), torch.ones(3, 9))
    labels = ids.clone()
    labels[0, 4:] = -100
    items = torch.tensor(50)
    plain = {"logits": out.logits, "vocab_size": 30}  # a softmax of log-probabilities is themselves
    for options in ({}, {"num_items_in_batch": items}, {"num_items_in_batch": 50}):
        given = model(ids, labels=labels, **options)
        assert given.logits is None
        torch.testing.assert_close(given.loss, model.loss_function(labels=labels, **plain, **options))
        shifted = model(ids, shift_labels=labels, **options).loss
        torch.testing.assert_close(shifted, model.loss_function(labels=None, shift_labels=labels, **plain, **options))
    assert model(ids, labels=torch.full_like(ids, -100), num_items_in_batch=items).loss == 0


@every_head
def test_full_logits_are_not_computed_for_the_loss(changes, monkeypatch):
    model = build(**changes)
    monkeypatch.setattr(AdaptiveReadout, "forward", lambda *args: pytest.fail("computed all log-probabilities"))
    model(words(5), labels=words(5)).loss.backward()
    assert all(p.grad is not None for p in model.parameters())


@every_head
def test_a_larger_vocabulary_keeps_the_words_before_the_last_cluster(changes):
    model, ids, last = build(**changes), words(5), changes["cutoffs"][-1]
    before = model(ids).logits
    model.resize_token_embeddings(33)
    after = model(ids).logits
    assert after.shape[-1] == model.config.vocab_size == 33
    torch.testing.assert_close(after[..., :last], before[..., :last])
    with pytest.raises(ValueError, match=f"must be larger than the last cutoff {last}, got {last}"):
        model.resize_token_embeddings(last)
    assert model(ids).logits.shape[-1] == 33


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_has_log_probabilities_of_float32(dtype):
    model, ids = build(cutoffs=(8, 20), div_value=2), words(20, 2)
    expected = model(ids, labels=ids).loss
    low = model.to(dtype)
    assert low(ids).logits.dtype == torch.float32
    torch.testing.assert_close(low(ids, labels=ids).loss, expected, rtol=0.05, atol=0.0)


def test_frequent_words_have_full_width_and_rare_ones_fewer_parameters():
    sizes = [
        sum(p.numel() for p in build(cutoffs=(8, 20), div_value=divisor).lm_head.parameters()) for divisor in (1, 2, 4)
    ]
    assert sizes == [32 * 17, 10 * 17 + 8 * 16 + 12 * 9 + 4 * 16 + 10 * 5, 10 * 17 + 4 * 16 + 12 * 5 + 16 + 10 * 2]


def test_wrong_labels_and_layers_are_named():
    model = build(cutoffs=(8, 20), div_value=2)
    with pytest.raises(ValueError, match=r"labels must have the shape \(1, 2\), got \(1, 5\)"):
        model(words(5), labels=words(5), logits_to_keep=2)
    assert model.get_output_embeddings() is None
    with pytest.raises(ValueError, match="div_value must be 1 to set output embeddings, got 2"):
        model.set_output_embeddings(torch.nn.Linear(16, 30))
