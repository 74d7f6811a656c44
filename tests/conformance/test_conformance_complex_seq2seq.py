# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite, and our generation tests, on the encoder-decoder in both number fields."""

import unittest

import pytest
import torch
from conformance_common import TextConformance
from hf_suite.generation.test_utils import GenerationTesterMixin

from complex_transformers import (
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqForConditionalGeneration,
    ComplexSeq2SeqModel,
)


class _Conformance(TextConformance, GenerationTesterMixin):
    config_class = ComplexSeq2SeqConfig
    all_model_classes = (ComplexSeq2SeqModel, ComplexSeq2SeqForConditionalGeneration)
    is_encoder_decoder = True
    sizes = {
        "encoder_layers": 2,
        "decoder_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "bos_token_id": 1,
        "decoder_start_token_id": 1,
    }
    num_hidden_states = 3

    def test_inputs_embeds_matches_input_ids(self):
        if not self.config_changes.get("share_embeddings", True):
            # The suite embeds both sides with the source's table; test_complex_seq2seq_inputs.py does it with each.
            self.skipTest("source and target have an embedding each")
        super().test_inputs_embeds_matches_input_ids()

    def test_training_overfit(self):
        # The suite's own gives a decoder the training text to go on with; here the text depends on a source.
        torch.manual_seed(0)
        without = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.5}
        config = self.config_class(**{**self.model_tester.get_config().to_dict(), **without, "eos_token_id": None})
        model = ComplexSeq2SeqForConditionalGeneration(config)
        source, target = torch.randint(3, 99, (2, 6, 8))
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for _ in range(400):
            loss = model(source, labels=target).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if loss < 0.02:
                break
        self.assertLess(loss.item(), 0.05)
        self.assertEqual(model.eval().generate(source, max_new_tokens=8)[:, 1:].tolist(), target.tolist())


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
