# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The encoder-decoder form: its parts are those of the CTC model and of the translator; its processor; bad input."""

import re

import numpy as np
import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from small_spectral import RATE, build, clips, config, extractor, features
from tokenizers.normalizers import Replace
from torch.nn import functional as F
from transformers import AutoTokenizer
from transformers.modeling_outputs import BaseModelOutput

from complex_transformers import (
    ComplexSeq2SeqForConditionalGeneration,
    SpectralTransformerConfig,
    SpectralTransformerForConditionalGeneration,
    SpectralTransformerForCTC,
    SpectralTransformerProcessor,
    build_ctc_tokenizer,
    build_tokenizer,
)

NETWORKS = ("fully_spectral", "spectral_scaled", "real")
DECODER = {"vocab_size": 11, "decoder_layers": 2, "decoder_start_token_id": 1, "bos_token_id": 1, "eos_token_id": 2}


def decoder(network, **changes):
    waves = {} if network == "fully_spectral" else {"embedding_type": "sinusoidal_position"}
    return {**DECODER, **waves, "initializer_range": 0.5, **changes}


def transcriber(network="fully_spectral", **changes):
    torch.manual_seed(0)
    symbols = decoder(network, **changes.pop("decoder", {}))
    return build(network, SpectralTransformerForConditionalGeneration, decoder=symbols, **changes)


@pytest.mark.parametrize("network", NETWORKS)
def test_logits_are_those_of_the_translator_on_the_frames_of_the_encoder(network):
    model = transcriber(network, time_pool_size=2)
    batch = features(network, clips(300, 130))
    target = torch.randint(3, 11, (2, 6))
    with torch.no_grad():
        logits = model(**batch, decoder_input_ids=target).logits
        states = model.model(**batch).last_hidden_state
    lengths = -(-batch["attention_mask"].sum(-1) // 2)
    translator = ComplexSeq2SeqForConditionalGeneration(model.config.decoder).eval()
    translator.model.decoder.load_state_dict(model.decoder.state_dict())
    translator.lm_head.load_state_dict(model.lm_head.state_dict())
    for row, length in enumerate(lengths):
        with torch.no_grad():
            own = BaseModelOutput(states[row : row + 1, :length])
            expected = translator(encoder_outputs=own, decoder_input_ids=target[row : row + 1]).logits[0]
        torch.testing.assert_close(logits[row], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_clip_is_transcribed_the_same_alone_and_in_a_batch(network):
    waves = clips(100, 460, 248)
    batch = features(network, waves)
    garbage = batch["input_features"].masked_fill(~batch["attention_mask"].bool().unsqueeze(-1), float("nan"))
    model = transcriber(network, time_pool_size=3)
    for options in ({}, {"num_beams": 3}):
        options |= {"max_new_tokens": 8, "suppress_tokens": [0, 2], "no_repeat_ngram_size": 1}
        together = model.generate(**batch, **options)
        assert model.generate(**{**batch, "input_features": garbage}, **options).tolist() == together.tolist()
        for row, wave in enumerate(waves):
            assert model.generate(**features(network, [wave]), **options)[0].tolist() == together[row].tolist()
        assert len({tuple(text) for text in together.tolist()}) > 1


def test_loss_is_the_cross_entropy_of_labels_read_one_step_late():
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = transcriber(decoder={"label_smoothing": 0.2}, **without_dropout)
    batch = features("fully_spectral", clips(200, 130))
    labels = torch.tensor([[5, 6, 7, 2], [8, 2, -100, -100]])
    shifted = torch.tensor([[1, 5, 6, 7], [1, 8, 2, 0]])
    logits = model(**batch, decoder_input_ids=shifted).logits.flatten(0, 1)
    for smoothing in (0.0, 0.2):  # while training alone
        expected = F.cross_entropy(logits, labels.flatten(), label_smoothing=smoothing)
        torch.testing.assert_close(model(**batch, labels=labels).loss, expected)
        model.train()


def test_an_encoder_trained_by_ctc_is_gone_on_with(tmp_path):
    before = build(model_class=SpectralTransformerForCTC)
    before.save_pretrained(tmp_path)
    model, info = SpectralTransformerForConditionalGeneration.from_pretrained(
        tmp_path, decoder=decoder("fully_spectral"), ignore_mismatched_sizes=True, output_loading_info=True
    )
    assert {name.split(".")[0] for name in info["missing_keys"]} == {"decoder", "lm_head"}
    assert {name.split(".")[0] for name, *_ in info["mismatched_keys"]} == {"lm_head"}
    for name, value in before.model.state_dict().items():
        assert torch.equal(model.model.state_dict()[name], value), name


def test_a_tied_head_is_the_table_of_the_decoder():
    model = transcriber(decoder={"embedding_type": "word", "tie_word_embeddings": True})
    assert model.lm_head.projection.weight is model.decoder.embed_tokens.weight


def test_resizing_the_symbols_keeps_the_old_ones():
    model = transcriber()
    batch = features("fully_spectral", clips(200))
    ids = torch.tensor([[1, 5, 6]])
    with torch.no_grad():
        before = model(**batch, decoder_input_ids=ids).logits
        model.resize_token_embeddings(14)
        after = model(**batch, decoder_input_ids=ids).logits
    assert (model.config.decoder.vocab_size, model.config.vocab_size) == (14, 32)
    torch.testing.assert_close(after[..., :11], before)


def test_configuration_of_the_decoder():
    own = config(decoder={**DECODER, "hidden_dropout_prob": 0.3}, intermediate_size=20, norm_position="pre")
    shared = own.decoder
    assert (shared.hidden_size, shared.intermediate_size, shared.number_field) == (16, 20, "complex")
    assert (shared.norm_position, shared.hidden_dropout_prob) == ("pre", 0.3)
    assert shared.attention_score == "modulus"
    assert config(decoder=DECODER, attention_score="real").decoder.attention_score == "real"
    given = config(decoder={**DECODER, "attention_score": "modulus"}, attention_score="real")
    assert given.decoder.attention_score == "modulus"
    words = {"vocab_size": 9, "embedding_type": "word", "decoder_start_token_id": 1}
    scaled = config("spectral_scaled", decoder=words)
    assert (scaled.attention_score, scaled.decoder.attention_score) == ("modulus", "real")  # a plain decoder
    assert own.is_encoder_decoder
    assert not config().is_encoder_decoder
    again = SpectralTransformerConfig.from_dict(own.to_dict())
    assert again.to_dict() == own.to_dict()
    twin = SpectralTransformerConfig(feature_size=34, decoder={"embedding_type": "word", "vocab_size": 9}).real_twin()
    assert (twin.decoder.number_field, twin.decoder.embedding_type) == ("real", "word")


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ({"hidden_size": 32}, "hidden_size of decoder must be 16, got 32"),
        ({"number_field": "real", "embedding_type": "word"}, "number_field of decoder must be 'complex', got 'real'"),
    ],
)
def test_a_decoder_that_does_not_fit_is_refused(symbols, message):
    with pytest.raises(StrictDataclassClassValidationError, match=message):
        config(decoder=symbols)


