# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite, and our generation tests, on SynCoNMT in both number fields."""

import copy
import unittest

import pytest
import torch
from conformance_common import WritingConformance
from hf_suite.generation.test_utils import NEW_TOKENS
from hf_suite.test_modeling_common import ids_tensor
from transformers.testing_utils import torch_device

from complex_transformers import (
    ComplexLinear,
    RecurrentCache,
    SynCoNMTConfig,
    SynCoNMTForConditionalGeneration,
    SynCoNMTModel,
)
from complex_transformers.nn import SyntaxEmbedding

RELATIONS = 7


class _Conformance(WritingConformance):
    config_class = SynCoNMTConfig
    all_model_classes = (SynCoNMTModel, SynCoNMTForConditionalGeneration)
    has_attentions = False  # of a text to itself
    has_static_cache = False
    common_properties = ("hidden_size", "num_hidden_layers")
    sizes = {**WritingConformance.sizes, "relation_vocab_size": RELATIONS}

    @property
    def has_relations(self):
        return self.config_changes.get("use_relations", True)

    def setUp(self):
        super().setUp()
        prepare = self.model_tester.prepare_config_and_inputs_for_common

        def with_relations():
            config, inputs = prepare()
            if self.has_relations:
                for name in ("relation_ids", "decoder_relation_ids"):
                    inputs[name] = ids_tensor(list(inputs["input_ids"].shape), RELATIONS - 1) + 1
            return config, inputs

        self.model_tester.prepare_config_and_inputs_for_common = with_relations

    def _prepare_for_class(self, inputs_dict, model_class, return_labels=False):
        inputs = super()._prepare_for_class(inputs_dict, model_class, return_labels)
        if "labels" in inputs and self.has_relations:
            inputs["relation_labels"] = torch.ones_like(inputs["labels"])
        return inputs

    def prompt(self, model, ids, mask=None):
        given = super().prompt(model, ids, mask)
        if self.has_relations:  # of a text that has begun: any, but always the same for a word
            given["decoder_relation_ids"] = 1 + ids % (RELATIONS - 1)
        return given

    def test_model_get_set_embeddings(self):
        for model_class in self.all_model_classes:
            model = model_class(self.model_tester.get_config())
            self.assertIsInstance(model.get_input_embeddings(), SyntaxEmbedding)
            replacement = torch.nn.Embedding(10, 10)
            model.set_input_embeddings(replacement)
            self.assertIs(model.get_input_embeddings(), replacement)
            output = model.get_output_embeddings()
            self.assertTrue((output is None) == (model_class is SynCoNMTModel))
            self.assertTrue(output is None or isinstance(output, torch.nn.Linear | ComplexLinear))

    def with_changes(self, **changes):
        self.model_tester.changes = {**self.model_tester.changes, **changes}

    def test_encoder_decoder_loss_no_double_shift(self):
        if self.has_relations:
            self.with_changes(alpha=1.0)  # the suite has labels of words alone
        super().test_encoder_decoder_loss_no_double_shift()

    def test_resize_embeddings_untied(self):
        self.with_changes(lm_readout="concat")  # the suite looks at ``weight``; other readouts: our laws
        super().test_resize_embeddings_untied()

    def embedded(self, model, inputs):
        """The inputs with the embeddings of both sides for words and relations."""
        inputs = dict(inputs)
        for side, stack in (("", model.get_encoder()), ("decoder_", model.get_decoder())):
            ids, relations = inputs.pop(f"{side}input_ids"), inputs.pop(f"{side}relation_ids", None)
            inputs[f"{side}inputs_embeds"] = stack.embed_tokens(ids, relations)
        return inputs

    def test_inputs_embeds(self):
        # The suite embeds words without relations, and both sides with the table of one.
        for model_class in self.all_model_classes:
            config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
            model = model_class(config).eval().to(torch_device)
            with torch.no_grad():
                expected, found = model(**inputs)[0], model(**self.embedded(model, inputs))[0]
            torch.testing.assert_close(found, expected)

    def test_inputs_embeds_matches_input_ids(self):
        self.skipTest("test_inputs_embeds compares them")

    def test_generate_from_inputs_embeds(self):
        for model, inputs in self.generating():
            others = {name: value for name, value in inputs.items() if name not in ("input_ids", "relation_ids")}
            embeds = model.get_input_embeddings()(inputs["input_ids"], inputs.get("relation_ids"))
            any_word = {"no_repeat_ngram_size": 0}
            expected = self.generate(model, inputs, **any_word)
            found = self.generate(model, {**others, "inputs_embeds": embeds}, **any_word)
            self.assertEqual(found.tolist(), expected.tolist())

    def test_generate_continue_from_past_key_values(self):
        for model, inputs in self.generating():
            whole = self.generate(model, inputs, return_dict_in_generate=True)
            first = self.generate(model, inputs, max_new_tokens=3, return_dict_in_generate=True)
            self.assertIsInstance(first.cache, RecurrentCache)
            texts = {"decoder_input_ids": first.sequences, "decoder_attention_mask": torch.ones_like(first.sequences)}
            given = [texts, {**texts, "decoder_relation_ids": first.relations}] if self.has_relations else [texts]
            for begun in given:
                rest = self.generate(
                    model,
                    {**inputs, **begun},
                    cache=copy.deepcopy(first.cache),
                    max_new_tokens=NEW_TOKENS - 3,
                    return_dict_in_generate=True,
                )
                self.assertEqual(rest.sequences.tolist(), whole.sequences.tolist())
                if self.has_relations:
                    self.assertEqual(rest.relations.tolist(), whole.relations.tolist())

    def texts_to_learn(self):
        source, labels = super().texts_to_learn()
        relations, target_relations = torch.randint(1, RELATIONS, (2, 6, 8))
        if not self.has_relations:
            return source, labels
        return {**source, "relation_ids": relations}, {**labels, "relation_labels": target_relations}


class BahdanauConformanceTest(_Conformance, unittest.TestCase):
    """The default: complex field, GRU, global attention."""


@pytest.mark.full
class LuongConformanceTest(_Conformance, unittest.TestCase):
    """Complex field, LSTM with complex gates, local attention, embeddings of both sides shared."""

    config_changes = {
        "attention_type": "luong",
        "attention_window": 2,
        "rnn_type": "lstm",
        "gate": "split",
        "share_embeddings": True,
        "bidirectional": False,
    }


class RealBahdanauConformanceTest(_Conformance, unittest.TestCase):
    """The real twin with words and relations side by side."""

    config_changes = {"number_field": "real", "rnn_type": "lstm"}


@pytest.mark.slow
class RealLuongConformanceTest(_Conformance, unittest.TestCase):
    """The real twin of words alone."""

    config_changes = {"number_field": "real", "attention_type": "luong", "use_relations": False}
