# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own model test suite on every family without a file of its own here, in both number fields.

A family without a class in ``BASES`` classifies texts and has neither attention nor a cache; its row in
``families.py`` is enough. ``CHANGES`` has what the classes of a family change in the configuration.
"""

import unittest
from pathlib import Path

import pytest
import torch
from conformance_common import TextConformance, WritingConformance
from hf_suite.generation.test_utils import GenerationTesterMixin

import complex_transformers as ct
from complex_transformers.models import family_class, file_kind, model_families
from families import AMPLITUDES, FAMILIES, LEARNED, PRE_NORM, REAL, REAL_SCORE, SINUSOIDS, TEXT, TIED_MODULI, WORD

LAYERS = {"num_attention_heads": 4, "intermediate_size": 64}


class _Order(TextConformance):
    config_class = ct.ComplexOrderConfig
    all_model_classes = (
        ct.ComplexOrderModel,
        ct.ComplexOrderForMaskedLM,
        ct.ComplexOrderForSequenceClassification,
        ct.ComplexOrderForTokenClassification,
    )
    sizes = {"num_hidden_layers": 2, **LAYERS}

    def _get_trainable_model_class(self):
        return ct.ComplexOrderForMaskedLM


class _CausalLM(TextConformance, GenerationTesterMixin):
    has_static_cache = False
    sizes = {"num_hidden_layers": 2, "bos_token_id": 1}

    def setUp(self):
        super().setUp()
        self.model_tester.causal_lm_class = self._get_trainable_model_class()

    def _get_trainable_model_class(self):
        return self.all_model_classes[1]


class _Llama(_CausalLM):
    config_class = ct.ComplexLlamaConfig
    all_model_classes = (
        ct.ComplexLlamaModel,
        ct.ComplexLlamaForCausalLM,
        ct.ComplexLlamaForSequenceClassification,
        ct.ComplexLlamaForTokenClassification,
    )
    has_static_cache = True
    sizes = {**_CausalLM.sizes, **LAYERS, "num_key_value_heads": 2, "initializer_range": 1.0}


class _RecurrentLM(_CausalLM):
    config_class = ct.ComplexRecurrentLMConfig
    all_model_classes = (ct.ComplexRecurrentLMModel, ct.ComplexRecurrentLMForCausalLM)
    has_attentions = False
    common_properties = ("hidden_size", "num_hidden_layers")
    sizes = {**_CausalLM.sizes, "recurrent_size": 32, "initializer_range": 1.0}


class _Mamba(_CausalLM):
    config_class = ct.ComplexMambaConfig
    all_model_classes = (ct.ComplexMambaModel, ct.ComplexMambaForCausalLM, ct.ComplexMambaForSequenceClassification)
    has_attentions = False
    common_properties = ("hidden_size", "num_hidden_layers")
    sizes = {
        **_CausalLM.sizes,
        "state_size": 16,
        "chunk_size": 4,
        "intermediate_size": 64,
        "initializer_range": 1.0,
    }


class _TransfoXL(_CausalLM):
    config_class = ct.ComplexTransfoXLConfig
    all_model_classes = (ct.ComplexTransfoXLModel, ct.ComplexTransfoXLForCausalLM)
    sizes = {**_CausalLM.sizes, **LAYERS, "mem_len": 32}


class _Seq2Seq(WritingConformance):
    config_class = ct.ComplexSeq2SeqConfig
    all_model_classes = (ct.ComplexSeq2SeqModel, ct.ComplexSeq2SeqForConditionalGeneration)
    sizes = {**WritingConformance.sizes, **LAYERS}
    overfit_changes = {"attention_probs_dropout_prob": 0.0, "initializer_range": 0.5}

    def test_inputs_embeds_matches_input_ids(self):
        if not self.config_changes.get("share_embeddings", True):
            # The suite embeds both sides with the source's table; embeddings_stand_for_ids, a law, does it with each.
            self.skipTest("source and target have an embedding each")
        super().test_inputs_embeds_matches_input_ids()


BASES = {
    "complex_llama": _Llama,
    "complex_mamba": _Mamba,
    "complex_order": _Order,
    "complex_recurrent_lm": _RecurrentLM,
    "complex_seq2seq": _Seq2Seq,
    "complex_transfo_xl": _TransfoXL,
}
ALL_ORDER = (
    *_Order.all_model_classes,
    ct.ComplexOrderForMultipleChoice,
    ct.ComplexOrderForQuestionAnswering,
)
OTHER_PARAMETERS = {**AMPLITUDES, **PRE_NORM, **TIED_MODULI, "hidden_act": "modrelu", "norm_type": "rms"}
PHASE_COHERENT = {"attention_score": "cosine", "attention_normalization": "sigmoid"}
LEARNED_WAVES = {"phase": "learned", "damping": "learned"}
TIED_SINUSOIDS = {**REAL, **SINUSOIDS, "tie_word_embeddings": True}

# family -> name of a class of the suite -> changes of the configuration
CHANGES = {
    "complex_fasttext": {
        "": LEARNED_WAVES,  # every table of the complex-order embedding
        "Real": {**REAL, **LEARNED},
    },
    "complex_llama": {
        "": {"position_type": "rotary"},  # the suite scales rotary positions; the next have polar ones
        "RealTied": {**REAL, "tie_word_embeddings": True},
        # What a lifted Qwen3 is: norms of stored numbers and of heads, heads of their own width.
        "WidelyLinear": {
            "position_type": "rotary",
            "linear_type": "widely_linear",
            "gate_product": "parts",
            "norm_scale": "stored",
            "qk_norm": True,
            "head_dim": 12,
            "attention_scale": 0.3,
        },
        # What a lifted Gemma is: alternating windows, rotary positions by type of layer, four norms, limited scores.
        "Sliding": {
            "num_hidden_layers": 2,  # the suite makes configurations of these changes alone, too
            "sliding_window": 5,
            "layer_types": ["sliding_attention", "full_attention"],
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                "full_attention": {"rope_type": "linear", "rope_theta": 1000.0, "factor": 8.0},
            },
            "norm_position": "both",
            "norm_scale": "stored",
            "qk_norm": True,
            "attn_logit_softcapping": 5.0,
            "final_logit_softcapping": 9.0,
            "embedding_multiplier": 4.0,
        },
        "PhaseCoherent": PHASE_COHERENT,
        "Polar": {"position_type": "polar"},
        "EqualHeads": {"position_type": "polar", "imaginary_heads": "equal_heads"},
    },
    "complex_mamba": {
        "": {"head_dim": 8},  # the suite makes configurations of these changes alone, too
        "RealMimo": {**REAL, "head_dim": 8, "mimo_rank": 2, "tie_word_embeddings": True, "is_outproj_norm": True},
    },
    "complex_order": {
        "": {},
        "Sdpa": {**REAL_SCORE, **LEARNED_WAVES},  # sdpa and eager are two different paths here
        "PreNorm": OTHER_PARAMETERS,
        "BatchNorm": {**LEARNED, "max_position_embeddings": 512, "norm_type": "batch", "share_parts": True},
        # The form of a lifted BERT.
        "Lifted": {
            **REAL_SCORE,
            "linear_type": "widely_linear",
            "attention_scale": 0.35,
            "embedding_type": "learned_position",
            "type_vocab_size": 2,
            "embedding_norm": True,
            "norm_type": "stored_layer",
            "add_pooling_layer": True,
            "tie_word_embeddings": True,
        },
        "Real": REAL,
        "RealTied": TIED_SINUSOIDS,
        "PhaseCoherent": PHASE_COHERENT,
    },
    "complex_quantum": {
        "": {"evolution": "shared", "embedding_type": "complex_order"},
        "Real": {**REAL, "embedding_type": "word", "pooling": "max", "measurement": "povm", "num_measurements": 40},
    },
    "complex_recurrent_lm": {
        "": {},
        "LRU": {"rnn_type": "lru", "cutoffs": [2, 3]},
        "RealTied": {**REAL, "tie_word_embeddings": True, "hidden_size": 32, "recurrent_size": 32},
        "CausalZ": {"rnn_type": "gru", "transform": "causal_z", "word_parts": "real"},
    },
    "complex_seq2seq": {
        "": {},
        "Sdpa": {**REAL_SCORE, **LEARNED_WAVES, **PRE_NORM, "share_embeddings": False},
        "Tied": OTHER_PARAMETERS,
        "Real": {**REAL, "embedding_type": "learned_position"},
        "RealTied": {**TIED_SINUSOIDS, "share_embeddings": False},
        "PhaseCoherent": PHASE_COHERENT,
    },
    "complex_text_cnn": {
        # Activations with a bias, and another readout.
        "": {"embedding_type": "complex_vanilla", "hidden_act": "modrelu", "readout": "feature_modulus"},
        "Real": {**REAL, "embedding_type": "sinusoidal_position"},
    },
    "complex_text_gcn": {
        "": {"window_size": 7, "readout": "squared_modulus"},  # a window of the whole text
        "Real": {**REAL, "embedding_type": "word"},
    },
    "complex_text_rnn": {
        "": {},
        "BidirectionalGRU": {"rnn_type": "gru", "bidirectional": True, "gate": "split", "pooling": "mean", **LEARNED},
        "Real": {**REAL, "bidirectional": True},
    },
    "complex_transfo_xl": {
        "": {},
        # A memory shorter than the texts, which the same length makes exact.
        "ShortMemory": {
            **REAL_SCORE,
            **PRE_NORM,
            "mem_len": 3,
            "same_length": True,
            "clamp_len": 2,
            "norm_type": "rms",
        },
        "RealTied": {**REAL, **WORD, "tie_word_embeddings": True},  # Transformer-XL itself
        "Adaptive": {**TIED_MODULI, "cutoffs": [2, 3]},  # the suite goes down to four words
    },
}
# Of the classes above, those that are not in the default set.
FULL = {
    "complex_llama": ("Polar", "WidelyLinear"),
    "complex_order": ("Sdpa", "Real"),
    "complex_recurrent_lm": ("",),
    "complex_seq2seq": ("",),
    "complex_transfo_xl": ("",),
}
# Options whose suite runs in another family or variant; tests/invariants has all of them.
SLOW = {
    "complex_fasttext": ("Real",),
    "complex_llama": ("EqualHeads", "Sliding"),
    "complex_mamba": ("RealMimo",),
    "complex_order": ("BatchNorm", "Lifted", "PhaseCoherent", "PreNorm", "RealTied"),
    "complex_quantum": ("Real",),
    "complex_recurrent_lm": ("CausalZ",),
    "complex_seq2seq": ("PhaseCoherent", "RealTied"),
    "complex_text_cnn": ("Real",),
    "complex_text_gcn": ("Real",),
    "complex_text_rnn": ("BidirectionalGRU", "Real"),
    "complex_transfo_xl": ("Adaptive",),
}
# Polar positions have no scaled frequencies.
UNSCALED = dict.fromkeys(f"test_model_rope_scaling_from_config_{name}" for name in ("0_linear", "1_dynamic", "2_yarn"))
# Other members of a class.
MEMBERS = {
    ("complex_llama", "RealTied"): UNSCALED,
    ("complex_llama", "PhaseCoherent"): UNSCALED,
    ("complex_llama", "Polar"): UNSCALED,
    ("complex_llama", "EqualHeads"): UNSCALED,
    ("complex_order", "Sdpa"): {"all_model_classes": ALL_ORDER},
    ("complex_order", "Real"): {"all_model_classes": ALL_ORDER},
    ("complex_seq2seq", "Tied"): {"is_further_variant": True},
    ("complex_transfo_xl", ""): {
        "all_model_classes": (*_TransfoXL.all_model_classes, ct.ComplexTransfoXLForSequenceClassification)
    },
}
# With the embeddings; of the others one more than layers.
HIDDEN_STATES = {"complex_fasttext": 1, "complex_quantum": 2, "complex_text_cnn": 2}
PREFIX = "test_conformance_"
IN_IMAGES = {"complex_convnet", "complex_mlp"}
OWN_FILES = {path.stem.removeprefix(PREFIX) for path in Path(__file__).parent.glob(f"{PREFIX}*.py")}


class _Classifier(TextConformance):
    has_attentions = False
    # Recurrent networks go word by word: short texts keep the suite fast.
    training_overfit_seq_length = 12
    training_overfit_steps = 120

    def _get_trainable_model_class(self):
        return next(model for model in self.all_model_classes if model.__name__.endswith("ForSequenceClassification"))

    def _create_text_training_batch(self, batch_size, seq_length, vocab_size):
        # The suite gives one text over and over and asks for its words: here every text differs and has a class.
        texts = torch.arange(batch_size * seq_length).view(batch_size, seq_length) % (vocab_size - 1) + 1
        return {"input_ids": texts, "labels": torch.arange(batch_size) % self.model_tester.num_labels}


def conformance(family, name, changes):
    """A class of tests of one family with these changes of its configuration."""
    config = family_class(family, "AutoConfig")
    members = {"__module__": __name__, "config_changes": changes, **MEMBERS.get((family, name), {})}
    if family not in BASES:
        members |= members_of_classifier(family, config)
    title = f"{name}{config.__name__.removesuffix('Config')}ConformanceTest"
    made = type(title, (BASES.get(family, _Classifier), unittest.TestCase), members)
    made = pytest.mark.slow(made) if name in SLOW.get(family, ()) else made
    return pytest.mark.full(made) if name in FULL.get(family, ()) else made


def members_of_classifier(family, config):
    models = [family_class(family, auto) for auto in model_families()[family] if file_kind(auto) == "modeling"]
    sizes = {key: value for key, value in FAMILIES[family].sizes.items() if key not in {*TEXT, "num_labels"}}
    return {
        "config_class": config,
        "all_model_classes": tuple(models),
        # Two layers, so that there is something between the first and the last.
        "sizes": {**sizes, "num_hidden_layers": 2} if hasattr(config(), "num_hidden_layers") else sizes,
        "common_properties": [key for key in ("hidden_size", "num_hidden_layers") if hasattr(config(), key)],
        "num_hidden_states": HIDDEN_STATES.get(family),
    }


for _family in sorted(FAMILIES.keys() - OWN_FILES - IN_IMAGES):
    for _name, _changes in CHANGES.get(_family, {"": {}, "Real": REAL}).items():
        _made = conformance(_family, _name, _changes)
        globals()[_made.__name__] = _made
del _made  # or the last one would be collected twice
