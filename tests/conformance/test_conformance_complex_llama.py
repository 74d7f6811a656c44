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

    def refuse_scaling(self):
        """Another type of rotary positions is refused by its name; the suite expects other logits."""
        for rope_type in ("linear", "dynamic", "yarn"):
            config = self.model_tester.get_config()
            config.rope_parameters = {"rope_type": rope_type, "factor": 10.0, "rope_theta": 10_000.0}
            with pytest.raises(ValueError, match=f"rope_type='{rope_type}' are not supported"):
                ComplexLlamaModel(config)

    test_model_rope_scaling_from_config_0_linear = refuse_scaling
    test_model_rope_scaling_from_config_1_dynamic = test_model_rope_scaling_from_config_2_yarn = None

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
