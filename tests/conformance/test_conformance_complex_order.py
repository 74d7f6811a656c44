# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite on the ComplexOrder classes, in both number fields."""

import unittest

import torch
from hf_suite.test_configuration_common import ConfigTester
from hf_suite.test_modeling_common import ModelTesterMixin, ids_tensor, random_attention_mask
from hf_suite.test_training_mixin import TrainingTesterMixin

from complex_transformers import (
    ComplexLinear,
    ComplexOrderConfig,
    ComplexOrderEmbedding,
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
)
from complex_transformers.nn import WordPositionEmbedding


class ComplexOrderTester:
    """Small configurations and inputs in the form the suite asks for."""

    is_training = True
    batch_size = 13
    seq_length = 7
    vocab_size = 99
    num_hidden_layers = 2
    hidden_size = 32
    num_attention_heads = 4
    num_labels = 3
    padding = True

    def __init__(self, parent, **changes):
        self.parent = parent
        self.changes = changes

    @property
    def key_length(self):
        return self.seq_length

    @property
    def encoder_seq_length(self):
        return self.seq_length

    def get_config(self):
        sizes = {
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "intermediate_size": 64,
            "num_labels": self.num_labels,
        }
        return ComplexOrderConfig(**{**sizes, **self.changes})

    def prepare_config_and_inputs_for_common(self):
        shape = [self.batch_size, self.seq_length]
        # Id 0 is the padding word, whose embedding is zero.
        inputs = {
            "input_ids": ids_tensor(shape, self.vocab_size - 1) + 1,
            "attention_mask": random_attention_mask(shape) if self.padding else None,
        }
        return self.get_config(), inputs


class _Conformance(ModelTesterMixin, TrainingTesterMixin):
    all_model_classes = (
        ComplexOrderModel,
        ComplexOrderForMaskedLM,
        ComplexOrderForSequenceClassification,
        ComplexOrderForTokenClassification,
    )
    has_attentions = True
    is_encoder_decoder = False
    test_resize_embeddings = True
    training_overfit_learning_rate = 5e-3
    model_tester = None
    config_changes = {}

    def setUp(self):
        self.model_tester = ComplexOrderTester(self, **self.config_changes)
        self.config_tester = ConfigTester(
            self, config_class=ComplexOrderConfig, hidden_size=40, num_attention_heads=4, **self.config_changes
        )

    def _get_trainable_model_class(self):
        return ComplexOrderForMaskedLM

    def test_config(self):
        self.config_tester.run_common_tests()

    def test_model_get_set_embeddings(self):
        # The suite asks for nn.Embedding and nn.Linear; waves and complex layers are ours.
        for model_class in self.all_model_classes:
            model = model_class(self.model_tester.get_config())
            self.assertIsInstance(model.get_input_embeddings(), ComplexOrderEmbedding | WordPositionEmbedding)
            replacement = torch.nn.Embedding(10, 10)
            model.set_input_embeddings(replacement)
            self.assertIs(model.get_input_embeddings(), replacement)
            output = model.get_output_embeddings()
            self.assertTrue((output is None) == (model_class is not ComplexOrderForMaskedLM))
            self.assertTrue(output is None or isinstance(output, torch.nn.Linear | ComplexLinear))

    def test_can_init_all_missing_weights(self):
        # The suite skips it for old models, which it tells by the year in the configuration's first line.
        try:
            super().test_can_init_all_missing_weights()
        except unittest.SkipTest as error:
            self.fail(f"must run, but was skipped: {error}")

    def test_training_overfit(self):
        # To fit one batch exactly is the point here: without the noise of dropout.
        self.model_tester.changes = {
            **self.model_tester.changes,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
        }
        super().test_training_overfit()

    def test_inputs_embeds_matches_input_ids(self):
        # The suite embeds ids without the mask along which our positions count: compare texts without padding.
        self.model_tester.padding = False
        super().test_inputs_embeds_matches_input_ids()


class ComplexModulusConformanceTest(_Conformance, unittest.TestCase):
    """The default: complex field, score |q k^H|."""


class ComplexSdpaConformanceTest(_Conformance, unittest.TestCase):
    """Complex field, score Re(q k^H): sdpa and eager are two different paths here."""

    config_changes = {"attention_score": "real", "phase": "learned", "damping": "learned"}


class ComplexPreNormConformanceTest(_Conformance, unittest.TestCase):
    """Complex field with the other kinds of parameters: an activation with a bias, RMS norms, tied tables."""

    config_changes = {
        "attention_normalization": "probability_amplitude",
        "hidden_act": "modrelu",
        "norm_type": "rms",
        "norm_position": "pre",
        "lm_readout": "feature_modulus",
        "tie_word_embeddings": True,
    }


class ComplexBatchNormConformanceTest(_Conformance, unittest.TestCase):
    """Complex field with batch norms (buffers) and a learned position table."""

    config_changes = {"norm_type": "batch", "embedding_type": "learned_position", "share_parts": True}


class RealConformanceTest(_Conformance, unittest.TestCase):
    """The real twin."""

    config_changes = {"number_field": "real"}


class RealTiedConformanceTest(_Conformance, unittest.TestCase):
    """The real twin with a free word table, tied to the language-model head."""

    config_changes = {"number_field": "real", "embedding_type": "sinusoidal_position", "tie_word_embeddings": True}
