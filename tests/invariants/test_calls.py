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


MAMBA = Case("complex_mamba", "complex")
STREAMS = [Case("complex_transfo_xl", "modulus"), Case("complex_recurrent_lm", "lstm")]


@pytest.mark.parametrize("case", STREAMS, ids=str)
@torch.no_grad()
def test_a_stream_accepts_the_positions_that_number_it(case):
    model, ids = case.model(), words(6, 2)
    mask = torch.tensor([[0, 0, 1, 1, 1, 1], [1] * 6])
    expected = model(ids, attention_mask=mask).logits
    positions = torch.tensor([[7, 7, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5]])  # those of padding say nothing
    assert torch.equal(model(ids, attention_mask=mask, position_ids=positions).logits, expected)
    cache = model(ids[:, :4], use_cache=True, position_ids=torch.arange(4)[None]).cache
    model(ids[:, 4:], cache=cache, position_ids=torch.tensor([[4, 5]]))
    with pytest.raises(ValueError, match="position_ids must count the tokens of a stream from 0, got"):
        model(ids, position_ids=torch.tensor([[0, 1, 2, 0, 1, 2]]))
    with pytest.raises(ValueError, match="position_ids must count the tokens of a stream from 0, got"):
        model(ids[:1], cu_seq_lens_q=torch.tensor([0, 3, 6]))


@pytest.mark.parametrize("case", [Case("complex_llama", "complex"), MAMBA, *STREAMS], ids=str)
def test_a_row_of_padding_alone_does_not_stop_generation(case):
    model, ids = case.model(), words(4, 2)
    mask = torch.tensor([[1, 1, 1, 1], [0, 0, 0, 0]])
    options = {"max_new_tokens": 3, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    found = model.generate(ids, attention_mask=mask, **options)
    assert torch.equal(found[:1], model.generate(ids[:1], **options))


def test_boundaries_of_packed_rows_are_read_by_every_head():
    boundaries, ids = torch.tensor([0, 3, 6]), words(6)
    for case in (Case("complex_order", "words"), Case("complex_llama", "complex"), MAMBA):
        model = case.model()
        expected = torch.cat([model(ids[:, :3]).logits, model(ids[:, 3:]).logits], dim=1)
        torch.testing.assert_close(model(ids, cu_seq_lens_q=boundaries).logits, expected)
    classifiers = (("complex_order", "real score"), ("complex_llama", "widely linear"), ("complex_mamba", "mimo"))
    for case in (Case(*names) for names in classifiers):
        with pytest.raises(ValueError, match="position_ids restart within a row"):
            case.model()(ids, cu_seq_lens_q=boundaries)


@pytest.mark.parametrize("case", [MAMBA, *STREAMS, Case("synconmt", "bahdanau")], ids=str)
def test_a_model_with_a_cache_of_its_own_names_the_option(case):
    model = case.model()
    with pytest.raises(ValueError, match="cache_implementation must be None"):
        model.generate(**batch(rows(model, (5, 5))), max_new_tokens=2, cache_implementation="static")
