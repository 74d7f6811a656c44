# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Models are called as trainers and other people's subclasses call a model of Transformers."""

import copy

import pytest
import torch
from laws import law_of_families, law_of_first
from transformers.utils import ModelOutput

from families import Case
from family_inputs import batch, rows, words


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


@pytest.mark.parametrize(
    "case", [Case("complex_transfo_xl", "modulus"), Case("complex_recurrent_lm", "lstm")], ids=str
)
@torch.no_grad()
def test_a_stream_accepts_the_positions_that_number_it(case):
    model, ids = case.model(), words(6, 2)
    mask = torch.tensor([[0, 0, 1, 1, 1, 1], [1] * 6])
    expected = model(ids, attention_mask=mask).logits
    positions = torch.tensor([[7, 7, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5]])  # those of padding say nothing
    assert torch.equal(model(ids, attention_mask=mask, position_ids=positions).logits, expected)
    cache = model(ids[:, :4], use_cache=True, position_ids=torch.arange(4)[None]).cache
    model(ids[:, 4:], cache=cache, position_ids=torch.tensor([[4, 5]]))
    with pytest.raises(ValueError, match="position_ids must number the tokens of a stream"):
        model(ids, position_ids=torch.tensor([[0, 1, 2, 0, 1, 2]]))
