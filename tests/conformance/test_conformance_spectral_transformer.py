# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own test suites on the spectral Transformer classes and their feature extractor."""

import copy
import inspect
import unittest
from typing import ClassVar

import numpy as np
import pytest
import torch
import transformers
from conformance_common import Conformance
from hf_suite.generation.test_utils import GenerationTesterMixin
from hf_suite.test_configuration_common import ConfigTester
from hf_suite.test_modeling_common import floats_tensor, ids_tensor, random_attention_mask
from hf_suite.test_processing_common import ProcessorTesterMixin
from hf_suite.test_sequence_feature_extraction_common import SequenceFeatureExtractionTestMixin
from packaging.version import Version

from complex_transformers import (
    SpectralFeatureExtractor,
    SpectralTransformerConfig,
    SpectralTransformerForAudioClassification,
    SpectralTransformerForConditionalGeneration,
    SpectralTransformerForCTC,
    SpectralTransformerModel,
    SpectralTransformerProcessor,
    build_ctc_tokenizer,
)


class SpectralTester:
    """Small configurations and features in the form the suite asks for."""

    is_training = True
    batch_size = 13
    seq_length = 7
    num_hidden_layers = 2
    num_attention_heads = 4
    hidden_size = 32
    feature_size = 18
    encoder_seq_length = key_length = seq_length

    def __init__(self, changes):
        self.changes = changes

    def get_config(self):
        sizes = {
            "feature_size": self.feature_size,
            "hidden_size": self.hidden_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "intermediate_size": 64,
            # The suite gives random targets, some too long for seven frames.
            "ctc_zero_infinity": True,
        }
        return SpectralTransformerConfig(**{**sizes, **self.changes})

    def prepare_config_and_inputs_for_common(self):
        shape = [self.batch_size, self.seq_length]
        features = floats_tensor([*shape, self.feature_size])
        return self.get_config(), {"input_features": features, "attention_mask": random_attention_mask(shape)}


class _Conformance(Conformance):
    all_model_classes = (
        SpectralTransformerModel,
        SpectralTransformerForCTC,
        SpectralTransformerForAudioClassification,
    )
    test_resize_embeddings = False
    changes = {}

    def setUp(self):
        self.model_tester = SpectralTester(self.changes)
        self.config_tester = ConfigTester(
            self,
            config_class=SpectralTransformerConfig,
            has_text_modality=False,
            hidden_size=40,
            num_attention_heads=4,
            **self.changes,
        )

    def test_model_get_set_embeddings(self):
        # The suite asks for a table of words. Features enter by a layer of their own; a decoder has its symbols.
        for model_class in self.all_model_classes:
            model = model_class(self.model_tester.get_config())
            layer = model.get_input_embeddings()
            self.assertIn(layer, list(model.modules()))
            other = copy.deepcopy(layer)
            model.set_input_embeddings(other)
            self.assertIs(model.get_input_embeddings(), other)
            self.assertIn(other, list(model.modules()))
            self.assertNotIn(layer, list(model.modules()))

    def test_inputs_embeds(self):
        # Features are what a model reads: there are no embeddings to give in their place.
        for model_class in self.all_model_classes:
            self.assertNotIn("inputs_embeds", inspect.signature(model_class.forward).parameters)
            self.assertEqual(model_class.main_input_name, "input_features")


class FullySpectralConformanceTest(_Conformance, unittest.TestCase):
    """The default: complex bins, probability amplitudes."""


@pytest.mark.slow
class FullySpectralSdpaConformanceTest(_Conformance, unittest.TestCase):
    """Score Re(q k^H) with softmax, where sdpa and eager are two paths; phases turned, moduli averaged, pre-norm."""

    changes = {
        "attention_score": "real",
        "attention_normalization": "softmax",
        "position_phase": "rotate",
        "pooling": "average",
        "norm_position": "pre",
        "norm_type": "rms",
        "hidden_act": "modrelu",
    }


class SpectralScaledConformanceTest(_Conformance, unittest.TestCase):
    """Real weights, attention by spectra."""

    changes = {"variant": "spectral_scaled"}


@pytest.mark.slow
class SpectralScaledSdpaConformanceTest(_Conformance, unittest.TestCase):
    """Attention by spectra through sdpa, whose values are half as wide as its keys."""

    changes = {"variant": "spectral_scaled", "attention_score": "real", "attention_normalization": "softmax"}


@pytest.mark.full
class RealConformanceTest(_Conformance, unittest.TestCase):
    """The real twin."""

    changes = {"number_field": "real", "attention_normalization": "softmax"}


