# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite, and our generation tests, on the Transformer-XL in both number fields."""

import unittest

import pytest
from conformance_common import TextConformance
from hf_suite.generation.test_utils import GenerationTesterMixin

from complex_transformers import (
    ComplexTransfoXLConfig,
    ComplexTransfoXLForCausalLM,
    ComplexTransfoXLForSequenceClassification,
    ComplexTransfoXLModel,
)


class _Conformance(TextConformance, GenerationTesterMixin):
    config_class = ComplexTransfoXLConfig
    all_model_classes = (ComplexTransfoXLModel, ComplexTransfoXLForCausalLM)
    has_static_cache = False
    sizes = {
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "mem_len": 32,
        "bos_token_id": 1,
    }

    def setUp(self):
        super().setUp()
        self.model_tester.causal_lm_class = ComplexTransfoXLForCausalLM  # the one that is overfitted


@pytest.mark.full
class ComplexModulusConformanceTest(_Conformance, unittest.TestCase):
    """The default: complex field, score |A|; all heads."""

    all_model_classes = (*_Conformance.all_model_classes, ComplexTransfoXLForSequenceClassification)


class ComplexShortMemoryConformanceTest(_Conformance, unittest.TestCase):
    """Complex field, score Re A; a memory shorter than the texts, which the same length makes exact; pre-norm."""

    overfit_in_default_set = False
    config_changes = {
        "attention_score": "real",
        "mem_len": 3,
        "same_length": True,
        "clamp_len": 2,
        "norm_position": "pre",
        "norm_type": "rms",
    }


class RealTiedConformanceTest(_Conformance, unittest.TestCase):
    """Transformer-XL itself, the head tied to the words."""

    config_changes = {"number_field": "real", "embedding_type": "word", "tie_word_embeddings": True}


class ComplexAdaptiveConformanceTest(_Conformance, unittest.TestCase):
    """Complex field, an adaptive softmax on moduli, tied to the amplitudes; the suite goes down to four words."""

    overfit_in_default_set = False
    config_changes = {"cutoffs": [2, 3], "lm_readout": "feature_modulus", "tie_word_embeddings": True}
