# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What Transformers' own model test suite needs of every text model, and where we deviate from it."""

import unittest

import torch
from hf_suite.generation.test_utils import GenerationTesterMixin
from hf_suite.test_configuration_common import ConfigTester
from hf_suite.test_modeling_common import ModelTesterMixin, ids_tensor, random_attention_mask
from hf_suite.test_training_mixin import TrainingTesterMixin

from complex_transformers import ComplexLinear
from complex_transformers.nn.embedding import TableEmbedding


class TextTester:
    """Small configurations and inputs in the form the suite asks for."""

    is_training = True
    batch_size = 13
    seq_length = 7
    vocab_size = 99
    hidden_size = 32
    num_labels = 3
    num_choices = 3
    padding = True

    def __init__(self, parent, config_class, sizes, changes):
        self.parent = parent
        self.config_class = config_class
        self.sizes = sizes
        self.changes = changes
        self.num_hidden_layers = sizes.get("num_hidden_layers", sizes.get("encoder_layers", 0))
        self.num_attention_heads = sizes.get("num_attention_heads")
        self.expected_num_hidden_layers = parent.num_hidden_states or self.num_hidden_layers + 1

    @property
    def key_length(self):
        return self.seq_length

    @property
    def encoder_seq_length(self):
        return self.seq_length

    @property
    def decoder_seq_length(self):
        return self.seq_length

    def get_config(self):
        widths = {"vocab_size": self.vocab_size, "hidden_size": self.hidden_size, "num_labels": self.num_labels}
        return self.config_class(**{**widths, **self.sizes, **self.changes})

    def prepare_config_and_inputs_for_common(self):
        shape = [self.batch_size, self.seq_length]
        # Id 0 is the padding word, whose embedding is zero.
        inputs = {
            "input_ids": ids_tensor(shape, self.vocab_size - 1) + 1,
            "attention_mask": random_attention_mask(shape) if self.padding else None,
        }
        if self.parent.is_encoder_decoder:
            inputs["decoder_input_ids"] = ids_tensor(shape, self.vocab_size - 1) + 1
        return self.get_config(), inputs


class Conformance(ModelTesterMixin):
    """The suite on any family."""

    def test_config(self):
        self.config_tester.run_common_tests()

    def test_can_init_all_missing_weights(self):
        # The suite skips it for old models, which it tells by the year in the configuration's first line.
        try:
            super().test_can_init_all_missing_weights()
        except unittest.SkipTest as error:
            self.fail(f"must run, but was skipped: {error}")


class TextConformance(Conformance, TrainingTesterMixin):
    """The suite on one family; a subclass names its classes, sizes and options."""

    config_class = None
    sizes = {}
    config_changes = {}
    # Of the configuration, besides the size of the vocabulary; None: those of a Transformer.
    common_properties = None
    # With the embeddings; None: one more than layers.
    num_hidden_states = None
    is_encoder_decoder = False
    test_resize_embeddings = True
    training_overfit_learning_rate = 5e-3
    model_tester = None
    # Ends of the names of the classes whose head has an output for every word.
    language_models = ("ForMaskedLM", "ForCausalLM", "ForConditionalGeneration")

    def setUp(self):
        self.model_tester = TextTester(self, self.config_class, self.sizes, self.config_changes)
        heads = {name: value for name, value in self.sizes.items() if name == "num_attention_heads"}
        properties = None if self.common_properties is None else list(self.common_properties)
        self.config_tester = ConfigTester(
            self,
            config_class=self.config_class,
            common_properties=properties,
            **{"hidden_size": 40, **heads, **self.config_changes},
        )

    def test_model_get_set_embeddings(self):
        # The suite asks for nn.Embedding and nn.Linear; waves and complex layers are ours.
        for model_class in self.all_model_classes:
            model = model_class(self.model_tester.get_config())
            self.assertIsInstance(model.get_input_embeddings(), TableEmbedding)
            replacement = torch.nn.Embedding(10, 10)
            model.set_input_embeddings(replacement)
            self.assertIs(model.get_input_embeddings(), replacement)
            output = model.get_output_embeddings()
            self.assertTrue((output is None) == (not model_class.__name__.endswith(self.language_models)))
            self.assertTrue(output is None or isinstance(output, torch.nn.Linear | ComplexLinear))

    def test_training_overfit(self):
        # To fit one batch exactly is the point here: without the noise of dropout.
        without = {"hidden_dropout_prob": 0.0}
        if "num_attention_heads" in self.sizes:
            without["attention_probs_dropout_prob"] = 0.0
        self.model_tester.changes = {**self.model_tester.changes, **without}
        super().test_training_overfit()

    def test_inputs_embeds_matches_input_ids(self):
        # The suite embeds ids without the mask along which our positions count: compare texts without padding.
        self.model_tester.padding = False
        super().test_inputs_embeds_matches_input_ids()


class WritingConformance(TextConformance, GenerationTesterMixin):
    """The suite, and our generation tests, on a family that writes targets beside sources."""

    is_encoder_decoder = True
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "bos_token_id": 1, "decoder_start_token_id": 1}
    num_hidden_states = 3
    # Of the configuration that is overfitted, besides the dropout.
    overfit_changes = {}

    def texts_to_learn(self):
        """Sources, and their targets as labels."""
        source, target = torch.randint(3, 99, (2, 6, 8))
        return {"input_ids": source}, {"labels": target}

    def test_training_overfit(self):
        # The suite's own gives a decoder the training text to go on with; here the text depends on a source.
        torch.manual_seed(0)
        changes = {"hidden_dropout_prob": 0.0, "eos_token_id": None, **self.overfit_changes}
        model = self.all_model_classes[-1](
            self.config_class(**{**self.model_tester.get_config().to_dict(), **changes})
        )
        source, labels = self.texts_to_learn()
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for _ in range(400):
            loss = model(**source, **labels).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if loss < 0.02:
                break
        self.assertLess(loss.item(), 0.05)
        out = model.eval().generate(**source, max_new_tokens=8, return_dict_in_generate=True)
        for name, found in zip(labels, (out.sequences, out.get("relations")), strict=False):
            self.assertEqual(found[:, 1:].tolist(), labels[name].tolist())
