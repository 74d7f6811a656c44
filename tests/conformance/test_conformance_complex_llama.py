# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite, and our generation tests, on the complex Llama in both number fields."""

import unittest

import pytest
from conformance_common import TextConformance
from hf_suite.generation.test_utils import GenerationTesterMixin

from complex_transformers import (
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    ComplexLlamaForSequenceClassification,
    ComplexLlamaForTokenClassification,
    ComplexLlamaModel,
)


class _Conformance(TextConformance, GenerationTesterMixin):
    config_class = ComplexLlamaConfig
    all_model_classes = (
        ComplexLlamaModel,
        ComplexLlamaForCausalLM,
        ComplexLlamaForSequenceClassification,
        ComplexLlamaForTokenClassification,
    )
    sizes = {
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 64,
        "initializer_range": 1.0,
        "bos_token_id": 1,
    }

    def setUp(self):
        super().setUp()
        self.model_tester.causal_lm_class = ComplexLlamaForCausalLM  # the one that is overfitted

    def _get_trainable_model_class(self):
        return ComplexLlamaForCausalLM


class ComplexRotaryConformanceTest(_Conformance, unittest.TestCase):
    """The default: complex field, score Re(q k^H), rotary positions."""


class RealTiedConformanceTest(_Conformance, unittest.TestCase):
    """Llama itself, the head tied to the words."""

    overfit_in_default_set = False
    config_changes = {"number_field": "real", "tie_word_embeddings": True}


@pytest.mark.full
class WidelyLinearConformanceTest(_Conformance, unittest.TestCase):
    """What a lifted Qwen3 is: widely linear layers, norms of stored numbers and of heads, heads of their own width."""

    overfit_in_default_set = False
    config_changes = {
        "linear_type": "widely_linear",
        "gate_product": "parts",
        "norm_scale": "stored",
        "qk_norm": True,
        "head_dim": 12,
        "attention_scale": 0.3,
    }


@pytest.mark.full
class SlidingConformanceTest(_Conformance, unittest.TestCase):
    """What a lifted Gemma is: alternating windows, rotary positions by type of layer, four norms, limited scores."""

    overfit_in_default_set = False
    config_changes = {
        "num_hidden_layers": 2,  # the suite makes configurations of these changes alone, too
        "sliding_window": 5,
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            "full_attention": {"rope_type": "linear", "rope_theta": 1000.0, "factor": 8.0},
        },
        "norm_position": "both",
        "norm_scale": "stored",
        "qk_norm": True,
        "attn_logit_softcapping": 5.0,
        "final_logit_softcapping": 9.0,
        "embedding_multiplier": 4.0,
    }
