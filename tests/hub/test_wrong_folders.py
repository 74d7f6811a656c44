# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors for folders of other models, older versions and wrong inputs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoProcessor, BertConfig, BertModel, pipeline

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    ComplexOrderModel,
    ComplexSeq2SeqForConditionalGeneration,
    SpectralFeatureExtractor,
    SpectralTransformerConfig,
    SpectralTransformerForAudioClassification,
    SpectralTransformerProcessor,
    build_ctc_tokenizer,
    build_tokenizer,
)
from families import Case
from refusals import refused

SIZES = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
TRANSLATOR = Case("complex_seq2seq", "modulus")


@pytest.mark.parametrize(
    "own_class", [ComplexOrderModel, ComplexOrderForMaskedLM, ComplexSeq2SeqForConditionalGeneration]
)
def test_a_folder_of_another_model_is_named(tmp_path, own_class):
    BertModel(BertConfig(vocab_size=20, num_hidden_layers=1, **SIZES)).save_pretrained(tmp_path)
    refused(rf"for {own_class.config_class.__name__}, got 'bert'\. Load", own_class.from_pretrained, tmp_path)
    with pytest.raises(ValueError, match="must be 'complex_order' for ComplexOrderConfig, got 'complex_seq2seq'"):
        ComplexOrderConfig.from_dict(TRANSLATOR.config().to_dict())


def test_a_model_type_of_ones_own_is_read_from_its_base_and_back():
    class OwnConfig(ComplexOrderConfig):
        model_type = "own"

    assert OwnConfig.from_dict(ComplexOrderConfig(vocab_size=7).to_dict()).vocab_size == 7
    assert ComplexOrderConfig.from_dict(OwnConfig(vocab_size=7).to_dict()).vocab_size == 7


def test_a_feature_extractor_alone_is_the_processor_of_a_model_without_text(tmp_path):
    extractor = SpectralFeatureExtractor(sampling_rate=8000)
    SpectralTransformerForAudioClassification(
        SpectralTransformerConfig.from_extractor(extractor, num_hidden_layers=1, **SIZES)
    ).save_pretrained(tmp_path)
    extractor.save_pretrained(tmp_path)
    assert AutoProcessor.from_pretrained(tmp_path).to_dict() == extractor.to_dict()
    with pytest.raises(OSError, match=r"must have a tokenizer, got none\. Load it with SpectralFeatureExtractor"):
        SpectralTransformerProcessor.from_pretrained(tmp_path)
    build_ctc_tokenizer(["ba"]).save_pretrained(tmp_path)
    assert type(AutoProcessor.from_pretrained(tmp_path)) is SpectralTransformerProcessor


def test_speech_to_text_of_a_ctc_folder_says_where_it_belongs(tmp_path):
    tokenizer = build_ctc_tokenizer(["ba", "bada"])
    Case("spectral_transformer", "symbols").build(feature_size=34).save_pretrained(tmp_path)
    SpectralFeatureExtractor(window_length=32, hop_length=8).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"decoder must be set .* For CTC use AutoModelForCTC"):
        pipeline("complex-speech2text", model=str(tmp_path))


def test_text_to_text_of_a_dictionary_asks_for_strings():
    generate = pipeline("complex-text2text", model=TRANSLATOR.model(), tokenizer=build_tokenizer(["a cat sat"]))
    refused(
        "inputs must be a string or an iterable of strings, got dict", generate, {"text": "a cat"}, error=TypeError
    )


@pytest.mark.full
def test_an_older_transformers_is_named_with_the_version_needed():
    (needed,) = re.findall(r'"(transformers>=.*)"', (Path(__file__).parents[2] / "pyproject.toml").read_text())
    code = """
import importlib.metadata as metadata
version = metadata.version
metadata.version = lambda name: "5.1.0" if name == "transformers" else version(name)
import complex_transformers
complex_transformers.ComplexOrderConfig
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    found = f"found transformers==5.1.0.\ncomplex_transformers needs it: pip install --upgrade '{needed}'"
    assert all(words in done.stderr for words in (f"{needed} is required", f"but {found}"))
