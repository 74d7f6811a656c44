# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every family of models in tiny: its variants in both number fields, and texts, clips or images for any of them.

A new family is one entry of ``FAMILIES``: what it reads and what it is trained on follow from its ``forward`` and the
name of its head. ``CASES`` are all variants of all families; those without ``more`` belong to the default tests.
"""

import copy
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import torch
from transformers import PreTrainedModel

import complex_transformers
from complex_transformers.models import family_class

REAL = {"number_field": "real"}
START, END = 1, 2
FIRST_WORD = 3  # those before are special
# Large enough that words, and not the positions alone, decide the result.
TEXT = {"vocab_size": 30, "hidden_size": 16, "initializer_range": 0.5}
MIXER = {"state_size": 8, "head_dim": 8, "chunk_size": 4, "intermediate_size": 24}
LAYERS = {"num_attention_heads": 2, "intermediate_size": 24}
WRITES = {"bos_token_id": START, "eos_token_id": END, "decoder_start_token_id": START}
DECODER = {"vocab_size": 30, "decoder_layers": 2, "initializer_range": 0.5, **WRITES}
TIED_MODULI = {"tie_word_embeddings": True, "lm_readout": "feature_modulus"}
LEARNED = {"embedding_type": "learned_position", "max_position_embeddings": 32}
SINUSOIDS = {"embedding_type": "sinusoidal_position"}
REAL_SCORE = {"attention_score": "real"}
BILINEAR = {"attention_score": "bilinear_modulus"}
AMPLITUDES = {"attention_normalization": "probability_amplitude"}
SPLIT_SOFTMAX = {"attention_normalization": "split_softmax"}
SOFTMAX = {"attention_normalization": "softmax"}
SIGMOID = {"attention_normalization": "sigmoid", "max_position_embeddings": 8}
COSINE = {"attention_score": "cosine"}
WORD = {"embedding_type": "word"}
VANILLA = {"embedding_type": "complex_vanilla"}
PRE_NORM = {"norm_position": "pre"}
AMPLITUDE_HEAD = {"readout": "probability_amplitude"}
LIFTED = {"linear_type": "widely_linear", "gate_product": "parts", "norm_scale": "stored"}
TYPES = {"type_vocab_size": 2, "embedding_norm": True, "add_pooling_layer": True}
BERT = {**LEARNED, **REAL_SCORE, **TYPES, "norm_type": "stored_layer", "attention_scale": 0.3}
FAIRY = {"linear_type": "conjugate", "gate_product": "conj", "hidden_act": "relu2", "sub_norms": True}
WINDOWS = {"sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"], "norm_position": "both"}
POLAR = {"position_type": "polar"}
ROTARY = {"position_type": "rotary"}
LUONG = {"attention_type": "luong"}
DEEP = {"encoder_layers": 2, "decoder_layers": 2}
MODULI = {"lm_readout": "modulus"}
GATES = {"gate": "split", "attention_window": 3, **MODULI}
OTHER_TARGETS = {"target_vocab_size": 25, "target_relation_vocab_size": 5}
WORD_MEMORY = {"variant": "word_memory", "story_length": 14, "question_length": 8, "recurrent_size": 12}
PIXELS = {"image_size": [5, 7]}
TRABELSI = {"block": "residual", "norm_type": "whitening", "imaginary_input": "learned"}
SPECTRUM = {"input_transform": "fft2", "norm_type": "batch"}
BAG = {"bag_of_words": "binary", "vocab_size": 30}
CLASSIFIER = "ForSequenceClassification"
WRITER = "ForConditionalGeneration"
IMAGES = "ForImageClassification"


@dataclass(frozen=True)
class Family:
    """Sizes, and the variants by name: the end of a class's name and what its configuration has besides the sizes.

    ``more`` holds further variants. ``commuting`` is the variant through which a common phase of all inputs passes
    when its biases are zero; None where there is none.
    """

    sizes: dict[str, Any]
    variants: dict[str, tuple[str, dict[str, Any]]]
    more: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    commuting: tuple[str, dict[str, Any]] | None = None


def head(ending: str, *shared: dict[str, Any], **fields: Any) -> tuple[str, dict[str, Any]]:
    """The end of a class's name, and what its configuration has besides the sizes."""
    return ending, {name: value for each in (*shared, fields) for name, value in each.items()}


