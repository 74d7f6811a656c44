# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every text classifier against its equations in complex128."""

import numpy as np
import pytest
import torch
from small_classifiers import CLASSIC, EMBEDDINGS, FIELDS, TEXTS, classifier, first, name_of, shaken, text
from text_oracles import logits

from complex_transformers.nn.readout import READOUTS
from families import FAMILIES

CASES = [
    *[
        (name, own)
        for name in CLASSIC
        for _, own in (*FAMILIES[name].variants.values(), *FAMILIES[name].more.values())
    ],
    *[(family, {"number_field": f, "embedding_type": e}) for family in CLASSIC for f in FIELDS for e in EMBEDDINGS],
    *[("complex_order", {"embedding_type": e}) for e in EMBEDDINGS],
    *[(family, {"readout": name}) for family in TEXTS for name in sorted({*READOUTS} - {"modulus"})],
    *[
        ("complex_text_rnn", {"rnn_type": kind, "gate": gate})
        for kind in ("lstm", "gru")
        for gate in ("modulus", "split")
    ],
    *[("complex_text_rnn", {"rnn_type": kind, "state_activation": "hirose_tanh"}) for kind in ("lstm", "gru", "rnn")],
    ("complex_text_rnn", {"rnn_type": "lstm", "state_activation": "split_relu"}),
]


def padded_batch(*rows):
    """Rows of words and of None for padding, each with its own mask; padding holds words of its own."""
    ids = torch.tensor([[5 + place if word is None else int(word) for place, word in enumerate(row)] for row in rows])
    return ids, torch.tensor([[0 if word is None else 1 for word in row] for row in rows])


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


def assert_equals_oracle(module, ids, mask, adjacency=None):
    expected = logits(module, ids, mask, adjacency)
    assert np.ptp(expected, axis=0).min() > 1e-3  # texts differ: a constant would prove nothing
    graph = {} if adjacency is None else {"adjacency": adjacency}
    inputs = {"input_ids": ids, "attention_mask": mask, **graph}
    # The phases of the fixed sinusoids are float32 in every dtype.
    exact = 1e-6 if module.config.embedding_type == "sinusoidal_position" else 1e-9
    np.testing.assert_allclose(first(module.double(), **inputs).numpy(), expected, rtol=exact, atol=exact)
    np.testing.assert_allclose(first(module.float(), **inputs).double().numpy(), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("family", "changes"), CASES, ids=name_of)
def test_classifier_equals_the_oracle(family, changes):
    assert_equals_oracle(shaken(classifier(family, **changes)), *batch())


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("lengths", [(1, 1), (1, 2), (3, 1), (3, 3), (2, 4)])
@pytest.mark.parametrize("side", ["left", "right"])
def test_texts_shorter_than_a_kernel(side, lengths, field):
    module = shaken(classifier("complex_text_cnn", number_field=field, kernel_sizes=[3, 4, 5]))
    rows = []
    for length in lengths:
        words, padding = text(length)[0].tolist(), [None] * (max(lengths) - length)
        rows.append([*padding, *words] if side == "left" else [*words, *padding])
    assert_equals_oracle(module, *padded_batch(*rows))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("kind", ["weights", "directed", "none", "bool"])
def test_given_graph(kind, field):
    module = shaken(classifier("complex_text_gcn", number_field=field))
    ids, mask = batch()
    weights = torch.rand(5, 7, 7) * (torch.rand(5, 7, 7) < 0.4)
    adjacency = {
        "weights": torch.maximum(weights, weights.mT),
        "directed": weights.triu(1),  # as a parser gives it: from head to dependent
        "none": torch.zeros(5, 7, 7, dtype=torch.long),
        "bool": weights > 0,
    }[kind]
    assert_equals_oracle(module, ids, mask, adjacency)
    changed = first(module, input_ids=ids, attention_mask=mask, adjacency=adjacency)
    assert (changed - first(module, input_ids=ids, attention_mask=mask)).abs().max() > 1e-3
