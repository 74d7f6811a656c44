# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Resizing the table of the vocabulary, and tying it to the head."""

import pytest
import torch

from families import REAL, TIED_MODULI, Case
from refusals import refused

TIED_WORDS = {"embedding_type": "word", "tie_word_embeddings": True}


def test_tokens_of_the_configuration_stay_words():
    model = Case("complex_order", "words").build(pad_token_id=7)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    refused(r"pad_token_id must lie in \[0, vocab_size=7\), or be None, got 7", model.resize_token_embeddings, 7)
    assert model.config.vocab_size == 30
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    model.config.pad_token_id = None
    assert model.resize_token_embeddings(7).num_embeddings == 7


@pytest.mark.parametrize("changes", [TIED_MODULI, TIED_WORDS, {**TIED_WORDS, **REAL}], ids=["moduli", "words", "real"])
def test_tied_tables_are_one_parameter_and_train_together(changes):
    case = Case("complex_order", "words")
    tied, free = case.build(**changes), case.build(**{**changes, "tie_word_embeddings": False})
    table = tied.model.embed_tokens.weight
    assert tied.lm_head.projection.weight is table
    assert free.lm_head.projection.weight is not free.model.embed_tokens.weight
    missing = sum(p.numel() for p in free.parameters()) - sum(p.numel() for p in tied.parameters())
    assert missing == table.numel()
    ids = torch.randint(3, 30, (1, 5))
    tied(input_ids=ids, labels=ids).loss.backward()
    assert (table.grad[3:].abs().sum(-1) > 0).all()  # every word gets the gradient of the head
