# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Padding, company in the batch and positions: what must and what must not change a result."""

import itertools

import pytest
import torch
from small_models import ATTENTIONS, EMBEDDINGS, FIELDS, HEADS, build, first, text

from complex_transformers import (
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
)


def variants():
    """Every attention; every norm and embedding with it once, in both fields."""
    for (score, normalization, field), norm in itertools.product(ATTENTIONS, ("layer", "rms", "batch")):
        yield field, score, normalization, norm, "complex_order"
    for field, embedding, norm in itertools.product(FIELDS, EMBEDDINGS[1:], ("layer", "rms", "batch")):
        yield field, "real" if field == "real" else "modulus", "softmax", norm, embedding


@pytest.mark.parametrize(("field", "score", "normalization", "norm", "embedding"), list(variants()))
def test_padding_and_company_never_change_a_result(field, score, normalization, norm, embedding):
    model = build(
        number_field=field,
        attention_score=score,
        attention_normalization=normalization,
        norm_type=norm,
        embedding_type=embedding,
        norm_position="pre" if norm == "rms" else "post",
    )
    sentence, longer = text(5)[0], text(9)[0]
    ids = torch.zeros(3, 9, dtype=torch.long)
    mask = torch.zeros_like(ids)
    ids[0, :5], mask[0, :5] = sentence, 1
    ids[1], mask[1] = longer, 1
    ids[2, 4:], mask[2, 4:] = sentence, 1
    ids[0, 5:], ids[2, :4] = 7, 11  # what stands in the padding does not matter
    alone = first(model, input_ids=sentence[None])[0]
    other = first(model, input_ids=longer[None])[0]
    together = first(model, input_ids=ids, attention_mask=mask)
    torch.testing.assert_close(together[0, :5], alone, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together[2, 4:], alone, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together[1], other, atol=1e-5, rtol=1e-5)
    # The test could not fail if the output did not depend on the words around a token, or if it were constant.
    changed = sentence.clone()
    changed[0] = (changed[0] + 1) % 37 + 3
    assert (first(model, input_ids=changed[None])[0, -1] - alone[-1]).abs().max() > 1e-3
    assert alone.std() > 0.1


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("head", HEADS)
def test_heads_ignore_padding(head, field):
    model = build(head, number_field=field)
    ids = text(6)
    padded = torch.cat([torch.full((1, 4), 9), ids, torch.full((1, 3), 8)], 1)
    mask = torch.tensor([[0] * 4 + [1] * 6 + [0] * 3])
    alone, together = first(model, input_ids=ids), first(model, input_ids=padded, attention_mask=mask)
    if head is not ComplexOrderForSequenceClassification:
        together = together[:, 4:10]
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_training_with_masked_rows_does_not_see_other_rows(norm):
    model = build(ComplexOrderForSequenceClassification, norm_type=norm, hidden_dropout_prob=0.0,
                  attention_probs_dropout_prob=0.0).train()  # fmt: skip
    ids = text(6, batch=3)
    torch.testing.assert_close(model(input_ids=ids)[0][:1], model(input_ids=ids[:1])[0], atol=1e-5, rtol=1e-5)


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


def test_positions_count_from_one_and_can_be_given():
    model = build(frequency_init="uniform")
    ids = text(6)
    plain = first(model, input_ids=ids)
    torch.testing.assert_close(first(model, input_ids=ids, position_ids=torch.arange(1, 7)[None]), plain)
    assert (first(model, input_ids=ids, position_ids=torch.arange(6)[None]) - plain).abs().max() > 1e-3
    # Given positions are the truth, whatever the mask says.
    spread = torch.tensor([[3, 1, 4, 1, 5, 9]])
    expected = first(model, inputs_embeds=model.embed_tokens(ids, position_ids=spread))
    torch.testing.assert_close(first(model, input_ids=ids, position_ids=spread), expected)


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


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_embeds_are_final_embeddings(embedding):
    model = build(ComplexOrderForTokenClassification, embedding_type=embedding)
    ids, mask = text(6, batch=2), torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]])
    embeds = model.get_input_embeddings()(ids, attention_mask=mask)
    assert embeds.shape == (2, 6, 16)
    torch.testing.assert_close(
        first(model, inputs_embeds=embeds, attention_mask=mask), first(model, input_ids=ids, attention_mask=mask)
    )


def test_eager_equals_sdpa_for_the_real_score():
    for field in FIELDS:
        eager = build(number_field=field, attention_score="real", attn_implementation="eager")
        sdpa = build(number_field=field, attention_score="real", attn_implementation="sdpa")
        assert (eager.config._attn_implementation, sdpa.config._attn_implementation) == ("eager", "sdpa")
        sdpa.load_state_dict(eager.state_dict())
        ids, mask = text(7, batch=2), torch.tensor([[1] * 7, [0] * 3 + [1] * 4])
        out = [m(input_ids=ids, attention_mask=mask)[0] * mask[..., None] for m in (eager, sdpa)]
        torch.testing.assert_close(*out, atol=1e-5, rtol=1e-5)
        for value in out:
            value.square().sum().backward()
        for (name, a), b in zip(eager.named_parameters(), sdpa.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, atol=1e-4, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}")
        # sdpa returns no weights: had it fallen back to eager it would.
        assert sdpa.layers[0].self_attn(torch.randn(1, 3, 16))[1] is None


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
    torch.testing.assert_close(out.hidden_states[0], embeds)
    assert len(out.hidden_states) == 3
    for weights in out.attentions:
        parts = weights.chunk(2, -1) if normalization == "split_softmax" else [weights]
        for part in parts:
            assert part.shape == (2, 2, 5, 5)
            assert part[1, :, :, 3:].abs().max() < 1e-20  # nothing attends to padding
            if normalization != "probability_amplitude":
                torch.testing.assert_close(part.sum(-1), torch.ones(2, 2, 5))
