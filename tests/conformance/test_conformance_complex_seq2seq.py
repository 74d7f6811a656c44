# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite, and our generation tests, on the encoder-decoder in both number fields."""

import unittest

import pytest
from conformance_common import WritingConformance

from complex_transformers import ComplexSeq2SeqConfig, ComplexSeq2SeqForConditionalGeneration, ComplexSeq2SeqModel


class _Conformance(WritingConformance):
    config_class = ComplexSeq2SeqConfig
    all_model_classes = (ComplexSeq2SeqModel, ComplexSeq2SeqForConditionalGeneration)
    sizes = {**WritingConformance.sizes, "num_attention_heads": 4, "intermediate_size": 64}
    overfit_changes = {"attention_probs_dropout_prob": 0.0, "initializer_range": 0.5}

    def test_inputs_embeds_matches_input_ids(self):
        if not self.config_changes.get("share_embeddings", True):
            # The suite embeds both sides with the source's table; embeddings_stand_for_ids, a law, does it with each.
            self.skipTest("source and target have an embedding each")
        super().test_inputs_embeds_matches_input_ids()


@pytest.mark.full
class ComplexModulusConformanceTest(_Conformance, unittest.TestCase):
    """The default: complex field, score |q k^H|."""


class ComplexSdpaConformanceTest(_Conformance, unittest.TestCase):
    """Complex field, score Re(q k^H): sdpa and eager are two different paths; two embeddings, pre-norm."""

    overfit_in_default_set = False
    config_changes = {
        "attention_score": "real",
        "phase": "learned",
        "damping": "learned",
        "share_embeddings": False,
        "norm_position": "pre",
    }


class ComplexTiedConformanceTest(_Conformance, unittest.TestCase):
    """Complex field, the head tied to the amplitudes, other norms and normalisation."""

    is_further_variant = True
    config_changes = {
        "attention_normalization": "probability_amplitude",
        "hidden_act": "modrelu",
        "norm_type": "rms",
        "norm_position": "pre",
        "lm_readout": "feature_modulus",
        "tie_word_embeddings": True,
    }


class RealConformanceTest(_Conformance, unittest.TestCase):
    """The real twin with learned positions."""

    config_changes = {"number_field": "real", "embedding_type": "learned_position"}


@pytest.mark.full
class RealTiedConformanceTest(_Conformance, unittest.TestCase):
    """The real twin with a free word table for each side, that of the target tied to the head."""

    config_changes = {
        "number_field": "real",
        "embedding_type": "sinusoidal_position",
        "share_embeddings": False,
        "tie_word_embeddings": True,
    }