class TranscriptionTester(SpectralTester):
    """Also symbols for a decoder."""

    vocab_size = 99
    decoder_seq_length = 7
    expected_num_hidden_layers = 3

    @property
    def encoder_seq_length(self):
        return -(-self.seq_length // self.changes.get("time_pool_size", 1))

    key_length = encoder_seq_length

    def get_config(self):
        decoder = {"vocab_size": self.vocab_size, "decoder_layers": 2, "bos_token_id": 1, "decoder_start_token_id": 1}
        config = super().get_config()
        decoder |= self.changes.get("decoder", {})
        return type(config)(**{**config.to_dict(), "decoder": decoder})

    def prepare_config_and_inputs_for_common(self):
        config, inputs = super().prepare_config_and_inputs_for_common()
        target = ids_tensor([self.batch_size, self.decoder_seq_length], self.vocab_size).clamp(min=3)
        return config, {**inputs, "decoder_input_ids": target}


class _TranscriptionConformance(_Conformance, GenerationTesterMixin):
    all_model_classes = (SpectralTransformerForConditionalGeneration,)
    is_encoder_decoder = True

    def setUp(self):
        super().setUp()
        self.model_tester = TranscriptionTester(self.changes)
        # The suite compares what it gives with what is saved, which has every field of a decoder.
        self.config_tester.inputs_dict.pop("decoder", None)

    def _prepare_for_class(self, inputs_dict, model_class, return_labels=False):
        # The suite has no labels for models from speech to text.
        inputs = super()._prepare_for_class(inputs_dict, model_class, return_labels=return_labels)
        return {**inputs, **({"labels": inputs["decoder_input_ids"]} if return_labels else {})}


class ComplexTranscriptionConformanceTest(_TranscriptionConformance, unittest.TestCase):
    """Complex numbers on both sides; frames pooled before the layers."""

    changes = {"time_pool_size": 2}


class ScaledTranscriptionConformanceTest(_TranscriptionConformance, unittest.TestCase):
    """Attention by spectra, a real decoder whose head is its word table."""

    changes = {
        "variant": "spectral_scaled",
        "decoder": {"embedding_type": "sinusoidal_position", "tie_word_embeddings": True},
    }


class RealTranscriptionConformanceTest(_TranscriptionConformance, unittest.TestCase):
    """The real twin."""

    changes = {
        "number_field": "real",
        "attention_normalization": "softmax",
        "decoder": {"embedding_type": "sinusoidal_position", "norm_position": "pre"},
    }


class FeatureExtractorTester:
    """Sizes and features for the suite of feature extractors."""

    batch_size = 7
    min_seq_length = 40
    max_seq_length = 180
    seq_length_diff = 20
    feature_size = 34
    sampling_rate = 8000
    padding_value = 0.0

    def prepare_feat_extract_dict(self):
        return {
            "feature_size": self.feature_size,
            "sampling_rate": self.sampling_rate,
            "padding_value": self.padding_value,
            "window_length": 32,
            "hop_length": 16,
            "return_attention_mask": True,
        }

    def prepare_inputs_for_common(self, equal_length=False, numpify=False):
        lengths = [self.min_seq_length + (0 if equal_length else i * self.seq_length_diff) for i in range(7)]
        inputs = [np.random.rand(length, self.feature_size).astype(np.float32) for length in lengths]
        return inputs if numpify else [features.tolist() for features in inputs]


class SpectralFeatureExtractorConformanceTest(SequenceFeatureExtractionTestMixin, unittest.TestCase):
    """The extractor."""

    feature_extraction_class = SpectralFeatureExtractor

    def setUp(self):
        self.feat_extract_tester = FeatureExtractorTester()

    def test_cast_of_a_batch(self):
        # Pipelines cast features to the dtype of the model, and leave the mask as it is.
        extract = SpectralFeatureExtractor(**self.feat_extract_dict)
        batch = extract(np.random.rand(100), sampling_rate=8000, return_tensors="pt").to(dtype=torch.bfloat16)
        self.assertEqual(batch["input_features"].dtype, torch.bfloat16)
        self.assertFalse(batch["attention_mask"].is_floating_point())


class ProcessorAt16kHz(SpectralTransformerProcessor):
    """The suite gives audio without its rate, which the extractor refuses."""

    audio_kwargs: ClassVar = {"sampling_rate": 16000}


@pytest.mark.skipif(Version(transformers.__version__) < Version("5.23"), reason="older suites know no such default")
class SpectralTransformerProcessorConformanceTest(ProcessorTesterMixin, unittest.TestCase):
    """Extractor and tokenizer in one."""

    processor_class = ProcessorAt16kHz
    text_input_name = "labels"

    @classmethod
    def _setup_feature_extractor(cls):
        return SpectralFeatureExtractor()

    @classmethod
    def _setup_tokenizer(cls):
        return build_ctc_tokenizer(["lower newer upper older longer string"])

    def test_subprocessor_defaults_0_text(self):
        # The suite asks for the mask of the text. A mask is of frames here, labels are -100 where a text has ended.
        processor = self.get_processor()
        text = self.prepare_text_inputs(batch_size=2)
        labels = processor(text=text, return_tensors="pt")["labels"]
        expected = processor.tokenizer(text, padding=True, return_tensors="pt")
        torch.testing.assert_close(labels, expected["input_ids"].where(expected["attention_mask"] == 1, -100))
