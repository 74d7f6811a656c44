# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite on the networks for images, in both number fields."""

import inspect
import tempfile
import unittest

import pytest
import torch
from conformance_common import Conformance
from hf_suite.test_configuration_common import ConfigTester
from hf_suite.test_modeling_common import floats_tensor, ids_tensor
from transformers.testing_utils import torch_device

from complex_transformers import (
    ComplexConvNetConfig,
    ComplexConvNetForImageClassification,
    ComplexConvNetModel,
    ComplexMLPConfig,
    ComplexMLPForImageClassification,
    ComplexMLPForSequenceClassification,
    ComplexMLPModel,
)
from families import REAL, SPECTRUM, TRABELSI


class ImageTester:
    """Small configurations and images in the form the suite asks for."""

    is_training = True
    batch_size = 13
    num_labels = 3
    num_channels = 3
    image_size = 8
    # The suite reads the widths of text models off these.
    hidden_size = 16
    num_hidden_layers = 2

    def __init__(self, config_class, changes):
        self.config_class = config_class
        self.changes = {config_class.widths: [24, 16], **changes}

    def get_config(self):
        sizes = {name: getattr(self, name) for name in ("num_labels", "num_channels", "image_size")}
        return self.config_class(**{**sizes, **self.changes})

    def prepare_config_and_inputs_for_common(self):
        shape = [self.batch_size, self.num_channels, self.image_size, self.image_size]
        return self.get_config(), {"pixel_values": floats_tensor(shape)}


class ImageConformance(Conformance):
    """Of one family with these changes of its configuration; a subclass names configuration and models."""

    config_class = None
    test_resize_embeddings = False
    has_attentions = False
    model_tester = None
    sizes_and_inputs = ImageTester
    main_input_name = "pixel_values"
    changes = {}

    def setUp(self):
        self.model_tester = self.sizes_and_inputs(self.config_class, self.changes)
        self.config_tester = ConfigTester(
            self,
            config_class=self.config_class,
            has_text_modality=False,
            common_properties=["hidden_size"],
            **{self.config_class.widths: [8, 40], **self.changes},
        )

    def shapes_of_states(self, config):
        """The shapes of what is read and of what each layer says of one image."""
        raise NotImplementedError

    def test_hidden_states_output(self):
        # The suite asks for tokens of one width: here a state is what a layer says of an image.
        for model_class in self.all_model_classes:
            config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
            config.output_hidden_states = True
            states = model_class(config).eval().to(torch_device)(**inputs).hidden_states
            self.assertEqual([tuple(state.shape[1:]) for state in states], self.shapes_of_states(config))

    def _prepare_config_and_inputs_for_retain_grad_hidden_states_attentions(self):
        # The first state is the pixels, which need no gradient unless it is asked for.
        config, inputs = super()._prepare_config_and_inputs_for_retain_grad_hidden_states_attentions()
        return config, {"pixel_values": inputs["pixel_values"].requires_grad_()}

    def test_model_get_set_embeddings(self):
        # There are no words.
        for model_class in self.all_model_classes:
            with pytest.raises(NotImplementedError):
                model_class(self.model_tester.get_config()).get_input_embeddings()

    def test_inputs_embeds(self):
        # Pixels or bags are what a model reads: there are no embeddings to give in their place.
        for model_class in self.all_model_classes:
            self.assertNotIn("inputs_embeds", inspect.signature(model_class.forward).parameters)
            self.assertEqual(model_class.main_input_name, self.main_input_name)


class _ConvNet(ImageConformance):
    config_class = ComplexConvNetConfig
    all_model_classes = (ComplexConvNetModel, ComplexConvNetForImageClassification)

    def shapes_of_states(self, config):
        first = 3 if config.input_transform == "none" and config.imaginary_input == "zero" else 6
        sizes = {"valid": (8, 3, 0), "same": (8, 4, 2)}[config.padding]
        channels = (first, *config.num_filters)
        return [(count, size, size) for count, size in zip(channels, sizes, strict=True)]


class ComplexConvNetConformanceTest(_ConvNet, unittest.TestCase):
    """The default but for zeros around the image: complex filters without a norm, maxima of moduli."""

    changes = {"padding": "same"}


class RealConvNetConformanceTest(_ConvNet, unittest.TestCase):
    """The real twin."""

    changes = {**REAL, "norm_type": "batch", "padding": "same"}


@pytest.mark.slow
class TrabelsiConformanceTest(_ConvNet, unittest.TestCase):
    """Residual blocks, whitening, a learned imaginary part, dropout."""

    changes = {**TRABELSI, "padding": "same", "hidden_act": "split_relu", "hidden_dropout_prob": 0.1}


@pytest.mark.slow
class SpectrumConvNetConformanceTest(_ConvNet, unittest.TestCase):
    """Spectra of images, an activation with parameters, means of moduli."""

    changes = {**SPECTRUM, "norm_type": "whitening", "padding": "same", "hidden_act": "modrelu", "pooling": "average"}


class _MLP(ImageConformance):
    config_class = ComplexMLPConfig
    all_model_classes = (ComplexMLPModel, ComplexMLPForImageClassification)
    num_inputs = 3 * 8 * 8

    def shapes_of_states(self, config):
        inputs = self.num_inputs * (1 if config.input_transform == "none" else 2)
        return [(width,) for width in (inputs, *config.hidden_sizes)]


class ComplexMLPConformanceTest(_MLP, unittest.TestCase):
    """The default: complex layers without a norm, squared moduli."""


class RealMLPConformanceTest(_MLP, unittest.TestCase):
    """The real twin."""

    changes = {**REAL, "norm_type": "layer"}


@pytest.mark.slow
class SpectrumMLPConformanceTest(_MLP, unittest.TestCase):
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


class BagConformanceTest(_MLP, unittest.TestCase):
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
