# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite on the ComplexOrder classes, in both number fields."""

import unittest

import pytest
from conformance_common import TextConformance

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    ComplexOrderForMultipleChoice,
    ComplexOrderForQuestionAnswering,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
)


class _Conformance(TextConformance):
    config_class = ComplexOrderConfig
    all_model_classes = (
        ComplexOrderModel,
        ComplexOrderForMaskedLM,
        ComplexOrderForSequenceClassification,
        ComplexOrderForTokenClassification,
    )
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}

    def _get_trainable_model_class(self):
        return ComplexOrderForMaskedLM


ALL_HEADS = (*_Conformance.all_model_classes, ComplexOrderForMultipleChoice, ComplexOrderForQuestionAnswering)


class ComplexModulusConformanceTest(_Conformance, unittest.TestCase):
    """The default: complex field, score |q k^H|."""


@pytest.mark.full
class ComplexSdpaConformanceTest(_Conformance, unittest.TestCase):
    """Complex field, score Re(q k^H): sdpa and eager are two different paths here; all heads."""

    all_model_classes = ALL_HEADS
    config_changes = {"attention_score": "real", "phase": "learned", "damping": "learned"}


class ComplexPreNormConformanceTest(_Conformance, unittest.TestCase):
    """Complex field with the other kinds of parameters: an activation with a bias, RMS norms, tied tables."""

    overfit_in_default_set = False
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

    overfit_in_default_set = False
    config_changes = {"norm_type": "batch", "embedding_type": "learned_position", "share_parts": True}


@pytest.mark.full
class ComplexLiftedConformanceTest(_Conformance, unittest.TestCase):
    """The form of a lifted BERT: widely linear layers, types of tokens, norms of stored numbers, a pooling layer."""

    config_changes = {
        "linear_type": "widely_linear",
        "attention_score": "real",
        "attention_scale": 0.35,
        "embedding_type": "learned_position",
        "type_vocab_size": 2,
        "embedding_norm": True,
        "norm_type": "stored_layer",
        "add_pooling_layer": True,
        "tie_word_embeddings": True,
    }


@pytest.mark.full
class RealConformanceTest(_Conformance, unittest.TestCase):
    """The real twin; all heads."""

    all_model_classes = ALL_HEADS
    config_changes = {"number_field": "real"}


class RealTiedConformanceTest(_Conformance, unittest.TestCase):
    """The real twin with a free word table, tied to the language-model head."""

    config_changes = {"number_field": "real", "embedding_type": "sinusoidal_position", "tie_word_embeddings": True}
