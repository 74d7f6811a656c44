# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite on the memory network, in both number fields and variants."""

import tempfile
import unittest

import pytest
import torch
from conformance_common import TextConformance, TextTester
from hf_suite.test_modeling_common import ids_tensor
from transformers.testing_utils import torch_device

from complex_transformers import (
    ComplexMemoryNetworkConfig,
    ComplexMemoryNetworkForSequenceClassification,
    ComplexMemoryNetworkModel,
)
from families import REAL, WORD_MEMORY


class StoryTester(TextTester):
    """Stories of five sentences, or of words, and a question."""

    num_sentences = 5

    def prepare_config_and_inputs_for_common(self):
        config = self.get_config()
        sentences = () if config.variant == "word_memory" else (self.num_sentences,)
        shapes = {"input_ids": (*sentences, self.seq_length), "question_ids": (4,)}
        return config, {name: ids_tensor((self.batch_size, *shape), 98) + 1 for name, shape in shapes.items()}


class _Conformance(TextConformance):
    config_class = ComplexMemoryNetworkConfig
    all_model_classes = (ComplexMemoryNetworkModel, ComplexMemoryNetworkForSequenceClassification)
    common_properties = ("hidden_size",)
    has_attentions = False
    training_overfit_steps = 120

    def setUp(self):
        super().setUp()
        self.model_tester = StoryTester(self, self.config_class, self.sizes, self.config_changes)

    def _get_trainable_model_class(self):
        return ComplexMemoryNetworkForSequenceClassification

    def _create_text_training_batch(self, batch_size, seq_length, vocab_size):
        # The suite's batch is one text: here every story differs and has an answer.
        _, inputs = self.model_tester.prepare_config_and_inputs_for_common()
        rows = {name: ids[:batch_size].cpu() for name, ids in inputs.items()}
        return {**rows, "labels": torch.arange(batch_size) % self.model_tester.num_labels}

    def test_hidden_states_output(self):
        # The suite asks for a state of every word: here one is of every hop, and words have none.
        config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
        for model_class in self.all_model_classes:
            model = model_class(config).eval().to(torch_device)
            states = model(**inputs, output_hidden_states=True).hidden_states
            self.assertEqual([tuple(state.shape) for state in states], self.shapes_of_states(config))

    def shapes_of_states(self, config):
        return [(self.model_tester.batch_size, config.hidden_size)] * (config.num_hops + 1)

    def test_resize_tokens_embeddings(self):
        # The suite reads the size of one table: here every hop has one, and words are added to all of them.
        for model_class in self.all_model_classes:
            config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
            inputs = {name: ids.cpu() for name, ids in inputs.items()}  # where numbers of words are checked
            model = model_class(config).eval()
            before = model(**inputs)[0]
            model.resize_token_embeddings(109)
            torch.testing.assert_close(model(**inputs)[0], before)
            for words in (109, 20):
                model.resize_token_embeddings(words)
                model(**{name: torch.full_like(ids, words - 1) for name, ids in inputs.items()})
                with pytest.raises(ValueError, match=rf"lie in \[0, {words}\), got {words}"):
                    model(**{name: torch.full_like(ids, words) for name, ids in inputs.items()})

    def test_load_with_mismatched_shapes(self):
        # The suite asks the model without a head no question.
        config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
        with tempfile.TemporaryDirectory() as folder:
            ComplexMemoryNetworkForSequenceClassification(config).save_pretrained(folder)
            for model_class in self.all_model_classes:
                with pytest.raises(RuntimeError, match="ignore_mismatched_sizes"):
                    model_class.from_pretrained(folder, vocab_size=120, num_labels=42)
                larger = model_class.from_pretrained(
                    folder, vocab_size=120, num_labels=42, ignore_mismatched_sizes=True
                )
                larger.to(torch_device)(**{name: ids + 21 for name, ids in inputs.items()})
        self.assertEqual(larger(**inputs).logits.shape[1], 42)


class ComplexMemoryNetworkConformanceTest(_Conformance, unittest.TestCase):
    """Sentences."""


class RealConformanceTest(_Conformance, unittest.TestCase):
    """The network of Sukhbaatar et al."""

    config_changes = {**REAL, "num_hops": 2}


@pytest.mark.full
class WordsConformanceTest(_Conformance, unittest.TestCase):
    """Words, as the thesis ran it."""

    config_changes = WORD_MEMORY

    def shapes_of_states(self, config):
        read = 2 * config.story_length + config.hidden_size
        batch = self.model_tester.batch_size
        return [(batch, config.question_length, read), (batch, config.recurrent_size)]
