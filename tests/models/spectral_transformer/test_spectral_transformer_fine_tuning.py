# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``build_transcriber`` and ``build_classifier`` from a saved model: what is kept and what is new."""

import pytest
import torch

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderModel,
    SpectralTransformerForConditionalGeneration,
    SpectralTransformerForCTC,
)
from complex_transformers.recipes import DecoderArguments, SpeechModelArguments, build_classifier, build_transcriber

SIZES = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
FORMS = {"ctc": DecoderArguments(), "decoder": DecoderArguments(decoder_layers=1, label_smoothing=0.1)}
NETWORKS = ("fully_spectral", "spectral_scaled", "real")


def saved(folder, form, network="fully_spectral"):
    torch.manual_seed(0)
    arguments = SpeechModelArguments(network=network, num_mel_bins=20, **SIZES)
    if form == "classifier":
        model, processor = build_classifier(arguments, 8000, ["high", "low"])
    else:
        model, processor = build_transcriber(arguments, FORMS[form], 8000, ["abc", "c a"])
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return model


def continued(folder, texts=("abc",), **decoder):
    """The model and the processor to fine-tune."""
    arguments = SpeechModelArguments(model_name_or_path=str(folder))
    return build_transcriber(arguments, DecoderArguments(**decoder), None, list(texts))


def again(folder, texts, layers=0):
    """The model to fine-tune, and a text of all symbols written and read by its processor."""
    torch.manual_seed(1)
    model, processor = continued(folder, texts, decoder_layers=layers)
    assert processor.feature_extractor.sampling_rate == 8000
    labels = processor(text=texts)["labels"]
    grouping = {} if model.can_generate() else {"group_tokens": False}
    return model, [processor.tokenizer.decode(ids, skip_special_tokens=True, **grouping) for ids in labels]


def same(first, second, names):
    states = [{name: t for name, t in model.state_dict().items() if names in name} for model in (first, second)]
    assert states[0]
    return states[0].keys() == states[1].keys() and all(t.equal(states[1][name]) for name, t in states[0].items())


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("form", FORMS)
def test_known_symbols_go_on_as_they_were(tmp_path, form, network):
    before = saved(tmp_path, form, network)
    after, texts = again(tmp_path, ["ba", "a cc"])
    assert type(after) is type(before)
    assert same(before, after, "")
    assert texts == ["ba", "a cc"]


@pytest.mark.parametrize("form", FORMS)
def test_new_symbols_have_a_new_head_of_the_form(tmp_path, form, capsys):
    before = saved(tmp_path, form)
    after, texts = again(tmp_path, ["xbc", "ə x"])  # as many symbols as before
    assert "does not know the symbols ['x', 'ə']: new head" in capsys.readouterr().out
    assert texts == ["xbc", "ə x"]
    assert type(after) is type(before)
    assert same(before, after, "model.")
    assert not same(before, after, "lm_head")


def test_a_decoder_on_an_encoder_trained_by_ctc_and_back(tmp_path):
    before = saved(tmp_path / "ctc", "ctc")
    after, _ = again(tmp_path / "ctc", ["abc"], layers=2)
    assert isinstance(after, SpectralTransformerForConditionalGeneration)
    assert after.config.decoder.decoder_layers == 2
    assert same(before, after, "model.layers")
    before = saved(tmp_path / "classifier", "classifier")
    after, _ = again(tmp_path / "classifier", ["abc"])
    assert isinstance(after, SpectralTransformerForCTC)
    assert same(before, after, "model.layers")


def test_other_families_and_idle_options_are_refused(tmp_path):
    saved(tmp_path, "ctc")
    arguments = SpeechModelArguments(model_name_or_path=str(tmp_path), hidden_size=64)
    with pytest.raises(ValueError, match=r"hidden_size must be left out with model_name_or_path, got"):
        build_transcriber(arguments, DecoderArguments(), None, ["abc"])
    ComplexOrderModel(ComplexOrderConfig(vocab_size=8, **SIZES)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="must be a spectral_transformer, got a complex_order"):
        continued(tmp_path)


def test_label_smoothing_is_that_of_the_run(tmp_path):
    saved(tmp_path / "decoder", "decoder")
    assert continued(tmp_path / "decoder", label_smoothing=0.3)[0].config.decoder.label_smoothing == 0.3
    saved(tmp_path / "ctc", "ctc")
    with pytest.raises(ValueError, match=r"label_smoothing must be 0 with CTC, got 0\.3"):
        continued(tmp_path / "ctc", label_smoothing=0.3)
