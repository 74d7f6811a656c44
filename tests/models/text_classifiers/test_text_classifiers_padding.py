# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text classifiers: padding, other rows of a batch, positions, and NaN where it must not spread."""

import pytest
import torch
from small_classifiers import EMBEDDINGS, FAMILIES, FIELDS, VARIANTS, classifier, first, model, name_of, padded_batch, text

CASES = [
    *[(family, changes, field, "complex_order") for family, changes in VARIANTS for field in FIELDS],
    *[(family, {}, field, embedding) for family in FAMILIES for field in FIELDS for embedding in EMBEDDINGS[1:]],
]
NAN = float("nan")


def batch():
    """One sentence four times, padded in every way, and a longer one; its words, and the columns they are in."""
    sentence, longer = text(5)[0].tolist(), text(9)[0].tolist()
    a, b, c, d, e = sentence
    rows = [
        [*sentence, None, None, None, None],
        [None, None, None, None, *sentence],
        [None, a, None, b, c, None, None, d, e],
        [None, None, *sentence, None, None],
        longer,
    ]
    return sentence, longer, *padded_batch(*rows)


@pytest.mark.parametrize(("family", "changes", "field", "embedding"), CASES, ids=name_of)
def test_padding_and_company_never_change_a_result(family, changes, field, embedding):
    module = classifier(family, number_field=field, embedding_type=embedding, **changes)
    sentence, longer, ids, mask = batch()
    alone = first(module, input_ids=torch.tensor([sentence]))
    together = first(module, input_ids=ids, attention_mask=mask)
    torch.testing.assert_close(together[:4], alone.expand(4, -1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together[4:], first(module, input_ids=torch.tensor([longer])), atol=1e-5, rtol=1e-5)
    # The test could not fail if texts had equal logits, or if the output did not depend on each word.
    assert (together[4] - alone).abs().max() > 1e-3
    words = torch.tensor([sentence])
    changes = [first(module, input_ids=words.index_fill(1, torch.tensor(n), 2)) for n in range(5)]
    influence = [(logits - alone).abs().max() > 1e-5 for logits in changes]
    assert any(influence) if family == "cnn" else all(influence)  # a maximum may pass over a word
    # The hidden states of the words, too.
    hidden = first(module.model, input_ids=torch.tensor([sentence]))[0]
    for row, keep in zip(first(module.model, input_ids=ids, attention_mask=mask)[:4], mask[:4].bool(), strict=True):
        torch.testing.assert_close(row[keep], hidden, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.int32])
@pytest.mark.parametrize("family", FAMILIES)
def test_mask_of_any_dtype(family, dtype):
    module = classifier(family)
    _, _, ids, mask = batch()
    expected = first(module, input_ids=ids, attention_mask=mask)
    assert torch.equal(first(module, input_ids=ids, attention_mask=mask.to(dtype)), expected)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_training_does_not_see_other_rows(family, field):
    module = classifier(family, number_field=field, hidden_dropout_prob=0.0).train()
    ids = text(6, batch=3)
    torch.testing.assert_close(module(input_ids=ids)[0][:1], module(input_ids=ids[:1])[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("family", "changes"), VARIANTS, ids=name_of)
def test_nan_stays_in_its_row(family, changes, field):
    module = classifier(family, number_field=field, **changes)
    embeds = torch.randn(3, 5, 16)
    mask = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 0], [0, 1, 1, 1, 1]])
    for keep in (None, mask):
        clean = first(module, inputs_embeds=embeds, attention_mask=keep)
        poisoned = embeds.clone()
        poisoned[1, 2, 3] = NAN
        out = first(module, inputs_embeds=poisoned, attention_mask=keep)
        assert torch.equal(out[[0, 2]], clean[[0, 2]])
        assert out[1].isnan().any()


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("family", "changes"), VARIANTS, ids=name_of)
def test_padding_has_no_influence_whatever_it_holds(family, changes, field):
    module = classifier(family, number_field=field, **changes)
    mask = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 0, 1, 0, 1]])
    embeds = torch.randn(3, 5, 16)
    clean = first(module, inputs_embeds=embeds, attention_mask=mask)
    for poison in (NAN, float("inf"), 1e30):
        poisoned = embeds.masked_fill(mask.unsqueeze(-1) == 0, poison).requires_grad_()
        out = module(inputs_embeds=poisoned, attention_mask=mask).logits
        assert torch.equal(out, clean)
        out.sum().backward()
        assert not poisoned.grad[mask == 0].any()
        assert poisoned.grad.isfinite().all()
        assert all(p.grad is None or p.grad.isfinite().all() for p in module.parameters())
        module.zero_grad()


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("family", ["cnn", "rnn"])
def test_hidden_states_are_zero_at_padding(family, field):
    hidden = first(model(family, number_field=field), input_ids=batch()[2], attention_mask=batch()[3])
    assert not hidden[batch()[3] == 0].any()


@pytest.mark.parametrize("family", FAMILIES)
def test_positions_count_from_one_and_can_be_given(family):
    module = classifier(family, frequency_init="uniform")
    ids = text(6)
    plain = first(module, input_ids=ids)
    torch.testing.assert_close(first(module, input_ids=ids, position_ids=torch.arange(1, 7)[None]), plain)
    assert (first(module, input_ids=ids, position_ids=torch.arange(6)[None]) - plain).abs().max() > 1e-4
    spread = torch.tensor([[3, 1, 4, 1, 5, 9]])
    expected = first(module, inputs_embeds=module.model.embed_tokens(ids, position_ids=spread))
    torch.testing.assert_close(first(module, input_ids=ids, position_ids=spread), expected)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("family", FAMILIES)
def test_order_matters_exactly_where_it_should(family, embedding):
    frequency = {"frequency_init": "uniform"} if embedding == "complex_order" else {}
    # One word under a kernel, and a graph of all words, see no order of their own. Nor do means: the mean of
    # word + position is the same for every order, which that of waves is not.
    blind = {"cnn": {"kernel_sizes": [1]}, "gcn": {"window_size": 7}}.get(family, {})
    module = classifier(family, embedding_type=embedding, **frequency, **blind)
    ids = text(7)
    difference = (first(module, input_ids=ids) - first(module, input_ids=ids.flip(1))).abs().max()
    added = family in ("fasttext", "gcn") and embedding in ("learned_position", "sinusoidal_position")
    if family != "rnn" and (added or embedding in ("word", "complex_vanilla")):
        assert difference < 1e-5
    else:
        assert difference > 1e-4


def test_neighbours_have_no_direction():
    ids = text(7)
    shuffled = ids[:, torch.tensor([2, 0, 6, 1, 5, 3, 4])]
    module = classifier("gcn", embedding_type="word")
    expected = first(module, input_ids=ids)
    torch.testing.assert_close(first(module, input_ids=ids.flip(1)), expected, atol=1e-5, rtol=1e-5)
    assert (first(module, input_ids=shuffled) - expected).abs().max() > 1e-4


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("family", FAMILIES)
def test_embeds_are_final_embeddings(family, embedding):
    module = classifier(family, embedding_type=embedding)
    _, _, ids, mask = batch()
    embeds = module.get_input_embeddings()(ids, attention_mask=mask)
    assert embeds.shape == (5, 9, 16)
    expected = first(module, input_ids=ids, attention_mask=mask)
    torch.testing.assert_close(first(module, inputs_embeds=embeds, attention_mask=mask), expected)
