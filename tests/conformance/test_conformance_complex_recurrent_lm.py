# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite, and our generation tests, on recurrent language models in both number fields."""

import unittest

import pytest
from conformance_common import TextConformance
from hf_suite.generation.test_utils import GenerationTesterMixin

from complex_transformers import (
    ComplexRecurrentLMConfig,
    ComplexRecurrentLMForCausalLM,
    ComplexRecurrentLMModel,
)


class _Conformance(TextConformance, GenerationTesterMixin):
    config_class = ComplexRecurrentLMConfig
    all_model_classes = (ComplexRecurrentLMModel, ComplexRecurrentLMForCausalLM)
    has_attentions = False
    common_properties = ("hidden_size", "num_hidden_layers")
    has_static_cache = False
    sizes = {"num_hidden_layers": 2, "recurrent_size": 32, "initializer_range": 1.0, "bos_token_id": 1}

    def setUp(self):
        super().setUp()
        self.model_tester.causal_lm_class = ComplexRecurrentLMForCausalLM  # the one that is overfitted


@pytest.mark.full
class ComplexLSTMConformanceTest(_Conformance, unittest.TestCase):
    """The default: complex field, LSTM."""


class ComplexLRUConformanceTest(_Conformance, unittest.TestCase):
    """Complex field, blocks around a linear recurrence, an adaptive softmax."""

    config_changes = {"rnn_type": "lru", "cutoffs": [2, 3]}


class RealTiedConformanceTest(_Conformance, unittest.TestCase):
    """A real LSTM, the head tied to the words."""

    overfit_in_default_set = False
    config_changes = {"number_field": "real", "tie_word_embeddings": True, "hidden_size": 32, "recurrent_size": 32}


@pytest.mark.full
class ComplexCausalZConformanceTest(_Conformance, unittest.TestCase):
    """Complex field, GRU after a causal Z-transform of real words."""

    overfit_in_default_set = False
    config_changes = {"rnn_type": "gru", "transform": "causal_z", "word_parts": "real"}
