# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every family of models in tiny: its variants in both number fields, and texts or clips for any of them.

A new family is one entry of ``FAMILIES``: what it reads and what it is trained on follow from its ``forward`` and the
name of its head. ``CASES`` are all variants of all families; those without ``more`` belong to the default tests.
"""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor
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
CLASSIFIER = "ForSequenceClassification"
WRITER = "ForConditionalGeneration"


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
                {
                    "attention_score": "real",
                    "norm_type": "rms",
                    "norm_position": "pre",
                    "phase": "learned",
                    "damping": "learned",
                },
            ),
            "tied, batch norm": ("ForMaskedLM", {**TIED_MODULI, "norm_type": "batch"}),
        },
        {
            "complex weights": (
                "ForTokenClassification",
                {"attention_normalization": "split_softmax", "norm_type": "rms", "embedding_type": "word"},
            ),
            "amplitudes": (
                "Model",
                {
                    "attention_normalization": "probability_amplitude",
                    "norm_type": "batch",
                    "norm_position": "pre",
                    "embedding_type": "complex_vanilla",
                },
            ),
            "bilinear": (
                "ForMaskedLM",
                {
                    "attention_score": "bilinear_modulus",
                    "norm_type": "batch",
                    "lm_readout": "modulus",
                    **LEARNED,
                },
            ),
            "bilinear amplitudes": (
                CLASSIFIER,
                {
                    "attention_score": "bilinear_modulus",
                    "attention_normalization": "probability_amplitude",
                    "norm_type": "rms",
                    "share_parts": True,
                    **SINUSOIDS,
                },
            ),
            "bilinear complex weights": (
                "ForTokenClassification",
                {
                    "attention_score": "bilinear_modulus",
                    "attention_normalization": "split_softmax",
                    "hidden_act": "modrelu",
                    "frequency_sharing": "dimension",
                    "phase": "per_dimension",
                },
            ),
            "real score, amplitudes": (
                "ForMaskedLM",
                {
                    "attention_score": "real",
                    "attention_normalization": "probability_amplitude",
                    "norm_type": "batch",
                    "amplitude_sharing": "word",
                    "lm_readout": "squared_modulus",
                },
            ),
            "shared amplitudes": (
                "ForMaskedLM",
                {"amplitude_sharing": "dimension", "frequency_sharing": "word", "damping": "learned"},
            ),
            "tied phases": ("ForMaskedLM", {**TIED_MODULI, "embedding_type": "complex_vanilla"}),
            "tied words": ("ForMaskedLM", {"tie_word_embeddings": True, "embedding_type": "word"}),
            "real amplitudes": (
                CLASSIFIER,
                {
                    **REAL,
                    "attention_normalization": "probability_amplitude",
                    "norm_type": "rms",
                    "norm_position": "pre",
                    "embedding_type": "word",
                },
            ),
            "real tied": ("ForMaskedLM", {**REAL, **SINUSOIDS, "tie_word_embeddings": True, "norm_type": "batch"}),
            "real tokens": ("ForTokenClassification", {**REAL, **LEARNED}),
        },
        (CLASSIFIER, {"norm_type": "rms", "hidden_act": "modrelu"}),
    ),
    "complex_seq2seq": Family(
        {**TEXT, **LAYERS, **WRITES, "encoder_layers": 2, "decoder_layers": 2},
        {
            "modulus": (WRITER, {}),
            "real": (WRITER, {**REAL, **SINUSOIDS, "tie_word_embeddings": True}),
        },
        {
            "real score": (
                WRITER,
                {"attention_score": "real", "norm_position": "pre", "share_embeddings": False, "norm_type": "rms"},
            ),
            "tied amplitudes": (WRITER, {**TIED_MODULI, "share_embeddings": False}),
            "tied and shared": (WRITER, {**TIED_MODULI, "norm_position": "pre"}),
            "vanilla": (WRITER, {"embedding_type": "complex_vanilla", "attention_score": "bilinear_modulus"}),
            "complex weights": (WRITER, {"attention_normalization": "split_softmax", "lm_readout": "modulus"}),
            "learned positions": (WRITER, LEARNED),
        },
        (WRITER, {"norm_type": "rms", "hidden_act": "modrelu", "lm_readout": "modulus"}),
    ),
    "complex_transfo_xl": Family(
        {**TEXT, **LAYERS, "num_hidden_layers": 2, "mem_len": 16, "position_period": 32},
        {
            "modulus": ("ForCausalLM", {}),
            "real": ("ForCausalLM", {**REAL, **SINUSOIDS, "tie_word_embeddings": True}),
            "adaptive": ("ForCausalLM", {"cutoffs": [8, 20], "div_value": 2, "attention_score": "real"}),
        },
        {
            "real score": ("ForCausalLM", {"attention_score": "real", "phase": "learned", "damping": "learned"}),
            "pre-norm": ("ForCausalLM", {"norm_position": "pre", "norm_type": "rms", "clamp_len": 2}),
            "tied amplitudes": ("ForCausalLM", {**TIED_MODULI, "share_parts": True}),
            "probabilities": (
                "ForCausalLM",
                {"attention_normalization": "probability_amplitude", "attention_score": "bilinear_modulus"},
            ),
            "sum of moduli": ("ForCausalLM", {"attention_score": "sum_of_moduli", "same_length": True}),
            "learned positions": ("ForCausalLM", LEARNED),
            "adaptive, tied": ("ForCausalLM", {**TIED_MODULI, "cutoffs": [8, 20]}),
            "real words": ("ForCausalLM", {**REAL, "embedding_type": "word"}),
        },
    ),
    "complex_fasttext": Family(
        {**TEXT, "intermediate_size": 12, "num_labels": 3},
        {"complex": (CLASSIFIER, {}), "real": (CLASSIFIER, REAL)},
        {
            "vanilla": (CLASSIFIER, {"embedding_type": "complex_vanilla"}),
            "words": ("Model", {"embedding_type": "word"}),
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
            "identity": (CLASSIFIER, {"hidden_act": "identity", "embedding_type": "complex_vanilla"}),
            "real one word": (CLASSIFIER, {**REAL, "kernel_sizes": [1], "embedding_type": "word"}),
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
            "one lstm": (CLASSIFIER, {"embedding_type": "complex_vanilla"}),
            "gru": (CLASSIFIER, {"rnn_type": "gru", "num_hidden_layers": 2, **SINUSOIDS}),
            "gru of parts": (CLASSIFIER, {"rnn_type": "gru", "gate": "split", "pooling": "mean"}),
            "rnn": (CLASSIFIER, {"rnn_type": "rnn", "pooling": "mean", "embedding_type": "word"}),
            "relu": (CLASSIFIER, {"rnn_type": "rnn", "state_activation": "split_relu"}),
            "real lstm": ("Model", {**REAL, "bidirectional": True, "num_hidden_layers": 2}),
            "real relu": (CLASSIFIER, {**REAL, "rnn_type": "rnn", "state_activation": "split_relu"}),
        },
        (CLASSIFIER, {"state_activation": "hirose_tanh", "bidirectional": True}),
    ),
    "complex_text_gcn": Family(
        {**TEXT, "intermediate_size": 12, "num_labels": 3},
        {"complex": (CLASSIFIER, {}), "real": (CLASSIFIER, REAL)},
        {
            "deep": (
                CLASSIFIER,
                {"num_hidden_layers": 3, "window_size": 1, **LEARNED, "readout": "concat"},
            ),
            "vanilla": ("Model", {"embedding_type": "complex_vanilla"}),
            "real words": (CLASSIFIER, {**REAL, "num_hidden_layers": 3, "window_size": 1, "embedding_type": "word"}),
        },
        (CLASSIFIER, {"hidden_act": "modrelu"}),
    ),
    "synconmt": Family(
        {"vocab_size": 30, "relation_vocab_size": 7, "hidden_size": 16, "initializer_range": 0.7, **WRITES},
        {
            "bahdanau": (WRITER, {}),
            "real luong": (
                WRITER,
                {
                    **REAL,
                    "attention_type": "luong",
                    "attention_window": 2,
                    "use_relations": False,
                    "rnn_type": "lstm",
                },
            ),
        },
        {
            "deep lstm": (
                WRITER,
                {"rnn_type": "lstm", "decoder_layers": 2, "encoder_layers": 2, "share_embeddings": True},
            ),
            "luong": (WRITER, {"attention_type": "luong", "attention_window": 2}),
            "luong, complex gates": (
                WRITER,
                {
                    "attention_type": "luong",
                    "attention_window": 3,
                    "gate": "split",
                    "decoder_layers": 2,
                    "bidirectional": False,
                },
            ),
            "rnn, two vocabularies": (
                WRITER,
                {"rnn_type": "rnn", "target_vocab_size": 25, "target_relation_vocab_size": 5},
            ),
            "real": (WRITER, REAL),
        },
    ),
    "spectral_transformer": Family(
        {
            "feature_size": 18,
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_labels": 3,
            "vocab_size": 6,
            **LAYERS,
        },
        {
            "symbols": ("ForCTC", {}),
            "scaled": ("ForCTC", {"variant": "spectral_scaled", "time_pool_size": 2}),
            "real": ("ForAudioClassification", {**REAL, "attention_normalization": "softmax"}),
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
            "real score": (
                "ForAudioClassification",
                {"attention_score": "real", "attention_normalization": "softmax", "time_pool_size": 2},
            ),
            "scaled rotate": (
                "ForAudioClassification",
                {
                    "variant": "spectral_scaled",
                    "position_phase": "rotate",
                    "attention_score": "real",
                    "attention_normalization": "softmax",
                    "norm_type": "batch",
                },
            ),
            "real decoder": (
                WRITER,
                {
                    **REAL,
                    "attention_normalization": "softmax",
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
    """One variant of a family."""

    family: str
    variant: str

    def __str__(self) -> str:
        return f"{self.family}: {self.variant}"

    @property
    def is_default(self) -> bool:
        """Whether the default tests have it."""
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
        """A model in evaluation as it is initialised."""
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
        return model

    def model(self) -> PreTrainedModel:
        """The trained model that all tests share: only to be read."""
        return _shared(self)

    def own(self) -> PreTrainedModel:
        """A copy of it to be changed."""
        return copy.deepcopy(_shared(self))

    def without_dropout(self, **changes: Any) -> PreTrainedModel:
        """A trained model in training mode that computes what it does in evaluation, but for batch statistics."""
        names = ("hidden_dropout_prob", "attention_probs_dropout_prob")
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
Row = dict[str, Tensor]


def rows(
    model: PreTrainedModel, lengths: tuple[int, ...] = (6, 4, 7), labels: bool = False, seed: int = 1
) -> list[Row]:
    """Texts or clips of these lengths, without padding: ``[length, ...]`` under each name that ``model`` reads.

    Targets are a word shorter than their sources.
    """
    generator = torch.Generator().manual_seed(seed)
    return [_row(model, length, labels, generator) for length in lengths]


def _row(model: PreTrainedModel, length: int, labels: bool, generator: torch.Generator) -> Row:
    config = model.config

    def ids(end: int, first: int = FIRST_WORD, count: int = length) -> Tensor:
        return torch.randint(first, end, (count,), generator=generator)

    words = getattr(config, "num_words", (config.vocab_size,) * 2)
    relations = getattr(config, "num_relations", (None, None))
    if "input_features" in inspect.signature(model.forward).parameters:
        row = {"input_features": torch.randn(length, config.feature_size, generator=generator)}
    else:
        row = {"input_ids": ids(words[0])}
    if relations[0]:
        row["relation_ids"] = ids(relations[0], 1)
    if config.is_encoder_decoder:
        end = config.decoder.vocab_size if getattr(config, "decoder", None) else words[1]
        row["decoder_input_ids"] = ids(end, count=length - 1)
        if relations[1]:
            row["decoder_relation_ids"] = ids(relations[1], 1, length - 1)
    return {**row, **(_labels(model, row, ids) if labels else {})}


def _labels(model: PreTrainedModel, row: Row, ids: Any) -> Row:
    """What the head is trained on."""
    name, config = type(model).__name__, model.config
    if name.endswith(("ForSequenceClassification", "ForAudioClassification")):
        return {"labels": ids(config.num_labels, 0, 1).squeeze(0)}
    if name.endswith("ForTokenClassification"):
        return {"labels": ids(config.num_labels, 0)}
    if name.endswith("ForCTC"):
        return {"labels": torch.tensor([1, 2])}
    if name.endswith(WRITER):
        targets = {"labels": row["decoder_input_ids"].roll(1)}
        if "decoder_relation_ids" in row:
            targets["relation_labels"] = row["decoder_relation_ids"].roll(1)
        return targets
    if name.endswith("ForCausalLM"):  # nothing stands before the first word, unless it is padding
        return {"labels": torch.cat([torch.tensor([-100]), row["input_ids"][1:]])}
    return {"labels": row["input_ids"].clone()} if name.endswith("ForMaskedLM") else {}


def mask_of(name: str) -> str:
    """The mask of an input."""
    return "decoder_attention_mask" if name.startswith("decoder_") else "attention_mask"


def batch(texts: list[Row], side: str = "right", extra: int = 0) -> dict[str, Tensor]:
    """Rows as one batch, padded on one side to the longest and ``extra`` more; masks where there is padding.

    What stands in the padding is no zero: it must not matter.
    """
    out: dict[str, Tensor] = {}
    for name, first in texts[0].items():
        values = [row[name] for row in texts]
        if first.dim() == 0:
            out[name] = torch.stack(values)
            continue
        size = max(map(len, values)) + extra
        filler = -100 if name.endswith("labels") else 2 if name.endswith("relation_ids") else 4
        padded = first.new_full((len(values), size, *first.shape[1:]), filler)
        mask = torch.zeros(len(values), size, dtype=torch.long)
        for row, value in enumerate(values):
            place = slice(size - len(value), None) if side == "left" else slice(len(value))
            padded[row, place], mask[row, place] = value, 1
        out[name] = padded
        if not name.endswith("labels") and not mask.all():
            out[mask_of(name)] = mask
    return out


def embedded(model: PreTrainedModel, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inputs with embeddings for ids; features stay what they are."""
    out = dict(inputs)
    decoder = getattr(model, "decoder", None) or getattr(getattr(model, "model", model), "decoder", None)
    for side, table in (("", model.get_input_embeddings()), ("decoder_", getattr(decoder, "embed_tokens", None))):
        ids, relations = out.pop(f"{side}input_ids", None), out.pop(f"{side}relation_ids", None)
        if ids is None:
            continue
        mask = {} if relations is not None else {"attention_mask": inputs.get(f"{side}attention_mask")}
        given = (ids,) if relations is None else (ids, relations)
        if "attention_mask" not in inspect.signature(table.forward).parameters:
            mask = {}
        out[f"{side}inputs_embeds"] = table(*given, **mask).detach()
    return out


