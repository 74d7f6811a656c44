# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Sizes, embeddings that are shared or not, stacks on their own, and beginnings of targets."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import DynamicCache

from families import LEARNED, START, TIED_MODULI, Case
from family_inputs import words

build = Case("complex_seq2seq", "modulus").trained


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_shared_tables_are_one_and_stored_once(tmp_path, shared, tied):
    model = build(share_embeddings=shared, **(TIED_MODULI if tied else {}))
    encoder, decoder = model.model.encoder.embed_tokens, model.model.decoder.embed_tokens
    for name, table in encoder.named_parameters():
        assert (decoder.get_parameter(name) is table) == shared, name
    assert (model.lm_head.projection.weight is decoder.amplitude) == tied
    model.save_pretrained(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert ("model.decoder.embed_tokens.frequency" in stored) == (not shared)
    assert ("lm_head.projection.weight" in stored) == (not tied)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_encoder_and_decoder_alone_load_as_they_were_saved(tmp_path, side):
    model = getattr(build().model, side)
    inputs = {"input_ids": words(5)}
    if side == "decoder":
        inputs["encoder_hidden_states"] = torch.randn(1, 4, 16)
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path)
    assert torch.equal(loaded(**inputs).last_hidden_state, model(**inputs).last_hidden_state)


def test_texts_beyond_the_learned_positions():
    model = build(**{**LEARNED, "max_position_embeddings": 8})
    with pytest.raises(ValueError, match=r"must lie in .* Truncate to max_position_embeddings=8"):
        model(words(9), decoder_input_ids=words(4))
    with pytest.raises(ValueError, match=r"must lie in.*max_position_embeddings=8"):
        model(words(5), decoder_input_ids=words(9))
    with pytest.raises(ValueError, match=r"must lie in.*max_position_embeddings=8"):
        model.generate(words(5), max_new_tokens=12, eos_token_id=-1)


def test_a_mask_is_that_of_the_encoded_source():
    model = build()
    source = model.model.encoder(words(5, 2))
    with pytest.raises(ValueError, match=r"attention_mask must be \[batch, length\] = \(2, 5\), got \(2, 7\)"):
        model(encoder_outputs=source, attention_mask=torch.ones(2, 7), decoder_input_ids=words(4, 2))


def test_beginnings_behind_padding_go_on_with_the_first_word_or_without():
    model = build()
    source, beginning = words(6, 2), torch.tensor([[START, 9], [START, 4]])
    options = {"max_new_tokens": 4, "eos_token_id": None, "output_logits": True, "return_dict_in_generate": True}

    def go_on(begun):
        mask = begun.ne(0).long()
        out = model.generate(source, decoder_input_ids=begun, decoder_attention_mask=mask, **options)
        return out.sequences, torch.stack(out.logits)

    ids, logits = go_on(beginning)
    padded = torch.nn.functional.pad(beginning, (2, 0))
    without = padded.masked_fill(padded == START, 0)  # Transformers puts the start token before it
    for begun in (padded, without):
        found, scores = go_on(begun)
        assert torch.equal(found[:, -5:], ids[:, 1:])
        torch.testing.assert_close(scores, logits, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=r"must begin with decoder_start_token_id .* row\(s\) \[1\]"):
        go_on(torch.stack([padded[0], without[1]]))
    with pytest.raises(ValueError, match=r"decoder_input_ids must be padded on the left, .* row\(s\) \[1\]"):
        go_on(torch.tensor([[START, 9], [START, 0]]))


def test_caches_of_the_target_alone_are_refused():
    model = build()
    with pytest.raises(TypeError, match="must be an EncoderDecoderCache, got DynamicCache"):
        model(words(5, 2), decoder_input_ids=words(4, 2), cache=DynamicCache(config=model.config))
