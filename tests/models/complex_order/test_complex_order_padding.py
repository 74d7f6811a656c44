# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Padding, company in the batch and positions: what must and what must not change a result."""

import pytest
import torch
from small_models import ATTENTIONS, EMBEDDINGS, FIELDS, build, first, text

from complex_transformers import (
    ComplexOrderForSequenceClassification,
)


def test_batch_norm_statistics_leave_padding_out():
    settings = {"norm_type": "batch", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    ids = text(6, batch=4)
    padded = torch.cat([torch.full((4, 5), 9), ids], 1)
    mask = torch.tensor([[0] * 5 + [1] * 6] * 4)
    model = build(**settings).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    plain = model(input_ids=ids)[0]
    after_plain = {name: value.clone() for name, value in model.named_buffers()}
    model.load_state_dict(before)
    torch.testing.assert_close(model(input_ids=padded, attention_mask=mask)[0][:, 5:], plain, atol=1e-5, rtol=1e-5)
    for name, value in model.named_buffers():
        torch.testing.assert_close(value, after_plain[name], atol=1e-5, rtol=1e-5)
        assert not torch.equal(value, before[name])


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_order_matters_exactly_where_it_should(embedding):
    frequency = {"frequency_init": "uniform"} if embedding == "complex_order" else {}
    model = build(ComplexOrderForSequenceClassification, embedding_type=embedding, **frequency)
    ids = text(7)
    difference = (first(model, input_ids=ids) - first(model, input_ids=ids.flip(1))).abs().max()
    if embedding in ("word", "complex_vanilla"):
        assert difference < 1e-5
    else:
        assert difference > 1e-4


def test_sdpa_returns_no_weights():
    """Had it fallen back to eager, it would: that both give the same states would say nothing."""
    for field in FIELDS:
        model = build(number_field=field, attention_score="real", attn_implementation="sdpa")
        assert model.layers[0].self_attn(torch.randn(1, 3, 16))[1] is None


@pytest.mark.parametrize(("score", "normalization", "field"), ATTENTIONS)
def test_hidden_states_and_attentions_on_request(score, normalization, field):
    model = build(
        ComplexOrderForSequenceClassification,
        attention_score=score,
        attention_normalization=normalization,
        number_field=field,
        attn_implementation="eager",
    )
    ids, mask = text(5, batch=2), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    plain = model(input_ids=ids, attention_mask=mask)
    assert plain.hidden_states is None
    assert plain.attentions is None
    out = model(input_ids=ids, attention_mask=mask, output_hidden_states=True, output_attentions=True)
    torch.testing.assert_close(out.logits, plain.logits)
    embeds = model.get_input_embeddings()(ids, attention_mask=mask)
    torch.testing.assert_close(out.hidden_states[0], embeds * mask.unsqueeze(-1))
    assert len(out.hidden_states) == 3
    for weights in out.attentions:
        parts = weights.chunk(2, -1) if normalization == "split_softmax" else [weights]
        for part in parts:
            assert part.shape == (2, 2, 5, 5)
            assert part[1, :, :, 3:].abs().max() < 1e-20  # nothing attends to padding
            if normalization != "probability_amplitude":
                torch.testing.assert_close(part.sum(-1), torch.ones(2, 2, 5))
