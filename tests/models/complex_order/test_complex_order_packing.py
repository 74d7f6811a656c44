# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Texts one after the other in a row, as Transformers' collator flattens them: what each alone says."""

import pytest
import torch
from transformers import DataCollatorWithFlattening

from families import CASES, Case
from family_inputs import batch, rows

LENGTHS = (5, 1, 1, 7, 3)
VARIANTS = [case for case in CASES if case.family == "complex_order" and case.model_class.__name__.endswith("LM")]
WORDS = Case("complex_order", "words")


def flattened(texts, start=0):
    collate = DataCollatorWithFlattening(position_ids_start=start)
    return collate([{name: value.tolist() for name, value in text.items()} for text in texts])


def gradients_of(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=str(case), marks=() if case.is_default else pytest.mark.full) for case in VARIANTS]
)
def test_a_flattened_batch_is_the_padded_one(case, start):
    model = case.without_dropout().double().train()  # a batch norm takes the same tokens either way
    texts = rows(model, LENGTHS, labels=True)
    for text in texts:
        text["labels"][0] = -100  # the collator puts it between texts
    flat, padded = flattened(texts, start), batch(texts)
    assert flat["input_ids"].shape == (1, sum(LENGTHS))
    assert "attention_mask" not in flat
    want, found = model(**padded), model(**flat)
    real = padded["attention_mask"].bool()
    torch.testing.assert_close(found.logits[0], want.logits[real])
    torch.testing.assert_close(found.loss, want.loss)
    expected = gradients_of(model, want.loss)
    for name, value in gradients_of(model, found.loss).items():
        torch.testing.assert_close(value, expected[name], msg=name)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("score", ["modulus", "real"])
def test_no_weight_reaches_another_text(score, implementation):
    model = WORDS.trained(attention_score=score, attn_implementation=implementation)
    texts = rows(model, LENGTHS)
    flat = {name: value for name, value in flattened(texts).items() if name != "labels"}
    number = torch.arange(len(LENGTHS)).repeat_interleave(torch.tensor(LENGTHS))
    own = number.unsqueeze(-1) == number
    if implementation == "eager":
        for weights in model(**flat, output_attentions=True).attentions:
            assert (weights[0, :, ~own] == 0).all()
            torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    changed = flat["input_ids"].clone()
    changed[:, number == 3] = changed[:, number == 3].flip(-1)
    with torch.no_grad():
        before, after = model(**flat).logits[0], model(**{**flat, "input_ids": changed}).logits[0]
    torch.testing.assert_close(after[number != 3], before[number != 3])
    assert (after - before)[number == 3].abs().max() > 1e-3


def test_words_without_positions_are_told_apart_by_them():
    model = Case("complex_order", "tied words").trained()
    texts = rows(model, LENGTHS)
    flat = {name: value for name, value in flattened(texts).items() if name != "labels"}
    with torch.no_grad():
        found = model(**flat).logits[0].split(LENGTHS)
        for logits, text in zip(found, texts, strict=True):
            torch.testing.assert_close(logits, model(**batch([text])).logits[0], atol=2e-5, rtol=1e-4)
    with pytest.raises(ValueError, match="position_ids must be None for 'word' embeddings"):
        model(flat["input_ids"], position_ids=torch.arange(sum(LENGTHS)).unsqueeze(0))


def test_positions_that_do_not_return_are_of_one_text():
    """Gaps and places in any order, and one row of positions for all texts; with a mask a row is one text."""
    model = WORDS.trained()
    inputs = batch(rows(model, (6, 6)))
    with torch.no_grad():
        embeds = model.get_input_embeddings()
        for places in ([[3, 1, 4, 1, 5, 9]], [[1, 2, 3, 9, 10, 11]]):
            positions = torch.tensor(places)
            given = {"inputs_embeds": embeds(inputs["input_ids"], position_ids=positions)}
            expected = model(**given).logits
            torch.testing.assert_close(model(**inputs, position_ids=positions).logits, expected)
        packed = torch.tensor([[1, 2, 3, 1, 2, 3]])
        mask = torch.ones(2, 6, dtype=torch.long)
        whole = model(inputs_embeds=embeds(inputs["input_ids"], position_ids=packed)).logits
        torch.testing.assert_close(model(**inputs, position_ids=packed, attention_mask=mask).logits, whole)
        assert (model(**inputs, position_ids=packed).logits - whole).abs().max() > 1e-3


def test_positions_of_a_row_count_from_its_own_first():
    """From 0, as in Transformers, or from 1: whatever stands in another row, or in padding."""
    model = WORDS.trained()
    ids = rows(model, (6,))[0]["input_ids"].expand(3, 6)
    places = torch.tensor([[0, 1, 2, 3, 4, 5], [5, 6, 7, 8, 9, 10], [1, 2, 3, 4, 0, 0]])
    mask = torch.ones(3, 6, dtype=torch.long)
    mask[2, 4:] = 0
    with torch.no_grad():
        together = model(ids, attention_mask=mask, position_ids=places).logits
        for row, real in enumerate((6, 6, 4)):
            alone = model(ids[:1, :real], position_ids=places[row : row + 1, :real]).logits[0]
            torch.testing.assert_close(together[row, :real], alone, atol=2e-5, rtol=1e-4)
        torch.testing.assert_close(together[0], model(ids[:1]).logits[0], atol=2e-5, rtol=1e-4)


def test_one_class_for_several_texts_is_refused():
    flat = flattened(rows(WORDS.model(), LENGTHS))
    del flat["labels"]
    for variant in ("real score", "lifted texts"):
        with pytest.raises(ValueError, match="one output per row, but position_ids restart"):
            Case("complex_order", variant).model()(**flat)
    with pytest.raises(ValueError, match="position_ids restart within a row"):
        Case("complex_order", "real lifted").model()(**flat)