def numbers_of(inputs: dict[str, Tensor]) -> list[str]:
    """The names of the inputs that are no integers."""
    return [name for name, value in inputs.items() if value.is_floating_point() and value.dim() == 3]


def results(model: PreTrainedModel, inputs: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    """All that the model says about each row of a batch, without padding."""
    given = {name: value for name, value in inputs.items() if not name.endswith("labels")}
    with torch.no_grad():
        out = model(**given, output_hidden_states=True)
    found = {name: out.get(name) for name in ("logits", "relation_logits", "last_hidden_state", "pooler_output")}
    for name in ("hidden_states", "encoder_hidden_states", "decoder_hidden_states"):
        found[name] = out[name][-1] if out.get(name) else None
    count = len(next(iter(given.values())))
    return [
        {n: _own(model, n, value, row, given) for n, value in found.items() if value is not None}
        for row in range(count)
    ]


def _own(model: PreTrainedModel, name: str, value: Tensor, row: int, inputs: dict[str, Tensor]) -> Tensor:
    """The part of an output that is of a row and not of its padding."""
    if value.dim() == 2:
        return value[row]
    target = model.config.is_encoder_decoder and not name.startswith("encoder_")
    mask = inputs.get("decoder_attention_mask" if target else "attention_mask")
    if mask is None:
        return value[row]
    if not target and hasattr(model, "output_lengths"):  # frames come first
        return value[row, : int(model.output_lengths(mask[row].sum()))]
    return value[row][mask[row].bool()]


def result(model: PreTrainedModel, row: Row) -> dict[str, Tensor]:
    """All that the model says about a row alone."""
    return results(model, batch([row]))[0]
