# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration, embeddings that are shared or not, and inputs no model can use."""

import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from safetensors.torch import load_file
from small_seq2seq import END, START, build, config, logits, text

from complex_transformers import (
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqDecoder,
    ComplexSeq2SeqEncoder,
    ComplexSeq2SeqForConditionalGeneration,
)


def test_the_default_is_the_size_of_the_paper():
    cfg = ComplexSeq2SeqConfig()
    assert (cfg.encoder_layers, cfg.decoder_layers, cfg.num_attention_heads, cfg.complex_size) == (6, 6, 8, 512)
    assert cfg.hidden_dropout_prob == 0.1
    assert cfg.num_hidden_layers == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder_layers": 0}, "encoder_layers must be positive, got 0"),
        ({"decoder_layers": -1}, "decoder_layers must be positive, got -1"),
        ({"norm_type": "batch"}, "norm_type='batch' is for encoders"),
        ({"label_smoothing": 1.0}, r"label_smoothing must be in \[0, 1\), got 1.0"),
        ({"num_attention_heads": 3}, "num_attention_heads must divide the 8 complex features"),
        ({"tie_word_embeddings": True}, "tie_word_embeddings=True needs a head of the shape of the word table"),
    ],
)
def test_wrong_settings_are_named(changes, message):
    with pytest.raises(StrictDataclassClassValidationError, match=message):
        config(**changes)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_shared_tables_are_stored_once_and_stay_shared(tmp_path, shared, tied):
    head = {"lm_readout": "feature_modulus", "tie_word_embeddings": True} if tied else {}
    model = build(share_embeddings=shared, **head)
    model.save_pretrained(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert ("model.decoder.embed_tokens.frequency" in stored) == (not shared)
    assert ("lm_head.projection.weight" in stored) == (not tied)
    again = ComplexSeq2SeqForConditionalGeneration.from_pretrained(tmp_path)
    again.resize_token_embeddings(50)
    for some in (model, again):
        encoder, decoder = some.model.encoder.embed_tokens, some.model.decoder.embed_tokens
        for name, table in encoder.named_parameters():
            assert (decoder.get_parameter(name) is table) == shared, name
        assert (some.lm_head.projection.weight is decoder.amplitude) == tied
        assert decoder.num_embeddings == encoder.num_embeddings == some.config.vocab_size
    assert again(text(4), labels=torch.tensor([[49, 3]])).logits.shape[-1] == 50


def test_both_sides_learn():
    model = build()
    model(text(5, batch=2), labels=text(4, batch=2)).loss.backward()
    table = model.model.encoder.embed_tokens.amplitude
    assert model.model.decoder.embed_tokens.amplitude is table
    assert table.grad is not None


def test_labels_make_the_decoder_inputs():
    model = build()
    labels = torch.tensor([[7, 8, END, -100], [9, END, -100, -100]])
    shifted = model.prepare_decoder_input_ids_from_labels(labels)
    assert shifted.tolist() == [[START, 7, 8, END], [START, 9, END, 0]]
    source = text(5, batch=2)
    given = model(source, decoder_input_ids=shifted, labels=labels)
    assert torch.equal(model(source, labels=labels).loss, given.loss)


def test_bad_inputs_are_refused_with_the_remedy():
    model = build(embedding_type="learned_position", max_position_embeddings=8)
    source, target = text(5), text(4)
    with pytest.raises(ValueError, match="the target is missing: give decoder_input_ids"):
        model(source)
    with pytest.raises(ValueError, match="the input is empty"):
        model(source[:, :0], decoder_input_ids=target)
    with pytest.raises(ValueError, match="the input is empty"):
        model(source, decoder_input_ids=target[:, :0])
    with pytest.raises(ValueError, match=r"must lie in.*max_position_embeddings=8.*shorter text"):
        model(text(9), decoder_input_ids=target)
    with pytest.raises(ValueError, match=r"must lie in.*max_position_embeddings=8"):
        model(source, decoder_input_ids=text(9))
    with pytest.raises(ValueError, match=r"must lie in.*max_position_embeddings=8"):
        model.generate(source, max_new_tokens=12, eos_token_id=-1)
    for wrong in (40, -1):
        with pytest.raises((ValueError, IndexError), match=str(wrong)):
            model(torch.tensor([[3, wrong]]), decoder_input_ids=target)
        with pytest.raises((ValueError, IndexError), match=str(wrong)):
            model(source, decoder_input_ids=torch.tensor([[3, wrong]]))
    with pytest.raises(ValueError, match="give encoder_hidden_states"):
        model.model.decoder(target)
    for wrong in (torch.bool, torch.uint8):
        with pytest.raises(TypeError, match=r"input_ids must be integers .*got dtype torch"):
            model(source.to(wrong), decoder_input_ids=target)
    for wrong in (40, -1):  # at the end, where only the loss looks
        with pytest.raises(ValueError, match=rf"labels must lie in \[0, 40\), or be -100 .*, got {wrong}"):
            model(source, labels=torch.tensor([[3, wrong]]))
    with pytest.raises(ValueError, match=r"labels must be \[batch, length\], got \(2,\)"):
        model(source, labels=torch.tensor([3, 4]))


def test_sources_and_targets_that_do_not_fit_are_refused():
    model = build()
    with pytest.raises(ValueError, match="1 encoded source texts but 3 targets"):
        model(text(5), decoder_input_ids=text(4, batch=3))
    source = model.model.encoder(text(5, batch=2))
    with pytest.raises(ValueError, match=r"attention_mask must be \[batch, length\] = \(2, 5\), got \(2, 7\)"):
        model(encoder_outputs=source, attention_mask=torch.ones(2, 7), decoder_input_ids=text(4, batch=2))


@pytest.mark.parametrize("changes", [{}, {"number_field": "real", "embedding_type": "sinusoidal_position"}])
def test_masks_say_yes_or_no_whatever_their_numbers(changes):
    model = build(**changes)
    source, target = text(6), text(4)
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    expected = logits(model, source, target, attention_mask=mask)
    for other in (mask.bool(), mask.to(torch.uint8) * 255, mask * 0.5):
        assert torch.equal(logits(model, source, target, attention_mask=other), expected)


@pytest.mark.parametrize("model_class", [ComplexSeq2SeqEncoder, ComplexSeq2SeqDecoder])
def test_encoder_and_decoder_alone_load_as_they_were_saved(tmp_path, model_class):
    model = build(model_class)
    inputs = {"input_ids": text(5)}
    if model_class is ComplexSeq2SeqDecoder:
        inputs["encoder_hidden_states"] = torch.randn(1, 4, 16)
    model.save_pretrained(tmp_path)
    loaded = model_class.from_pretrained(tmp_path)
    assert torch.equal(loaded(**inputs).last_hidden_state, model(**inputs).last_hidden_state)


def test_without_a_first_token_the_error_says_what_to_set():
    model = build(decoder_start_token_id=None, bos_token_id=None)
    with pytest.raises(ValueError, match=r"set config\.decoder_start_token_id"):
        model(text(4), labels=text(3))
    with pytest.raises(ValueError, match="decoder_start_token_id"):
        model.generate(text(4))


def test_nan_weights_do_not_hide():
    model = build()
    model.model.encoder.layers[0].feed_forward.up_proj.real.weight.data.fill_(float("nan"))
    assert model(text(4), labels=text(3)).loss.isnan()
