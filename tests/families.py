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
WORD = {"embedding_type": "word"}
VANILLA = {"embedding_type": "complex_vanilla"}
PRE_NORM = {"norm_position": "pre"}
AMPLITUDE_HEAD = {"readout": "probability_amplitude"}
LIFTED = {"linear_type": "widely_linear", "gate_product": "parts", "norm_scale": "stored"}
TYPES = {"type_vocab_size": 2, "embedding_norm": True, "add_pooling_layer": True}
BERT = {**LEARNED, **REAL_SCORE, **TYPES, "norm_type": "stored_layer", "attention_scale": 0.3}
FAIRY = {"linear_type": "conjugate", "gate_product": "conj", "hidden_act": "relu2", "sub_norms": True}
WINDOWS = {"sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"], "norm_position": "both"}
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


FAMILIES = {
    "complex_order": Family(
        {**TEXT, **LAYERS, "num_hidden_layers": 2, "num_labels": 3},
        {
            "words": ("ForMaskedLM", {}),
            "real": ("ForMaskedLM", REAL),
            "real score": (
                CLASSIFIER,
                {**REAL_SCORE, "norm_type": "rms", **PRE_NORM, "phase": "learned", "damping": "learned"},
            ),
            "tied, batch norm": ("ForMaskedLM", {**TIED_MODULI, "norm_type": "batch"}),
            "lifted": (
                "ForMaskedLM",
                {**BERT, "linear_type": "widely_linear", "tie_word_embeddings": True, "add_pooling_layer": False},
            ),
        },
        {
            "complex weights": ("ForTokenClassification", {**SPLIT_SOFTMAX, "norm_type": "rms", **WORD}),
            "amplitudes": ("Model", {**AMPLITUDES, "norm_type": "batch", **PRE_NORM, **VANILLA}),
            "bilinear": ("ForMaskedLM", {**BILINEAR, "norm_type": "batch", "lm_readout": "modulus", **LEARNED}),
            "bilinear amplitudes": (
                CLASSIFIER,
                {**BILINEAR, **AMPLITUDES, "norm_type": "rms", "share_parts": True, **SINUSOIDS},
            ),
            "bilinear complex weights": (
                "ForTokenClassification",
                {
                    **BILINEAR,
                    **SPLIT_SOFTMAX,
                    "hidden_act": "modrelu",
                    "frequency_sharing": "dimension",
                    "phase": "per_dimension",
                },
            ),
            "real score, amplitudes": (
                "ForMaskedLM",
                {
                    **REAL_SCORE,
                    **AMPLITUDES,
                    "norm_type": "batch",
                    "amplitude_sharing": "word",
                    "lm_readout": "squared_modulus",
                },
            ),
            "shared amplitudes": (
                "ForMaskedLM",
                {"amplitude_sharing": "dimension", "frequency_sharing": "word", "damping": "learned"},
            ),
            "tied phases": ("ForMaskedLM", {**TIED_MODULI, **VANILLA}),
            "tied words": ("ForMaskedLM", {"tie_word_embeddings": True, **WORD}),
            "real amplitudes": (CLASSIFIER, {**REAL, **AMPLITUDES, "norm_type": "rms", **PRE_NORM, **WORD}),
            "real tied": ("ForMaskedLM", {**REAL, **SINUSOIDS, "tie_word_embeddings": True, "norm_type": "batch"}),
            "real tokens": ("ForTokenClassification", {**REAL, **LEARNED}),
            "lifted texts": (CLASSIFIER, {**BERT, "linear_type": "widely_linear"}),
            "types, conjugate": ("Model", {**TYPES, **PRE_NORM, "linear_type": "conjugate", "norm_type": "rms"}),
            "real lifted": ("Model", {**REAL, **BERT}),
        },
        (CLASSIFIER, {"norm_type": "rms", "hidden_act": "modrelu"}),
    ),
    "complex_seq2seq": Family(
        {**TEXT, **LAYERS, **WRITES, "encoder_layers": 2, "decoder_layers": 2},
        {"modulus": (WRITER, {}), "real": (WRITER, {**REAL, **SINUSOIDS, "tie_word_embeddings": True})},
        {
            "real score": (WRITER, {**REAL_SCORE, **PRE_NORM, "share_embeddings": False, "norm_type": "rms"}),
            "tied amplitudes": (WRITER, {**TIED_MODULI, "share_embeddings": False}),
            "tied and shared": (WRITER, {**TIED_MODULI, **PRE_NORM}),
            "vanilla": (WRITER, {**VANILLA, **BILINEAR}),
            "complex weights": (WRITER, {**SPLIT_SOFTMAX, "lm_readout": "modulus"}),
            "learned positions": (WRITER, LEARNED),
        },
        (WRITER, {"norm_type": "rms", "hidden_act": "modrelu", "lm_readout": "modulus"}),
    ),
    "complex_transfo_xl": Family(
        {**TEXT, **LAYERS, "num_hidden_layers": 2, "mem_len": 16, "position_period": 32},
        {
            "modulus": ("ForCausalLM", {}),
            "real": ("ForCausalLM", {**REAL, **SINUSOIDS, "tie_word_embeddings": True}),
            "adaptive": ("ForCausalLM", {"cutoffs": [8, 20], "div_value": 2, **REAL_SCORE}),
        },
        {
            "real score": ("ForCausalLM", {**REAL_SCORE, "phase": "learned", "damping": "learned"}),
            "pre-norm": ("ForCausalLM", {**PRE_NORM, "norm_type": "rms", "clamp_len": 2}),
            "tied amplitudes": ("ForCausalLM", {**TIED_MODULI, "share_parts": True}),
            "probabilities": ("ForCausalLM", {**AMPLITUDES, **BILINEAR}),
            "sum of moduli": ("ForCausalLM", {"attention_score": "sum_of_moduli", "same_length": True}),
            "learned positions": ("ForCausalLM", LEARNED),
            "adaptive, tied": ("ForCausalLM", {**TIED_MODULI, "cutoffs": [8, 20]}),
            "real words": ("ForCausalLM", {**REAL, **WORD}),
            "adaptive, real words": ("ForCausalLM", {**REAL, **WORD, "cutoffs": [8, 20], "tie_word_embeddings": True}),
            "texts": (CLASSIFIER, {"num_labels": 3}),
            "real texts": (CLASSIFIER, {**REAL, **WORD, "num_labels": 3}),
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
            "complex": ("ForCausalLM", {}),
            "real": ("ForCausalLM", {**REAL, "tie_word_embeddings": True, "num_key_value_heads": 2}),
            "widely linear": (CLASSIFIER, {**LIFTED, "attention_bias": True, "head_dim": 12}),
            "windows": ("ForCausalLM", {**WINDOWS, "attn_logit_softcapping": 5.0}),
        },
        {
            "fairy": ("ForCausalLM", FAIRY),
            "words turn": ("ForCausalLM", {**LIFTED, "position_type": "rotary_word", "qk_norm": True}),
            "waves": ("ForCausalLM", {**TIED_MODULI, "position_type": "complex_order", "attention_score": "modulus"}),
            "bilinear amplitudes": (
                "ForTokenClassification",
                {**BILINEAR, **AMPLITUDES, "hidden_act": "modrelu", "mlp_bias": True},
            ),
            "complex weights": ("Model", {**SPLIT_SOFTMAX, "attention_score": "modulus", "linear_type": "conjugate"}),
            "real amplitudes": (CLASSIFIER, {**REAL, **AMPLITUDES, "qk_norm": True, "sub_norms": True}),
        },
    ),
    "complex_recurrent_lm": Family(
        {**TEXT, "num_hidden_layers": 2, "recurrent_size": 12, "hidden_dropout_prob": 0.3},
        {
            "lstm": ("ForCausalLM", {}),
            "real": ("ForCausalLM", {**REAL, "recurrent_size": 16, "tie_word_embeddings": True}),
            "adaptive lru": ("ForCausalLM", {"rnn_type": "lru", "cutoffs": [8, 20], "div_value": 2}),
        },
        {
            "causal z": ("ForCausalLM", {"transform": "causal_z", "rnn_type": "gru", "word_parts": "real"}),
            "z": ("ForCausalLM", {"transform": "z", "num_points": 3, "gate": "biased_modulus"}),
            "features": ("ForCausalLM", {"transform": "fourier", "transform_axis": "features", "gate": "amplitude"}),
            "slots": ("ForCausalLM", {"embedding_type": "slot_position", "position_length": 4, "num_slots": 3}),
            "phases": ("ForCausalLM", {"embedding_type": "phase_position", "position_length": 5}),
            "rnn": ("ForCausalLM", {"rnn_type": "rnn", "embedding_type": "complex_order"}),
            "tied lru": ("ForCausalLM", {"rnn_type": "lru", "tie_word_embeddings": True}),
            "real lru": ("ForCausalLM", {**REAL, "rnn_type": "lru"}),
            "real causal z": ("ForCausalLM", {**REAL, "transform": "causal_z", "state_activation": "split_relu"}),
        },
        ("ForCausalLM", {"gate": "modulus", "state_activation": "hirose_tanh", "lm_readout": "modulus"}),
    ),
    "complex_memory_network": Family(
        {**TEXT, "num_labels": 3, "hidden_dropout_prob": 0.3},
        {
            "complex": (CLASSIFIER, {"attention_score": "modulus", "time_noise": 0.2}),
            "real": (CLASSIFIER, {**REAL, "num_hops": 2}),
            "words": (CLASSIFIER, {**WORD_MEMORY, "state_activation": "split_relu", "gate": "modulus"}),
        },
        {
            "phases": (
                CLASSIFIER,
                {
                    "sentence_encoding": "complex_order",
                    "temporal": "phase",
                    "weight_tying": "layer",
                    **AMPLITUDES,
                    "attention_score": "modulus",
                },
            ),
            "squares": (CLASSIFIER, {"attention_score": "squared_modulus", "weight_tying": "none", "num_hops": 2}),
            "linear": (CLASSIFIER, {"attention_normalization": "linear", "temporal": "none", "num_hops": 2}),
            "model": ("Model", {"sentence_encoding": "bag"}),
            "words, memory": (
                CLASSIFIER,
                {**WORD_MEMORY, "softmax_axis": "memory", "response": "multiply", "rnn_type": "gru"},
            ),
            "real layers": (CLASSIFIER, {**REAL, "weight_tying": "layer", **AMPLITUDES}),
            "real words": (CLASSIFIER, {**REAL, **WORD_MEMORY, "question_length": 9}),
        },
    ),
    "complex_fasttext": Family(
        {**TEXT, "intermediate_size": 12, "num_labels": 3},
        {"complex": (CLASSIFIER, {}), "real": (CLASSIFIER, REAL)},
        {
            "vanilla": (CLASSIFIER, VANILLA),
            "words": ("Model", WORD),
            "learned positions": (CLASSIFIER, {**LEARNED, "readout": "concat"}),
            "real sinusoids": (CLASSIFIER, {**REAL, **SINUSOIDS}),
        },
        (CLASSIFIER, {"hidden_act": "modrelu"}),
    ),
    "complex_text_cnn": Family(
        {**TEXT, "intermediate_size": 12, "num_filters": 10, "kernel_sizes": [2, 3, 5], "num_labels": 3},
        {"complex": (CLASSIFIER, {}), "real": (CLASSIFIER, REAL)},
        {
            "one word": (CLASSIFIER, {"kernel_sizes": [1], **LEARNED}),
            # The maximum is that of the modulus, negative numbers and all.
            "identity": (CLASSIFIER, {"hidden_act": "identity", **VANILLA}),
            "real one word": (CLASSIFIER, {**REAL, "kernel_sizes": [1], **WORD}),
            "real identity": ("Model", {**REAL, **SINUSOIDS, "hidden_act": "identity"}),
        },
        (CLASSIFIER, {"hidden_act": "modrelu"}),
    ),
    "complex_text_rnn": Family(
        {**TEXT, "recurrent_size": 12, "num_labels": 3},
        {
            "lstm": (CLASSIFIER, {"bidirectional": True, "num_hidden_layers": 2}),
            "real gru": (CLASSIFIER, {**REAL, "rnn_type": "gru", "pooling": "mean", "bidirectional": True}),
        },
        {
            "one lstm": (CLASSIFIER, VANILLA),
            "gru": (CLASSIFIER, {"rnn_type": "gru", "num_hidden_layers": 2, **SINUSOIDS}),
            "gru of real parts": (CLASSIFIER, {"rnn_type": "gru", "gate": "real_part", "readout": "scaled_modulus"}),
            "gru of parts": (CLASSIFIER, {"rnn_type": "gru", "gate": "split", "pooling": "mean"}),
            "rnn": (CLASSIFIER, {"rnn_type": "rnn", "pooling": "mean", **WORD}),
            "relu": (CLASSIFIER, {"rnn_type": "rnn", "state_activation": "split_relu"}),
            "real lstm": ("Model", {**REAL, "bidirectional": True, "num_hidden_layers": 2}),
            "real relu": (CLASSIFIER, {**REAL, "rnn_type": "rnn", "state_activation": "split_relu"}),
        },
        (CLASSIFIER, {"gate": "modulus", "state_activation": "hirose_tanh", "bidirectional": True}),
    ),
    "complex_text_gcn": Family(
        {**TEXT, "intermediate_size": 12, "num_labels": 3},
        {"complex": (CLASSIFIER, {}), "real": (CLASSIFIER, REAL)},
        {
            "deep": (CLASSIFIER, {"num_hidden_layers": 3, "window_size": 1, **LEARNED, "readout": "concat"}),
            "vanilla": ("Model", VANILLA),
            "real words": (CLASSIFIER, {**REAL, "num_hidden_layers": 3, "window_size": 1, **WORD}),
        },
        (CLASSIFIER, {"hidden_act": "modrelu"}),
    ),
    "complex_quantum": Family(
        {**TEXT, "num_measurements": 18, "num_labels": 3},
        {
            "complex": (CLASSIFIER, {"evolution": "shared"}),
            "real": (CLASSIFIER, {**REAL, **WORD, "pooling": "max", "mixture": "norm"}),
        },
        {
            "complete": (CLASSIFIER, {"measurement": "povm", "embedding_type": "complex_order"}),
            "windows": (CLASSIFIER, {"pooling": "max", "window_sizes": [1, 4], **WORD}),
            "no phases": (CLASSIFIER, {"embedding_type": "real_word", "mixture": "mean"}),
            "model": ("Model", {**LEARNED, "mixture": "norm"}),
            "real complete": (CLASSIFIER, {**REAL, **SINUSOIDS, "measurement": "povm", "evolution": "shared"}),
        },
        (CLASSIFIER, {"evolution": "shared"}),
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
            "complex": (IMAGES, {}),
            "real": (IMAGES, {**REAL, "padding": "same", "pooling": "max_value", "norm_type": "batch"}),
            "residual": (IMAGES, {"padding": "same", **TRABELSI, "hidden_act": "split_relu", "pooling": "average"}),
        },
        {
            "spectrum": (IMAGES, {"pool_size": 1, **SPECTRUM, "hidden_act": "modrelu"}),
            "phases": (
                IMAGES,
                {"input_transform": "phase", "padding": "same", **AMPLITUDE_HEAD, "pooling": "average"},
            ),
            "model": ("Model", {"padding": "same", "hidden_act": "cardioid"}),
            "complex pixels": (IMAGES, {"input_transform": "complex", "padding": "same"}),
            "real residual": (IMAGES, {**REAL, "block": "residual", "padding": "same", "norm_type": "batch"}),
            "real moduli": (IMAGES, {**REAL, "padding": "same", "pool_size": [2, 1]}),
        },
    ),
    "complex_mlp": Family(
        {"hidden_sizes": [16, 12, 16], "num_labels": 3, "hidden_dropout_prob": 0.3},
        {
            "complex": (IMAGES, {**PIXELS, "hidden_act": "modulus", "readout": "concat"}),
            "real": (IMAGES, {**PIXELS, **REAL, "norm_type": "layer"}),
            "words": (CLASSIFIER, BAG),
        },
        {
            "one layer": (IMAGES, {**PIXELS, "hidden_sizes": [16], "readout": "concat"}),
            "spectrum": (IMAGES, {**PIXELS, **SPECTRUM, "hidden_act": "hirose_tanh"}),
            "phases": (IMAGES, {**PIXELS, "input_transform": "phase", "norm_type": "rms", "readout": "modulus"}),
            "model": ("Model", {**PIXELS, "norm_type": "layer", "hidden_act": "cardioid"}),
            "real spectrum": (IMAGES, {**PIXELS, **REAL, **SPECTRUM}),
            "complex pixels": (IMAGES, {**PIXELS, "input_transform": "complex"}),
            "real counts": (CLASSIFIER, {**BAG, **REAL, "bag_of_words": "count"}),
        },
    ),
    "synconmt": Family(
        {"vocab_size": 30, "relation_vocab_size": 7, "hidden_size": 16, "initializer_range": 0.7, **WRITES},
        {
            "bahdanau": (WRITER, {}),
            "real luong": (
                WRITER,
                {**REAL, **LUONG, "attention_window": 2, "use_relations": False, "rnn_type": "lstm"},
            ),
        },
        {
            "deep lstm": (WRITER, {**DEEP, **MODULI, "rnn_type": "lstm", "share_embeddings": True}),
            "luong": (WRITER, {**LUONG, "attention_window": 2}),
            "luong, complex gates": (WRITER, {**LUONG, **GATES, "decoder_layers": 2, "bidirectional": False}),
            "rnn, two vocabularies": (WRITER, {"rnn_type": "rnn", **OTHER_TARGETS}),
            "real": (WRITER, REAL),
        },
    ),
    "spectral_transformer": Family(
        {"feature_size": 18, "hidden_size": 16, "num_hidden_layers": 2, "num_labels": 3, "vocab_size": 6, **LAYERS},
        {
            "symbols": ("ForCTC", {}),
            "scaled": ("ForCTC", {"variant": "spectral_scaled", "time_pool_size": 2}),
            "real": ("ForAudioClassification", {**REAL, **SOFTMAX}),
            "decoder": (WRITER, {"decoder": DECODER}),
        },
        {
            "rotate": (
                "ForCTC",
                {
                    "position_phase": "rotate",
                    "pooling": "average",
                    "bin_pool_size": 3,
                    "bin_pool_stride": 2,
                    "norm_type": "batch",
                    "time_pool_size": 3,
                },
            ),
            "real score": ("ForAudioClassification", {**REAL_SCORE, **SOFTMAX, "time_pool_size": 2}),
            "scaled rotate": (
                "ForAudioClassification",
                {
                    "variant": "spectral_scaled",
                    "position_phase": "rotate",
                    **REAL_SCORE,
                    **SOFTMAX,
                    "norm_type": "batch",
                },
            ),
            "real decoder": (
                WRITER,
                {
                    **REAL,
                    **SOFTMAX,
                    "time_pool_size": 2,
                    "decoder": {**DECODER, **SINUSOIDS, "tie_word_embeddings": True},
                },
            ),
            "scaled decoder": (
                WRITER,
                {"variant": "spectral_scaled", "decoder": {**DECODER, **SINUSOIDS}, "norm_type": "rms"},
            ),
        },
        ("ForAudioClassification", {"norm_type": "rms", "hidden_act": "modrelu", "position_phase": "rotate"}),
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
