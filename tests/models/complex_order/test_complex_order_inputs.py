# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Extremes and bad input."""

import pytest
import torch
from small_models import EMBEDDINGS, build, first, text

from complex_transformers import (
    ComplexOrderForSequenceClassification,
)
from complex_transformers.nn import from_complex


@pytest.mark.parametrize("bad", [-1, 40, 10**6])
@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_ids_outside_the_vocabulary(embedding, bad):
    with pytest.raises(ValueError, match=rf"\[0, 40\), got {bad}.*resize_token_embeddings"):
        build(embedding_type=embedding)(input_ids=torch.tensor([[5, bad, 7]]))


def test_inputs_no_text_model_can_use():
    model = build(ComplexOrderForSequenceClassification, embedding_type="learned_position", max_position_embeddings=6)
    ids = text(4, batch=2)
    embeds = torch.randn(2, 4, 16)
    cases = [
        ({}, ValueError, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids, "inputs_embeds": embeds}, ValueError, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids[0]}, ValueError, r"\[batch, length\], got shape \(4,\)"),
        ({"input_ids": ids.float()}, TypeError, "integers .*, got dtype torch.float32"),
        ({"input_ids": ids[:, :0]}, ValueError, r"empty.*\(2, 0\).*leave out empty texts"),
        ({"input_ids": ids[:0]}, ValueError, r"empty.*\(0, 4\)"),
        ({"inputs_embeds": torch.randn(2, 4, 8)}, ValueError, r"hidden_size=16\], got \(2, 4, 8\)"),
        ({"inputs_embeds": torch.randn(4, 16)}, ValueError, r"hidden_size=16\], got \(4, 16\)"),
        (
            {"inputs_embeds": torch.randn(2, 4, 8, dtype=torch.complex64)},
            TypeError,
            r"halves, got dtype torch.complex64.*from_complex",
        ),
        ({"input_ids": text(7)}, ValueError, "max_position_embeddings=6.*7.*shorter text"),
        ({"input_ids": ids, "position_ids": torch.tensor([[0, 1, 2, 3]] * 2)}, ValueError, r"\[1, max_position"),
        ({"input_ids": ids, "position_ids": torch.tensor([[1, 2, 3, 7]] * 2)}, ValueError, r"\[1, max_position"),
    ]
    for inputs, error, message in cases:
        with pytest.raises(error, match=message):
            model(**inputs)
    # The remedies work.
    z = torch.randn(2, 4, 8, dtype=torch.complex64)
    assert first(model, inputs_embeds=from_complex(z)).isfinite().all()
    padded = torch.cat([ids, torch.zeros(2, 5, dtype=torch.long)], 1)
    mask = torch.tensor([[1] * 4 + [0] * 5] * 2)
    torch.testing.assert_close(first(model, input_ids=padded, attention_mask=mask), first(model, input_ids=ids))


def test_complex_order_has_no_longest_text():
    model = build(ComplexOrderForSequenceClassification)
    assert first(model, input_ids=text(700)).isfinite().all()
