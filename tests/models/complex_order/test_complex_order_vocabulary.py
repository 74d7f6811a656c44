# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Resizing the vocabulary and tying its table."""

import pytest
import torch
from small_models import build, first, text

from complex_transformers import (
    ComplexOrderForMaskedLM,
)

TABLES = [
    {},
    {"amplitude_sharing": "dimension"},
    {"amplitude_sharing": "word"},
    {"frequency_sharing": "word"},
    {"frequency_sharing": "dimension", "phase": "learned", "damping": "learned"},
    {"phase": "per_dimension", "frequency_sharing": "word", "damping": "learned"},
    {"embedding_type": "complex_vanilla"},
    {"embedding_type": "word"},
    {"embedding_type": "learned_position"},
    {"embedding_type": "sinusoidal_position"},
    {"lm_readout": "feature_modulus", "tie_word_embeddings": True},
    {"embedding_type": "complex_vanilla", "lm_readout": "feature_modulus", "tie_word_embeddings": True},
    {"embedding_type": "word", "tie_word_embeddings": True},
    {"lm_readout": "modulus"},
    {"lm_readout": "squared_modulus"},
    {"number_field": "real"},
    {"number_field": "real", "embedding_type": "word", "tie_word_embeddings": True},
]


@pytest.mark.parametrize("new_size", [52, 33])
@pytest.mark.parametrize("changes", TABLES, ids=lambda c: "-".join(map(str, c.values())) or "default")
def test_resized_vocabulary(changes, new_size, tmp_path):
    model = build(ComplexOrderForMaskedLM, **changes)
    torch.nn.init.normal_(model.lm_head.projection.bias)
    ids = torch.randint(3, 33, (2, 6))
    before = first(model, input_ids=ids)
    embeddings = model.resize_token_embeddings(new_size)
    assert embeddings is model.get_input_embeddings()
    assert model.config.vocab_size == embeddings.num_embeddings == new_size
    after = first(model, input_ids=ids)
    kept = min(new_size, 40)
    assert after.shape[-1] == new_size
    torch.testing.assert_close(after[..., :kept], before[..., :kept], atol=1e-5, rtol=1e-5)
    new_words = torch.full((1, 4), new_size - 1)
    model(input_ids=new_words, labels=new_words).loss.backward()
    if new_size > 40:
        assert first(model, input_ids=new_words).isfinite().all()
        for name in embeddings.word_tables():
            table = embeddings.get_parameter(name)
            torch.testing.assert_close(table[40:], table[:40].mean(0).expand_as(table[40:]), atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match=rf"\[0, {new_size}\)"):
        model(input_ids=torch.tensor([[new_size]]))
    if model.config.tie_word_embeddings:
        assert model.lm_head.projection.weight is embeddings.get_parameter(embeddings.word_tables()[0])
    model.save_pretrained(tmp_path)
    again = ComplexOrderForMaskedLM.from_pretrained(tmp_path).eval()
    torch.testing.assert_close(first(again, input_ids=ids), after, atol=0, rtol=0)


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