FAMILIES = {
    "complex_order": Family(
        {**TEXT, **LAYERS, "num_hidden_layers": 2, "num_labels": 3},
        {
            "words": head("ForMaskedLM"),
            "real": head("ForMaskedLM", REAL),
            "real score": head(CLASSIFIER, REAL_SCORE, PRE_NORM, norm_type="rms", phase="learned", damping="learned"),
            "phase-coherent": head("ForMaskedLM", COSINE, SIGMOID),
            "tied, batch norm": head("ForMaskedLM", TIED_MODULI, norm_type="batch"),
            "lifted": head(
                "ForMaskedLM", BERT, linear_type="widely_linear", tie_word_embeddings=True, add_pooling_layer=False
            ),
        },
        {
            "complex weights": head("ForTokenClassification", SPLIT_SOFTMAX, WORD, norm_type="rms"),
            "amplitudes": head("Model", AMPLITUDES, PRE_NORM, VANILLA, norm_type="batch"),
            "bilinear": head("ForMaskedLM", BILINEAR, LEARNED, norm_type="batch", lm_readout="modulus"),
            "bilinear amplitudes": head(
                CLASSIFIER, BILINEAR, AMPLITUDES, SINUSOIDS, norm_type="rms", share_parts=True
            ),
            "bilinear complex weights": head(
                "ForTokenClassification",
                BILINEAR,
                SPLIT_SOFTMAX,
                hidden_act="modrelu",
                frequency_sharing="dimension",
                phase="per_dimension",
            ),
            "real score, amplitudes": head(
                "ForMaskedLM",
                REAL_SCORE,
                AMPLITUDES,
                norm_type="batch",
                amplitude_sharing="word",
                lm_readout="squared_modulus",
            ),
            "sigmoid": head(CLASSIFIER, SIGMOID, PRE_NORM),
            "bilinear sigmoid": head("ForTokenClassification", BILINEAR, SIGMOID, norm_type="rms"),
            "real phase-coherent": head(CLASSIFIER, REAL, COSINE, SIGMOID, PRE_NORM),
            "shared amplitudes": head(
                "ForMaskedLM", amplitude_sharing="dimension", frequency_sharing="word", damping="learned"
            ),
            "tied phases": head("ForMaskedLM", TIED_MODULI, VANILLA),
            "tied words": head("ForMaskedLM", WORD, tie_word_embeddings=True),
            "real amplitudes": head(CLASSIFIER, REAL, AMPLITUDES, PRE_NORM, WORD, norm_type="rms"),
            "real tied": head("ForMaskedLM", REAL, SINUSOIDS, tie_word_embeddings=True, norm_type="batch"),
            "real tokens": head("ForTokenClassification", REAL, LEARNED),
            "lifted texts": head(CLASSIFIER, BERT, linear_type="widely_linear"),
            "types, conjugate": head("Model", TYPES, PRE_NORM, linear_type="conjugate", norm_type="rms"),
            "real lifted": head("Model", REAL, BERT),
        },
        head(CLASSIFIER, norm_type="rms", hidden_act="modrelu"),
    ),
    "complex_seq2seq": Family(
        {**TEXT, **LAYERS, **WRITES, "encoder_layers": 2, "decoder_layers": 2},
        {
            "modulus": head(WRITER),
            "real": head(WRITER, REAL, SINUSOIDS, tie_word_embeddings=True),
            "phase-coherent": head(WRITER, COSINE, SIGMOID),
        },
        {
            "real score": head(WRITER, REAL_SCORE, PRE_NORM, share_embeddings=False, norm_type="rms"),
            "tied amplitudes": head(WRITER, TIED_MODULI, share_embeddings=False),
            "tied and shared": head(WRITER, TIED_MODULI, PRE_NORM),
            "vanilla": head(WRITER, VANILLA, BILINEAR),
            "sigmoid": head(WRITER, SIGMOID, PRE_NORM),
            "real sigmoid": head(WRITER, REAL, SIGMOID, LEARNED),
            "complex weights": head(WRITER, SPLIT_SOFTMAX, lm_readout="modulus"),
            "learned positions": head(WRITER, LEARNED),
        },
        head(WRITER, norm_type="rms", hidden_act="modrelu", lm_readout="modulus"),
    ),
    "complex_transfo_xl": Family(
        {**TEXT, **LAYERS, "num_hidden_layers": 2, "mem_len": 16, "position_period": 32},
        {
            "modulus": head("ForCausalLM"),
            "real": head("ForCausalLM", REAL, SINUSOIDS, tie_word_embeddings=True),
            "adaptive": head("ForCausalLM", REAL_SCORE, cutoffs=[8, 20], div_value=2),
        },
        {
            "real score": head("ForCausalLM", REAL_SCORE, phase="learned", damping="learned"),
            "pre-norm": head("ForCausalLM", PRE_NORM, norm_type="rms", clamp_len=2),
            "tied amplitudes": head("ForCausalLM", TIED_MODULI, share_parts=True),
            "probabilities": head("ForCausalLM", AMPLITUDES, BILINEAR),
            "sum of moduli": head("ForCausalLM", attention_score="sum_of_moduli", same_length=True),
            "learned positions": head("ForCausalLM", LEARNED),
            "adaptive, tied": head("ForCausalLM", TIED_MODULI, cutoffs=[8, 20]),
            "real words": head("ForCausalLM", REAL, WORD),
            "adaptive, real words": head("ForCausalLM", REAL, WORD, cutoffs=[8, 20], tie_word_embeddings=True),
            "texts": head(CLASSIFIER, num_labels=3),
            "real texts": head(CLASSIFIER, REAL, WORD, num_labels=3),
        },
    ),
    "complex_llama": Family(
        {
            **TEXT,
            **LAYERS,
            "num_hidden_layers": 2,
            "num_labels": 3,
            "num_key_value_heads": 1,
            "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1,
        },
        {
            "complex": head("ForCausalLM"),
            "real": head("ForCausalLM", REAL, ROTARY, tie_word_embeddings=True, num_key_value_heads=2),
            "widely linear": head(CLASSIFIER, LIFTED, ROTARY, attention_bias=True, head_dim=12),
            "windows": head("ForCausalLM", WINDOWS, attn_logit_softcapping=5.0),
            "polar": head("ForCausalLM", POLAR, imaginary_heads="equal_heads"),
            "phase-coherent": head("ForCausalLM", COSINE, SIGMOID),
        },
        {
            "fairy": head("ForCausalLM", FAIRY, ROTARY),
            "polar words": head("ForCausalLM", position_type="polar_word"),
            "real polar words": head("ForCausalLM", REAL, position_type="polar_word", imaginary_heads="equal_cache"),
            "words turn": head("ForCausalLM", LIFTED, position_type="rotary_word", qk_norm=True),
            "waves": head("ForCausalLM", TIED_MODULI, position_type="complex_order", attention_score="modulus"),
            "bilinear amplitudes": head(
                "ForTokenClassification", BILINEAR, AMPLITUDES, hidden_act="modrelu", mlp_bias=True
            ),
            "complex weights": head(
                "Model", SPLIT_SOFTMAX, ROTARY, attention_score="modulus", linear_type="conjugate"
            ),
            "cosine": head("ForCausalLM", COSINE, qk_norm=True),
            "sigmoid": head(CLASSIFIER, SIGMOID, attention_score="modulus", attn_logit_softcapping=5.0),
            "real phase-coherent": head("ForCausalLM", REAL, COSINE, SIGMOID),
            "real amplitudes": head(CLASSIFIER, REAL, AMPLITUDES, qk_norm=True, sub_norms=True),
        },
    ),
    "complex_mamba": Family(
        {**TEXT, **MIXER, "num_hidden_layers": 2, "num_labels": 3, "hidden_dropout_prob": 0.1},
        {
            "complex": head("ForCausalLM"),
            "real": head("ForCausalLM", REAL, tie_word_embeddings=True, n_groups=2),
            "mimo": head(CLASSIFIER, mimo_rank=2, rope_fraction=1.0, is_outproj_norm=True),
        },
        {
            "mixers": head("ForCausalLM", intermediate_size=None, tie_word_embeddings=True),
            "real mimo": head("ForCausalLM", REAL, mimo_rank=2),
            "model": head("Model", n_groups=4, is_outproj_norm=True, A_activation="softplus"),
        },
    ),
    "complex_recurrent_lm": Family(
        {**TEXT, "num_hidden_layers": 2, "recurrent_size": 12, "hidden_dropout_prob": 0.3},
        {
            "lstm": head("ForCausalLM"),
            "real": head("ForCausalLM", REAL, recurrent_size=16, tie_word_embeddings=True),
            "adaptive lru": head("ForCausalLM", rnn_type="lru", cutoffs=[8, 20], div_value=2),
        },
        {
            "causal z": head("ForCausalLM", transform="causal_z", rnn_type="gru", word_parts="real"),
            "z": head("ForCausalLM", transform="z", num_points=3, gate="biased_modulus"),
            "features": head("ForCausalLM", transform="fourier", transform_axis="features", gate="amplitude"),
            "slots": head("ForCausalLM", embedding_type="slot_position", position_length=4, num_slots=3),
            "phases": head("ForCausalLM", embedding_type="phase_position", position_length=5),
            "rnn": head("ForCausalLM", rnn_type="rnn", embedding_type="complex_order"),
            "tied lru": head("ForCausalLM", rnn_type="lru", tie_word_embeddings=True),
            "real lru": head("ForCausalLM", REAL, rnn_type="lru"),
            "real causal z": head("ForCausalLM", REAL, transform="causal_z", state_activation="split_relu"),
        },
        head("ForCausalLM", gate="modulus", state_activation="hirose_tanh", lm_readout="modulus"),
    ),
    "complex_memory_network": Family(
        {**TEXT, "num_labels": 3, "hidden_dropout_prob": 0.3},
        {
            "complex": head(CLASSIFIER, attention_score="modulus", time_noise=0.2),
            "real": head(CLASSIFIER, REAL, num_hops=2),
            "words": head(CLASSIFIER, WORD_MEMORY, state_activation="split_relu", gate="modulus"),
        },
        {
            "phases": head(
                CLASSIFIER,
                AMPLITUDES,
                sentence_encoding="complex_order",
                temporal="phase",
                weight_tying="layer",
                attention_score="modulus",
            ),
            "squares": head(CLASSIFIER, attention_score="squared_modulus", weight_tying="none", num_hops=2),
            "linear": head(CLASSIFIER, attention_normalization="linear", temporal="none", num_hops=2),
            "model": head("Model", sentence_encoding="bag"),
            "words, memory": head(CLASSIFIER, WORD_MEMORY, softmax_axis="memory", response="multiply", rnn_type="gru"),
            "real layers": head(CLASSIFIER, REAL, AMPLITUDES, weight_tying="layer"),
            "real words": head(CLASSIFIER, REAL, WORD_MEMORY, question_length=9),
        },
    ),
    "complex_fasttext": Family(
        {**TEXT, "intermediate_size": 12, "num_labels": 3},
        {"complex": head(CLASSIFIER), "real": head(CLASSIFIER, REAL)},
        {
            "vanilla": head(CLASSIFIER, VANILLA),
            "words": head("Model", WORD),
            "learned positions": head(CLASSIFIER, LEARNED, readout="concat"),
            "real sinusoids": head(CLASSIFIER, REAL, SINUSOIDS),
        },
        head(CLASSIFIER, hidden_act="modrelu"),
    ),
    "complex_text_cnn": Family(
        {**TEXT, "intermediate_size": 12, "num_filters": 10, "kernel_sizes": [2, 3, 5], "num_labels": 3},
        {"complex": head(CLASSIFIER), "real": head(CLASSIFIER, REAL)},
        {
            "one word": head(CLASSIFIER, LEARNED, kernel_sizes=[1]),
            # The maximum is that of the modulus, negative numbers and all.
            "identity": head(CLASSIFIER, VANILLA, hidden_act="identity"),
            "real one word": head(CLASSIFIER, REAL, WORD, kernel_sizes=[1]),
            "real identity": head("Model", REAL, SINUSOIDS, hidden_act="identity"),
        },
        head(CLASSIFIER, hidden_act="modrelu"),
    ),
    "complex_text_rnn": Family(
        {**TEXT, "recurrent_size": 12, "num_labels": 3},
        {
            "lstm": head(CLASSIFIER, bidirectional=True, num_hidden_layers=2),
            "real gru": head(CLASSIFIER, REAL, rnn_type="gru", pooling="mean", bidirectional=True),
        },
        {
            "one lstm": head(CLASSIFIER, VANILLA),
            "gru": head(CLASSIFIER, SINUSOIDS, rnn_type="gru", num_hidden_layers=2),
            "gru of real parts": head(CLASSIFIER, rnn_type="gru", gate="real_part", readout="scaled_modulus"),
            "gru of parts": head(CLASSIFIER, rnn_type="gru", gate="split", pooling="mean"),
            "rnn": head(CLASSIFIER, WORD, rnn_type="rnn", pooling="mean"),
            "relu": head(CLASSIFIER, rnn_type="rnn", state_activation="split_relu"),
            "real lstm": head("Model", REAL, bidirectional=True, num_hidden_layers=2),
            "real relu": head(CLASSIFIER, REAL, rnn_type="rnn", state_activation="split_relu"),
        },
        head(CLASSIFIER, gate="modulus", state_activation="hirose_tanh", bidirectional=True),
    ),
    "complex_text_gcn": Family(
        {**TEXT, "intermediate_size": 12, "num_labels": 3},
        {"complex": head(CLASSIFIER), "real": head(CLASSIFIER, REAL)},
        {
            "deep": head(CLASSIFIER, LEARNED, num_hidden_layers=3, window_size=1, readout="concat"),
            "vanilla": head("Model", VANILLA),
            "real words": head(CLASSIFIER, REAL, WORD, num_hidden_layers=3, window_size=1),
        },
        head(CLASSIFIER, hidden_act="modrelu"),
    ),
    "complex_quantum": Family(
        {**TEXT, "num_measurements": 18, "num_labels": 3},
        {
            "complex": head(CLASSIFIER, evolution="shared"),
            "real": head(CLASSIFIER, REAL, WORD, pooling="max", mixture="norm"),
        },
        {
            "complete": head(CLASSIFIER, measurement="povm", embedding_type="complex_order"),
            "windows": head(CLASSIFIER, WORD, pooling="max", window_sizes=[1, 4]),
            "no phases": head(CLASSIFIER, embedding_type="real_word", mixture="mean"),
            "model": head("Model", LEARNED, mixture="norm"),
            "real complete": head(CLASSIFIER, REAL, SINUSOIDS, measurement="povm", evolution="shared"),
        },
        head(CLASSIFIER, evolution="shared"),
    ),
    "complex_convnet": Family(
        {
            **PIXELS,
            "num_filters": [8, 12],
            "kernel_size": 2,
            "pool_size": [1, 2],
            "num_labels": 3,
            "hidden_dropout_prob": 0.3,
        },
        {
            "complex": head(IMAGES),
            "real": head(IMAGES, REAL, padding="same", pooling="max_value", norm_type="batch"),
            "residual": head(IMAGES, TRABELSI, padding="same", hidden_act="split_relu", pooling="average"),
        },
        {
            "spectrum": head(IMAGES, SPECTRUM, pool_size=1, hidden_act="modrelu"),
            "phases": head(IMAGES, AMPLITUDE_HEAD, input_transform="phase", padding="same", pooling="average"),
            "model": head("Model", padding="same", hidden_act="cardioid"),
            "complex pixels": head(IMAGES, input_transform="complex", padding="same"),
            "real residual": head(IMAGES, REAL, block="residual", padding="same", norm_type="batch"),
            "real moduli": head(IMAGES, REAL, padding="same", pool_size=[2, 1]),
        },
    ),
    "complex_mlp": Family(
        {"hidden_sizes": [16, 12, 16], "num_labels": 3, "hidden_dropout_prob": 0.3},
        {
            "complex": head(IMAGES, PIXELS, hidden_act="modulus", readout="concat"),
            "real": head(IMAGES, PIXELS, REAL, norm_type="layer"),
            "words": head(CLASSIFIER, BAG),
        },
        {
            "one layer": head(IMAGES, PIXELS, hidden_sizes=[16], readout="concat"),
            "spectrum": head(IMAGES, PIXELS, SPECTRUM, hidden_act="hirose_tanh"),
            "phases": head(IMAGES, PIXELS, input_transform="phase", norm_type="rms", readout="modulus"),
            "model": head("Model", PIXELS, norm_type="layer", hidden_act="cardioid"),
            "real spectrum": head(IMAGES, PIXELS, REAL, SPECTRUM),
            "complex pixels": head(IMAGES, PIXELS, input_transform="complex"),
            "real counts": head(CLASSIFIER, BAG, REAL, bag_of_words="count"),
        },
    ),
    "synconmt": Family(
        {"vocab_size": 30, "relation_vocab_size": 7, "hidden_size": 16, "initializer_range": 0.7, **WRITES},
        {
            "bahdanau": head(WRITER),
            "real luong": head(WRITER, REAL, LUONG, attention_window=2, use_relations=False, rnn_type="lstm"),
        },
        {
            "deep lstm": head(WRITER, DEEP, MODULI, rnn_type="lstm", share_embeddings=True),
            "luong": head(WRITER, LUONG, attention_window=2),
            "luong, complex gates": head(WRITER, LUONG, GATES, decoder_layers=2, bidirectional=False),
            "rnn, two vocabularies": head(WRITER, OTHER_TARGETS, rnn_type="rnn"),
            "real": head(WRITER, REAL),
        },
    ),
    "spectral_transformer": Family(
        {"feature_size": 18, "hidden_size": 16, "num_hidden_layers": 2, "num_labels": 3, "vocab_size": 6, **LAYERS},
        {
            "symbols": head("ForCTC"),
            "scaled": head("ForCTC", variant="spectral_scaled", time_pool_size=2),
            "real": head("ForAudioClassification", REAL, SOFTMAX),
            "decoder": head(WRITER, decoder=DECODER),
        },
        {
            "rotate": head(
                "ForCTC",
                position_phase="rotate",
                pooling="average",
                bin_pool_size=3,
                bin_pool_stride=2,
                norm_type="batch",
                time_pool_size=3,
            ),
            "real score": head("ForAudioClassification", REAL_SCORE, SOFTMAX, time_pool_size=2),
            "scaled rotate": head(
                "ForAudioClassification",
                REAL_SCORE,
                SOFTMAX,
                variant="spectral_scaled",
                position_phase="rotate",
                norm_type="batch",
            ),
            "real decoder": head(
                WRITER, REAL, SOFTMAX, time_pool_size=2, decoder={**DECODER, **SINUSOIDS, "tie_word_embeddings": True}
            ),
            "scaled decoder": head(
                WRITER, variant="spectral_scaled", decoder={**DECODER, **SINUSOIDS}, norm_type="rms"
            ),
        },
        head("ForAudioClassification", norm_type="rms", hidden_act="modrelu", position_phase="rotate"),
    ),
}


