# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Models are called as trainers and other people's subclasses call a model of Transformers."""

import copy

import pytest
import torch
from laws import law_of_families, law_of_first
from transformers.utils import ModelOutput

from family_inputs import batch, rows


def same(found, expected):
    """Compare two outputs or tuples, entry by entry."""
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other)


@law_of_families
@torch.no_grad()
def test_the_configuration_may_ask_for_tuples(case):
    model = copy.deepcopy(case.model())  # other tests share the model and its configuration
    inputs = batch(rows(model, labels=True))
    expected = model(**inputs).to_tuple()
    model.config.return_dict = False
    found = model(**inputs)
    assert isinstance(found, tuple)
    assert not isinstance(found, ModelOutput)
    same(found, expected)


@law_of_first
@torch.no_grad()
def test_a_subclass_and_a_replaced_forward_are_called(case):
    model = copy.deepcopy(case.model())
    inputs = batch(rows(model, labels=True))
    expected = model(**inputs).to_tuple()

    class Passing(type(model)):
        def forward(self, *args, extra=None, **kwargs):
            return super().forward(*args, **kwargs)

    passing = Passing(model.config).eval()
    passing.load_state_dict(model.state_dict())
    same(passing(**inputs, extra=1).to_tuple(), expected)
    plain = model.forward
    model.forward = lambda *args, extra=None, **kwargs: plain(*args, **kwargs)  # as TRL's trainers do
    same(model(**inputs, extra=1).to_tuple(), expected)


@law_of_first
@torch.no_grad()
def test_the_old_name_of_the_cache_is_accepted_with_a_warning(case):
    model = case.model()
    if not model.can_generate():
        pytest.skip("has no cache")
    inputs = batch(rows(model))
    expected = model(**inputs, use_cache=True)
    with pytest.warns(FutureWarning, match="past_key_values"):
        found = model(**inputs, use_cache=True, past_key_values=None)
    same(found.to_tuple()[:1], expected.to_tuple()[:1])