def test_bad_input():
    with pytest.raises(ValueError, match="decoder must be set in the configuration, got None"):
        SpectralTransformerForConditionalGeneration(config())
    model = transcriber()
    batch = features("fully_spectral", clips(200))
    with pytest.raises(ValueError, match="decoder_input_ids must be given, got None"):
        model(**batch)
    with pytest.raises(ValueError, match=r"input_features must be a tensor, got None\. Or pass encoder_outputs"):
        model(decoder_input_ids=torch.tensor([[1]]))
    with pytest.raises(ValueError, match="start"):
        transcriber(decoder={"decoder_start_token_id": None})(**batch, labels=torch.tensor([[5]]))


def processor(tokenizer=None):
    own = tokenizer or build_tokenizer(["bada", "ma ba"], kind="character", append_eos=True)
    return SpectralTransformerProcessor(extractor(), own)


def test_processor_makes_features_and_labels():
    both = processor()
    batch = both(audio=clips(200, 130), text=["bada", "ma"], sampling_rate=RATE, return_tensors="pt")
    assert both.tokenizer.batch_decode(batch["labels"].clamp(min=0), skip_special_tokens=True) == ["bada", "ma"]
    assert batch["labels"][1].tolist()[-2:] == [-100, -100]
    assert batch["labels"][0, -1] == both.tokenizer.eos_token_id
    wave = clips(200)[0]
    item = both(audio=wave, text="ba", sampling_rate=RATE)
    expected = extractor()(wave, sampling_rate=RATE)["input_features"]
    np.testing.assert_array_equal(item["input_features"][0], expected[0])
    assert both(text="ba")["labels"] == item["labels"][0]
    items = [{"input_features": np.ones((t, 34), np.float32), "labels": [5] * t} for t in (3, 5)]
    padded = both.pad(items)
    assert padded["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1] * 5]
    assert padded["labels"].tolist() == [[5, 5, 5, -100, -100], [5] * 5]


def test_processor_keywords_of_one_part_and_of_both():
    both = processor()
    call = {"audio": clips(200, 130), "text": ["bada", "ma"], "sampling_rate": RATE}
    frames = both(**call, return_tensors="np")["input_features"].shape[1]
    batch = both(**call, return_tensors="np", text_kwargs={"padding": "max_length", "max_length": 8})
    assert isinstance(batch["labels"], np.ndarray)
    assert batch["labels"].shape == (2, 8)
    assert batch["input_features"].shape[1] == frames
    batch = both(**call, audio_kwargs={"padding": "max_length", "max_length": frames + 2}, return_tensors="pt")
    assert batch["attention_mask"].sum(1).max() == frames
    assert batch["attention_mask"].shape[1] == frames + 2
    assert batch["labels"].shape == (2, 5)
    batch = both(**call, padding="max_length", max_length=30, common_kwargs={"return_tensors": "pt"})
    assert batch["attention_mask"].shape == batch["labels"].shape == (2, 30)
    batch = both(**call, text_kwargs={"truncation": True, "max_length": 3})
    assert [len(row) for row in batch["labels"]] == [3, 3]


def test_settings_of_a_tokenizer_leave_the_audio_alone(tmp_path):
    tokenizer = build_ctc_tokenizer(["bada ma"])
    settings = {"return_attention_mask": False, "truncation": True, "max_length": 3, "padding": "max_length"}
    tokenizer.init_kwargs |= settings
    tokenizer.save_pretrained(tmp_path)
    both = processor(AutoTokenizer.from_pretrained(tmp_path))
    assert settings.items() <= both.tokenizer.init_kwargs.items()
    call = {"audio": clips(200, 130), "sampling_rate": RATE, "return_tensors": "pt"}
    batch, expected = both(**call, text=["bada", "ma"]), extractor()(call.pop("audio"), **call)
    ids = [both.tokenizer(text)["input_ids"] for text in ("bad", "ma")]
    assert batch["labels"].tolist() == [ids[0], [*ids[1], -100]]
    for name, values in expected.items():
        torch.testing.assert_close(batch[name], values)


def test_processor_pads_labels_at_their_end():
    both = processor()
    both.tokenizer.padding_side = "left"  # a decoder would begin with padding
    labels = both(text=["bada", "ma"], return_tensors="pt")["labels"]
    assert labels[1].tolist()[-2:] == [-100, -100]
    assert (labels[:, :3] >= 0).all()


@pytest.mark.parametrize(
    ("error", "call", "match"),
    [
        (ValueError, {"text": ["ba", "zax"]}, r"text 1 must have known characters, got \['x', 'z'\]"),
        (ValueError, {"text": " "}, "text 0 must have at least one token, got ' '"),
        (ValueError, {"audio": clips(200)[0], "text": "ba"}, "sampling_rate must be 8000, got None"),
        (ValueError, {"text": ["ba", "bada"], "padding": False, "return_tensors": "pt"}, "padding"),
    ],
)
def test_processor_refuses_what_cannot_be_learned(error, call, match):
    with pytest.raises(error, match=match):
        processor()(**call)


def test_a_text_of_which_its_tokenizer_leaves_nothing_is_refused():
    tokenizer = build_tokenizer(["ba"], kind="character")
    tokenizer.backend_tokenizer.normalizer = Replace(".", "")
    with pytest.raises(ValueError, match=r"text 1 must have at least one token, got '\.\.'"):
        processor(tokenizer)(text=["ba", ".."], return_tensors="pt")


def test_ctc_vocabulary():
    tokenizer = build_ctc_tokenizer(["ba", "dá ɸə"])
    assert tokenizer.convert_ids_to_tokens(range(9)) == ["<pad>", "<unk>", "|", "a", "b", "d", "á", "ə", "ɸ"]
    ids = tokenizer("ba dá").input_ids
    assert tokenizer.decode(ids) == "ba dá"
    assert tokenizer.decode([4, 4, 0, 4, 3]) == "bba"
    both = processor(tokenizer)
    with pytest.raises(ValueError, match=r"known characters, got \['q'\]"):
        both(text="baq")
    for text, what in (("ba|dá", "|"), ("ba<pad>dá", "<pad>"), ("ba\tdá", "\t"), ("<unk>", "<unk>")):
        with pytest.raises(ValueError, match=re.escape(repr(what))):
            both(text=text)  # it would stand for a space or a blank
    with pytest.raises(ValueError, match="must not contain the special token <unk>, got 'b<unk>'"):
        build_ctc_tokenizer(["ba", "b<unk>"])
    bars = build_ctc_tokenizer(["a|b", "a b"])
    assert bars.decode(bars("a|b a").input_ids) == "a|b a"
