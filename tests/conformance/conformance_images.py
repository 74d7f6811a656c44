# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What Transformers' own model test suite needs to know of networks for images."""

import inspect

import pytest
from conformance_common import Conformance
from hf_suite.test_configuration_common import ConfigTester
from hf_suite.test_modeling_common import floats_tensor
from transformers.testing_utils import torch_device


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
