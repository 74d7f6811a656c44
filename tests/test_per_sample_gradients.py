# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Gradients of single samples over token ids by ``torch.func``."""

import pytest
import torch
from torch.func import functional_call, grad, vmap

import complex_transformers.nn as cnn
from families import CASES, CLASSIFIER
from family_inputs import batch, rows
from refusals import refused

CLASSIFIERS = [case for case in CASES if case.head[0] == CLASSIFIER]
WAVES = next(case for case in CLASSIFIERS if case.family == "complex_order" and case.config().damping == "learned")


def gradients_one_by_one(model, batches):
    """The gradients of each batch, stacked, by backward passes."""
    found = []
    for inputs in batches:
        model.zero_grad()
        model(**inputs).loss.backward()
        found.append({name: parameter.grad for name, parameter in model.named_parameters()})
    model.zero_grad()
    return {name: torch.stack([one[name] for one in found]) for name in found[0]}


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=str(case), marks=[] if case.is_default else pytest.mark.full) for case in CLASSIFIERS],
)
def test_vmap_of_gradients_over_token_ids(case):
    model = case.trained().double()
    samples = rows(model, (5, 5), labels=True)

    def loss(parameters, sample):
        return functional_call(model, parameters, (), {name: value[None] for name, value in sample.items()}).loss

    found = vmap(grad(loss), (None, 0))(dict(model.named_parameters()), batch(samples))
    for name, expected in gradients_one_by_one(model, [batch([one]) for one in samples]).items():
        torch.testing.assert_close(found[name], expected, rtol=1e-7, atol=1e-9)


def test_vmap_over_masks_of_scores():
    """Transformers reads the values of masks of two axes, which no transform allows."""
    model = WAVES.trained().double()
    padded = batch(rows(model, (5, 3), labels=True))
    padded["attention_mask"] = padded["attention_mask"].bool()[:, None, None].expand(2, 1, 5, 5)

    def loss(parameters, sample):
        return functional_call(model, parameters, (), {name: value[None] for name, value in sample.items()}).loss

    found = vmap(grad(loss), (None, 0))(dict(model.named_parameters()), padded)
    alone = [{name: value[[row]] for name, value in padded.items()} for row in range(2)]
    for name, expected in gradients_one_by_one(model, alone).items():
        torch.testing.assert_close(found[name], expected, rtol=1e-7, atol=1e-9)


def test_vmap_over_ids_and_positions_of_a_table():
    table = cnn.WordPositionEmbedding(10, 8, embedding_type="learned_position", max_position_embeddings=6)
    ids, positions = torch.randint(10, (3, 1, 4)), torch.randint(1, 7, (3, 1, 4))
    expected = torch.stack([table(*pair) for pair in zip(ids, positions, strict=True)])
    torch.testing.assert_close(vmap(table)(ids, positions), expected)


def test_values_are_checked_outside_of_transforms():
    table = cnn.ComplexOrderEmbedding(10, 8)
    refused(r"input_ids must lie in \[0, 10\), got 10", table, torch.tensor([[3, 10]]))
