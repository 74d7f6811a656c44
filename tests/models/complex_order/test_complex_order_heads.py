# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The heads that find an answer in a text and choose one of several, and the Auto classes of both."""

import pytest
import torch
from transformers import AutoModelForMultipleChoice, AutoModelForQuestionAnswering, AutoModelForTextEncoding

from complex_transformers import (
    ComplexOrderForMultipleChoice,
    ComplexOrderForQuestionAnswering,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
)
from families import Case
from family_inputs import batch, rows

VARIANTS = ("words", "real", "lifted texts", "bilinear complex weights")
every_variant = pytest.mark.parametrize(
    "variant", [pytest.param(name, marks=[] if name in ("words", "real") else pytest.mark.full) for name in VARIANTS]
)


def build(head, variant, **changes):
    torch.manual_seed(0)
    model = head(Case("complex_order", variant).config(**{"num_labels": 2, **changes})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def texts_of(model, lengths=(6, 4, 7), side="right"):
    return batch(rows(model, lengths), side)


@every_variant
def test_answers_are_two_labels_of_every_token(variant):
    """The logits are those of a classifier of tokens, and no padding is an answer."""
    model = build(ComplexOrderForQuestionAnswering, variant)
    twin = build(ComplexOrderForTokenClassification, variant)
    twin.model.load_state_dict(model.model.state_dict())
    twin.classifier.load_state_dict(model.qa_outputs.state_dict())
    start, end = torch.tensor([1, 0, 6]), torch.tensor([3, 2, 6])
    losses = []
    for side in ("right", "left"):
        inputs = texts_of(model, side=side)
        mask = inputs["attention_mask"].bool()
        first = mask.long().argmax(-1)
        out = model(**inputs, start_positions=first + start, end_positions=first + end)
        expected = twin(**inputs).logits
        for found, want in ((out.start_logits, expected[..., 0]), (out.end_logits, expected[..., 1])):
            torch.testing.assert_close(found[mask], want[mask])
            assert (found.softmax(-1)[~mask] == 0).all()
        losses.append(out.loss)
        nll = torch.zeros(())
        for row in range(3):
            own = expected[row][mask[row]].log_softmax(0)
            nll = nll - own[start[row], 0] / 6 - own[end[row], 1] / 6
        torch.testing.assert_close(out.loss, nll, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(*losses, atol=1e-5, rtol=1e-5)


def test_texts_without_an_answer_are_left_out():
    model = build(ComplexOrderForQuestionAnswering, "words")
    inputs = texts_of(model)
    places = {"start_positions": torch.tensor([1, -100, 2]), "end_positions": torch.tensor([2, -100, 2])}
    some = {name: value[[0, 2]] for name, value in inputs.items()}
    alone = {name: value[[0, 2]].unsqueeze(-1) for name, value in places.items()}  # a column, as collators may have it
    torch.testing.assert_close(model(**inputs, **places).loss, model(**some, **alone).loss)
    none = {name: torch.full_like(value, -100) for name, value in places.items()}
    assert model(**inputs, **none).loss == 0
    with pytest.raises(ValueError, match="start_positions and end_positions must be given together"):
        model(**inputs, start_positions=places["start_positions"])
    for name in places:
        with pytest.raises(ValueError, match=rf"^{name} must lie in \[0, 7\), .* got 9"):
            model(**inputs, **{**places, name: torch.tensor([1, 9, 2])})
        with pytest.raises(ValueError, match=rf"^{name} must have the shape \(3,\)"):
            model(**inputs, **{**places, name: torch.tensor([1, 2])})


@every_variant
def test_choices_are_texts_of_one_label(variant):
    model = build(ComplexOrderForMultipleChoice, variant)
    twin = build(ComplexOrderForSequenceClassification, variant, problem_type="regression", num_labels=1)
    twin.load_state_dict(model.state_dict())
    for side in ("right", "left"):
        texts = texts_of(model, (6, 4, 7, 5, 3, 6), side)
        choices = {name: value.unflatten(0, (2, 3)) for name, value in texts.items()}
        labels = torch.tensor([2, 0])
        out = model(**choices, labels=labels)
        expected = twin(**texts).logits.view(2, 3)
        torch.testing.assert_close(out.logits, expected)
        torch.testing.assert_close(out.loss, torch.nn.functional.cross_entropy(expected, labels))
    out.loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


def test_choices_have_an_axis():
    model = build(ComplexOrderForMultipleChoice, "words")
    ids = torch.randint(3, 30, (2, 3, 5))
    embeds = model.get_input_embeddings()(ids)
    assert embeds.shape == (2, 3, 5, 16)
    torch.testing.assert_close(model(inputs_embeds=embeds).logits, model(ids).logits)
    positions = torch.arange(2, 7).expand(2, 3, 5)
    assert (model(ids, position_ids=positions).logits - model(ids).logits).abs().max() > 1e-4
    for wrong, message in (
        ({"input_ids": ids[0]}, r"^input_ids must be \[batch, choices, length\], got \(3, 5\)"),
        ({"input_ids": ids, "attention_mask": torch.ones(2, 5)}, r"^attention_mask must be \[batch, choices, length"),
        ({"inputs_embeds": embeds[0]}, r"^inputs_embeds must be \[batch, choices, length, hidden_size\]"),
        ({}, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids, "inputs_embeds": embeds}, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids, "labels": torch.tensor([0, 3])}, r"^labels must lie in \[0, 3\), .* got 3"),
        ({"input_ids": ids, "labels": torch.tensor([0])}, r"^labels must have the shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model(**wrong)


@pytest.mark.parametrize(
    ("auto", "head"),
    [
        (AutoModelForQuestionAnswering, ComplexOrderForQuestionAnswering),
        (AutoModelForMultipleChoice, ComplexOrderForMultipleChoice),
        (AutoModelForTextEncoding, ComplexOrderModel),
    ],
)
def test_auto_classes_load_what_was_saved(tmp_path, auto, head):
    model = build(head, "words")
    model.save_pretrained(tmp_path)
    loaded = auto.from_pretrained(tmp_path)
    assert type(loaded) is head
    assert all(torch.equal(value, loaded.state_dict()[name]) for name, value in model.state_dict().items())
    name = "AutoModel" if head is ComplexOrderModel else auto.__name__
    assert f"{name}.from_pretrained" in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert set(loaded.config.auto_map) == {"AutoConfig", name}