@dataclass(frozen=True)
class Case:
    family: str
    variant: str

    def __str__(self) -> str:
        return f"{self.family}: {self.variant}"

    @property
    def is_default(self) -> bool:
        return self.variant in FAMILIES[self.family].variants

    @cached_property
    def head(self) -> tuple[str, dict[str, Any]]:
        """The end of the name of the class, and changes of the sizes."""
        if self.variant == "commuting":
            return FAMILIES[self.family].commuting
        return {**FAMILIES[self.family].variants, **FAMILIES[self.family].more}[self.variant]

    @property
    def model_class(self) -> type[PreTrainedModel]:
        config_class = family_class(self.family, "AutoConfig")
        return getattr(complex_transformers, config_class.__name__.removesuffix("Config") + self.head[0])

    def config(self, **changes: Any) -> Any:
        return family_class(self.family, "AutoConfig")(**{**FAMILIES[self.family].sizes, **self.head[1], **changes})

    def build(self, seed: int = 0, **changes: Any) -> PreTrainedModel:
        torch.manual_seed(seed)
        return self.model_class(self.config(**changes)).eval()

    def trained(self, **changes: Any) -> PreTrainedModel:
        """A model in evaluation no parameter of which is as it was initialised, nor any running statistic."""
        model = self.build(**changes)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
            for name, buffer in model.named_buffers():
                if name.endswith("running_mean"):
                    buffer.normal_(std=0.3)
                if name.endswith("running_var"):
                    buffer.uniform_(0.5, 2.0)
                    if buffer.dim() == 2:  # variances of both parts, and what they have in common
                        buffer[1] -= 1.25
        return model

    def model(self) -> PreTrainedModel:
        """The trained model that all tests share: only to be read."""
        return _shared(self)

    def own(self) -> PreTrainedModel:
        """A copy of it to be changed."""
        return copy.deepcopy(_shared(self))

    def without_dropout(self, **changes: Any) -> PreTrainedModel:
        """A trained model in training mode that computes what it does in evaluation, but for batch statistics."""
        names = ("hidden_dropout_prob", "attention_probs_dropout_prob", "time_noise")
        changes = {**{name: 0.0 for name in names if hasattr(self.config(), name)}, **changes}
        if decoder := self.head[1].get("decoder"):
            changes = {
                "decoder": {**decoder, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
                **changes,
            }
        return self.trained(**changes).train()


@cache
def _shared(case: Case) -> PreTrainedModel:
    return case.trained()


CASES = [Case(name, variant) for name, family in FAMILIES.items() for variant in (*family.variants, *family.more)]
