# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text classifiers: padding inside a text, the order of words."""

import pytest
import torch
from small_classifiers import (
    EMBEDDINGS,
    FAMILIES,
    FIELDS,
    VARIANTS,
    classifier,
    first,
    model,
    name_of,
    padded_batch,
    text,
)

CASES = [(family, changes, field) for family, changes in VARIANTS for field in FIELDS]


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


@pytest.mark.parametrize(("family", "changes", "field"), CASES, ids=name_of)
def test_padding_inside_a_text_changes_no_result(family, changes, field):
    module = classifier(family, number_field=field, **changes)
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


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("family", ["cnn", "rnn"])
def test_hidden_states_are_zero_at_padding(family, field):
    hidden = first(model(family, number_field=field), input_ids=batch()[2], attention_mask=batch()[3])
    assert not hidden[batch()[3] == 0].any()


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
