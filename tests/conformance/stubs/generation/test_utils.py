# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What every model with ``generate()`` must hold; the source distribution leaves its own file of this name out.

That its cache changes nothing, greedily or in beams, is a law in ``tests/invariants/test_decoding.py``.
"""

import copy
import sys

import pytest
import torch
from transformers.testing_utils import torch_device

NEW_TOKENS = 6


class GenerationTesterMixin:
    """A subclass is a conformance test with ``model_tester``; its inputs are cut to small batches here."""

    # Keys and values of a fixed length, and a forward that compiles with them.
    has_static_cache = True

    def generating(self, **changes):
        """Every class that can generate, with weights that make its choices differ from step to step."""
        for model_class in self.all_model_classes:
            if not model_class.can_generate():
                continue
            torch.manual_seed(0)
            sys.modules["hf_suite.test_modeling_common"].global_rng.seed(0)  # the suite draws its ids from it
            config, inputs = self.prepare_config_and_inputs_for_generate()
            for name, value in changes.items():
                setattr(config, name, value)
            model = model_class(config).eval().to(torch_device)
            for parameter in model.parameters():
                parameter.data += 0.3 * torch.randn_like(parameter)
            yield model, inputs

    def prepare_config_and_inputs_for_generate(self, batch_size=3):
        """Configuration without a last token, so that all texts get equally long, and the inputs of a small batch."""
        config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
        config.eos_token_id = None
        config.bos_token_id = config.bos_token_id or 1
        inputs = {name: value[:batch_size] for name, value in inputs.items() if value is not None}
        return config, {name: value for name, value in inputs.items() if not name.startswith("decoder_")}

    def prompt(self, model, ids, mask=None):
        """The arguments of ``generate`` for texts that begin with ``ids``."""
        if not model.config.is_encoder_decoder:  # a mask is always given: that of other inputs would not fit
            return {"input_ids": ids, "attention_mask": torch.ones_like(ids) if mask is None else mask}
        given = {"decoder_input_ids": ids, "decoder_attention_mask": mask}
        return {name: value for name, value in given.items() if value is not None}

    def vocab_size(self, model):
        """Words a model writes; beside an encoder of something else than words they are the decoder's."""
        return model.config.get_text_config(decoder=True).vocab_size

    def mask_of(self, model, inputs, ids):
        """The mask of ``inputs`` with those tokens of ``ids`` that came after them; all of them beside an encoder."""
        if model.config.is_encoder_decoder:  # without it generate() takes all of them for new ones
            return torch.ones_like(ids)
        if "attention_mask" not in inputs:
            return None
        mask = inputs["attention_mask"]
        return torch.nn.functional.pad(mask, (0, ids.shape[1] - mask.shape[1]), value=1)

    def generate(self, model, inputs, **options):
        # Untrained models repeat one word for ever, and would hide a cache that is wrong: no word comes twice.
        varied = {"no_repeat_ngram_size": 1, "suppress_tokens": [0]}
        return model.generate(**{**inputs, "max_new_tokens": NEW_TOKENS, "do_sample": False, **varied, **options})

    def begin(self, model, padding):
        """Random beginnings of three texts, the first ones ``padding`` tokens shorter than the last: ids and mask."""
        ids = torch.randint(3, self.vocab_size(model), (3, 5), device=torch_device)
        mask = torch.ones_like(ids)
        for row, missing in enumerate(padding):
            ids[row, :missing], mask[row, :missing] = 0, 0
            if model.config.is_encoder_decoder:  # generate() would put it before the padding
                ids[row, missing] = model.generation_config.decoder_start_token_id
        return ids, mask

    def test_texts_differ(self):
        """A model that writes the same text whatever it reads would make the other tests worthless."""
        for model, inputs in self.generating():
            new = self.generate(model, {**inputs, **self.prompt(model, self.begin(model, (0, 0, 0))[0])})[:, 5:]
            self.assertEqual(len({tuple(text) for text in new.tolist()}), 3)

    def test_dict_outputs(self):
        for model, inputs in self.generating(_attn_implementation="eager"):
            out = self.generate(
                model,
                inputs,
                return_dict_in_generate=True,
                output_scores=True,
                output_hidden_states=True,
                output_attentions=self.has_attentions,
            )
            self.assertEqual(len(out.scores), NEW_TOKENS)
            self.assertEqual(out.scores[0].shape, (3, self.vocab_size(model)))
            states = out.decoder_hidden_states if model.config.is_encoder_decoder else out.hidden_states
            self.assertEqual(len(states), NEW_TOKENS)
            self.assertEqual(states[1][-1].shape, (3, 1, model.config.hidden_size))
            self.assertEqual(out.cache.get_seq_length(), out.sequences.shape[1] - 1)
            if self.has_attentions and model.config.is_encoder_decoder:
                self.assertEqual(len(out.cross_attentions), NEW_TOKENS)
                self.assertEqual(out.decoder_attentions[1][0].shape[-1], 2)

    def test_generate_continue_from_past_key_values(self):
        for model, inputs in self.generating():
            whole = self.generate(model, inputs)
            first = self.generate(model, inputs, max_new_tokens=3, return_dict_in_generate=True)
            rest = self.generate(
                model,
                {**inputs, **self.prompt(model, first.sequences, self.mask_of(model, inputs, first.sequences))},
                cache=first.cache,
                max_new_tokens=NEW_TOKENS - 3,
            )
            self.assertEqual(rest.tolist(), whole.tolist())

    def test_left_padding_compatibility(self):
        for model, inputs in self.generating():
            padding = (2, 1, 0)
            ids, mask = self.begin(model, padding)
            padded = self.generate(model, {**inputs, **self.prompt(model, ids, mask)}, num_beams=2)
            for row, start in enumerate(padding):
                alone = {name: value[row : row + 1] for name, value in inputs.items()}
                text = self.generate(model, {**alone, **self.prompt(model, ids[row : row + 1, start:])}, num_beams=2)
                self.assertEqual(padded[row, start:].tolist(), text[0].tolist())

    def test_generate_from_inputs_embeds(self):
        for model, inputs in self.generating():
            if model.main_input_name != "input_ids":
                self.skipTest("no words go in")
            mask = inputs.get("attention_mask")
            embeds = model.get_input_embeddings()(inputs["input_ids"], attention_mask=mask)
            others = {name: value for name, value in inputs.items() if name != "input_ids"}
            any_word = {"no_repeat_ngram_size": 0}  # the words behind given embeddings are not known
            expected = self.generate(model, inputs, **any_word)[:, -NEW_TOKENS:]
            found = self.generate(model, {**others, "inputs_embeds": embeds}, **any_word)[:, -NEW_TOKENS:]
            self.assertEqual(found.tolist(), expected.tolist())

    def test_assisted_decoding_is_greedy_or_refused(self):
        for model, inputs in self.generating():
            single = {name: value[:1] for name, value in inputs.items()}
            expected = self.generate(model, single).tolist()
            for options in ({"assistant_model": copy.deepcopy(model)}, {"prompt_lookup_num_tokens": 2}):
                if model._is_stateful:
                    with pytest.raises(ValueError, match="stateful"):
                        self.generate(model, single, **options)
                else:
                    self.assertEqual(self.generate(model, single, **options).tolist(), expected)

    def test_assistant_that_is_wrong_changes_nothing(self):
        for model, inputs in self.generating():
            if model._is_stateful:
                self.skipTest("a cache that cannot be rolled back has no assistant")
            single = {name: value[:1] for name, value in inputs.items()}
            assistant = copy.deepcopy(model)
            for parameter in assistant.parameters():
                parameter.data.normal_()
            expected = self.generate(model, single).tolist()
            self.assertEqual(self.generate(model, single, assistant_model=assistant).tolist(), expected)

    def test_generate_with_static_cache(self):
        if not self.has_static_cache:
            self.skipTest("the model keeps no keys and values")
        for model, inputs in self.generating():
            for options in ({}, {"num_beams": 2}):
                expected = self.generate(model, inputs, **options).tolist()
                static = {"cache_implementation": "static", "disable_compile": True, **options}
                self.assertEqual(self.generate(model, inputs, **static).tolist(), expected)
            prompt = {**inputs, **self.prompt(model, *self.begin(model, (2, 0, 0)))}
            static = self.generate(model, prompt, cache_implementation="static", disable_compile=True)
            self.assertEqual(static.tolist(), self.generate(model, prompt).tolist())

    @pytest.mark.slow
    def test_generate_compile_model_forward_fullgraph(self):
        if not self.has_static_cache:
            self.skipTest("the model keeps no keys and values")
        for model, inputs in self.generating():
            expected = self.generate(model, inputs).tolist()
            out = self.generate(model, inputs, return_dict_in_generate=True, output_hidden_states=True)
            model.forward = torch.compile(model.forward, fullgraph=True, dynamic=False)
            compiled = self.generate(model, inputs, cache_implementation="static", disable_compile=True)
            self.assertEqual(compiled.tolist(), expected)
            self.assertEqual(out.sequences.tolist(), expected)

    def test_generate_in_half_precision(self):
        for model, inputs in self.generating():
            for dtype in (torch.bfloat16, torch.float16):
                text = self.generate(model.to(dtype), inputs)
                self.assertEqual(text.shape[0], 3)
                self.assertEqual(text.tolist(), self.generate(model, inputs, use_cache=True).tolist())
