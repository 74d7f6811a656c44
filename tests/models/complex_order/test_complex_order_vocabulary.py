# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Resizing the vocabulary and tying its table."""

import pytest
import torch
from small_models import build, text

from complex_transformers import (
    ComplexOrderForMaskedLM,
)


def test_resizing_to_a_multiple_and_not_at_all():
    model = build(ComplexOrderForMaskedLM)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.resize_token_embeddings(40)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    model.resize_token_embeddings(41, pad_to_multiple_of=16)
    assert model.config.vocab_size == 48
    assert model.lm_head.projection.out_features == 48
    with pytest.raises(ValueError, match="at least one word"):
        model.resize_token_embeddings(0)


def test_tied_tables_are_one_parameter_and_train_together():
    word = {"embedding_type": "word"}
    for changes in ({"lm_readout": "feature_modulus"}, word, {**word, "number_field": "real"}):
        tied = build(ComplexOrderForMaskedLM, tie_word_embeddings=True, **changes)
        free = build(ComplexOrderForMaskedLM, **changes)
        table = tied.model.embed_tokens.weight
        assert tied.lm_head.projection.weight is table
        assert free.lm_head.projection.weight is not free.model.embed_tokens.weight
        missing = sum(p.numel() for p in free.parameters()) - sum(p.numel() for p in tied.parameters())
        assert missing == table.numel()
        ids = text(5)
        tied(input_ids=ids, labels=ids).loss.backward()
        assert (table.grad[3:].abs().sum(-1) > 0).all()  # every word gets the gradient of the head
