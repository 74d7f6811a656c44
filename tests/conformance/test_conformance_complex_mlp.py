# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite on the multilayer perceptron, in both number fields."""

import tempfile
import unittest

import pytest
import torch
from conformance_images import ImageConformance, ImageTester
from hf_suite.test_modeling_common import ids_tensor

from complex_transformers import (
    ComplexMLPConfig,
    ComplexMLPForImageClassification,
    ComplexMLPForSequenceClassification,
    ComplexMLPModel,
)
from families import REAL


class _Conformance(ImageConformance):
    config_class = ComplexMLPConfig
    all_model_classes = (ComplexMLPModel, ComplexMLPForImageClassification)
    num_inputs = 3 * 8 * 8

    def shapes_of_states(self, config):
        inputs = self.num_inputs * (1 if config.input_transform == "none" else 2)
        return [(width,) for width in (inputs, *config.hidden_sizes)]


class ComplexMLPConformanceTest(_Conformance, unittest.TestCase):
    """The default: complex layers without a norm, squared moduli."""


class RealConformanceTest(_Conformance, unittest.TestCase):
    """The real twin."""

    changes = {**REAL, "norm_type": "layer"}


@pytest.mark.full
class SpectrumConformanceTest(_Conformance, unittest.TestCase):
    """Spectra of images, an activation with parameters, batch norm, dropout."""

    changes = {
        "input_transform": "fft2",
        "norm_type": "batch",
        "hidden_act": "modrelu",
        "hidden_dropout_prob": 0.1,
        "readout": "concat",
    }


class BagTester(ImageTester):
    """The same on bags of words."""

    vocab_size = 40
    seq_length = 7

    def get_config(self):
        sizes = {"num_labels": self.num_labels, "vocab_size": self.vocab_size, "bag_of_words": "binary"}
        return ComplexMLPConfig(**{**sizes, **self.changes})

    def prepare_config_and_inputs_for_common(self):
        shape = [self.batch_size, self.seq_length]
        return self.get_config(), {"input_ids": ids_tensor(shape, self.vocab_size)}


class BagConformanceTest(_Conformance, unittest.TestCase):
    """Bags of words in both heads."""

    all_model_classes = (ComplexMLPForSequenceClassification,)
    sizes_and_inputs = BagTester
    main_input_name = "input_ids"
    num_inputs = 40

    def test_retain_grad_hidden_states_attentions(self):
        # Of the first state, the words, there is no gradient: here that of the layers is asked for.
        config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
        outputs = ComplexMLPForSequenceClassification(config)(**inputs, output_hidden_states=True)
        for state in outputs.hidden_states[1:]:
            state.retain_grad()
        outputs.logits.flatten()[0].backward()
        self.assertTrue(all(state.grad.abs().sum() > 0 for state in outputs.hidden_states[1:]))

    def test_load_with_mismatched_shapes(self):
        # The suite gives the words by place, where the model without a head takes pixels.
        small = ComplexMLPModel(ComplexMLPConfig(bag_of_words="binary", vocab_size=10))
        with tempfile.TemporaryDirectory() as folder:
            small.save_pretrained(folder)
            with pytest.raises(RuntimeError, match="ignore_mismatched_sizes"):
                ComplexMLPModel.from_pretrained(folder, vocab_size=12)
            larger = ComplexMLPModel.from_pretrained(folder, vocab_size=12, ignore_mismatched_sizes=True)
        self.assertEqual(larger(input_ids=torch.tensor([[11]])).pooler_output.shape, (1, 512))
