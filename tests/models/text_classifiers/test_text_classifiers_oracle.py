# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every text classifier against its equations in complex128."""

import numpy as np
import pytest
import torch
from small_classifiers import EMBEDDINGS, FIELDS, VARIANTS, classifier, first, name_of, padded_batch, shaken, text
from text_oracles import logits

COMPLEX_ONLY = [
    *[("rnn", {"rnn_type": kind, "gate": "split"}) for kind in ("lstm", "gru")],
    *[("rnn", {"rnn_type": kind, "state_activation": "hirose_tanh"}) for kind in ("lstm", "gru", "rnn")],
    ("rnn", {"rnn_type": "lstm", "state_activation": "split_relu"}),
    *[
        (family, {"readout": readout})
        for family in ("fasttext", "cnn", "rnn", "gcn")
        for readout in ("squared_modulus", "concat", "feature_modulus")
    ],
]
CASES = [
    *[(family, changes, field, "complex_order") for family, changes in VARIANTS for field in FIELDS],
    *[(family, {}, field, e) for family in ("fasttext", "cnn", "rnn", "gcn") for field in FIELDS for e in EMBEDDINGS],
    *[(family, changes, "complex", "complex_order") for family, changes in COMPLEX_ONLY],
]


def batch():
    """Five texts: in full, padded on either side, with holes, and of one word, shorter than a kernel."""
    w = [text(7)[0].tolist() for _ in range(5)]
    return padded_batch(
        w[0],
        [*w[1][:4], None, None, None],
        [None, None, *w[2][:5]],
        [None, w[3][0], None, w[3][1], w[3][2], None, w[3][3]],
        [None, None, w[4][0], None, None, None, None],
    )


def assert_equals_oracle(module, family, ids, mask, adjacency=None):
    expected = logits(module, family, ids, mask, adjacency)
    assert np.ptp(expected, axis=0).min() > 1e-3  # texts differ: a constant would prove nothing
    graph = {} if adjacency is None else {"adjacency": adjacency}
    inputs = {"input_ids": ids, "attention_mask": mask, **graph}
    # The phases of the fixed sinusoids are float32 in every dtype.
    exact = 1e-6 if module.config.embedding_type == "sinusoidal_position" else 1e-9
    np.testing.assert_allclose(first(module.double(), **inputs).numpy(), expected, rtol=exact, atol=exact)
    np.testing.assert_allclose(first(module.float(), **inputs).double().numpy(), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("family", "changes", "field", "embedding"), CASES, ids=name_of)
def test_classifier_equals_the_oracle(family, changes, field, embedding):
    frequency = {"frequency_init": "uniform"} if embedding == "complex_order" else {}
    module = shaken(classifier(family, number_field=field, embedding_type=embedding, **frequency, **changes))
    assert_equals_oracle(module, family, *batch())


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("lengths", [(1, 2), (3, 1), (2, 4)])
@pytest.mark.parametrize("side", ["left", "right", "none"])
def test_texts_shorter_than_a_kernel(side, lengths, field):
    module = shaken(classifier("cnn", number_field=field, kernel_sizes=[3, 4, 5]))
    longest = max(lengths)
    for length in lengths:
        words, padding = text(length)[0].tolist(), [None] * (longest - length)
        if side == "none":
            rows = [words, text(length)[0].tolist()]
        else:
            other = text(longest)[0].tolist()
            rows = [[*padding, *words] if side == "left" else [*words, *padding], other]
        assert_equals_oracle(module, "cnn", *padded_batch(*rows))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("kind", ["weights", "directed", "none", "bool"])
def test_given_graph(kind, field):
    module = shaken(classifier("gcn", number_field=field))
    ids, mask = batch()
    weights = torch.rand(5, 7, 7) * (torch.rand(5, 7, 7) < 0.4)
    adjacency = {
        "weights": torch.maximum(weights, weights.mT),
        "directed": weights.triu(1),  # as a parser gives it: from head to dependent
        "none": torch.zeros(5, 7, 7, dtype=torch.long),
        "bool": weights > 0,
    }[kind]
    assert_equals_oracle(module, "gcn", ids, mask, adjacency)
    changed = first(module, input_ids=ids, attention_mask=mask, adjacency=adjacency)
    assert (changed - first(module, input_ids=ids, attention_mask=mask)).abs().max() > 1e-3


def test_edges_of_padding_do_not_count():
    module = classifier("gcn")
    ids, mask = batch()
    adjacency = torch.rand(5, 7, 7)
    clean = first(module, input_ids=ids, attention_mask=mask, adjacency=adjacency)
    for poison in (1e30, -1.0, float("nan"), float("inf")):
        pairs = mask.unsqueeze(-1) * mask.unsqueeze(-2) == 0
        poisoned = adjacency.masked_fill(pairs, poison)
        assert torch.equal(first(module, input_ids=ids, attention_mask=mask, adjacency=poisoned), clean)
