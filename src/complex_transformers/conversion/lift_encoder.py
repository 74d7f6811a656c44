# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The exact lift of BERT, RoBERTa and DistilBERT into a ``ComplexOrder`` encoder of the same function.

Everything but the matrices acts on stored elements: GELU and tanh on real and imaginary parts, norms over all of them
with a gain and a bias for each, tables of words, positions and types. Scores Re(q k^H) are the dot products of the
real heads, with their scale. What remains is to move features, as in ``lift``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig

from ..models.complex_order.configuration_complex_order import ComplexOrderConfig
from ..models.complex_order.modeling_complex_order import (
    ComplexOrderForMaskedLM,
    ComplexOrderForQuestionAnswering,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
    ComplexOrderPreTrainedModel,
)
from .features import halves_of_heads, learned, moved, pairing_order, widely_linear_state
from .files import check_names, check_numbers, check_shapes
from .liftable import ACTIVATIONS, head_dim, head_of, hidden_act, inner_size

__all__ = ["ENCODER_NETWORKS", "lift_encoder"]

# End of the name of a class of Transformers -> ours.
ENCODER_NETWORKS: dict[str, type[ComplexOrderPreTrainedModel]] = {
    "ForMaskedLM": ComplexOrderForMaskedLM,
    "ForQuestionAnswering": ComplexOrderForQuestionAnswering,
    "ForSequenceClassification": ComplexOrderForSequenceClassification,
    "ForTokenClassification": ComplexOrderForTokenClassification,
    "Model": ComplexOrderModel,
}
# Kinds of features that are halves: a matrix from one to another of them is widely linear.
HALVES = {"stream", "heads", "inner"}
# Layer of the original -> ours, and the kinds of features along the axes of its weight; a bias has the first of them.
Layers = dict[str, tuple[str, tuple[str, ...]]]
TABLES: Layers = {
    "embeddings.word_embeddings.weight": ("embed_tokens.weight", ("words", "stream")),
    "embeddings.position_embeddings.weight": ("embed_tokens.position", ("positions", "stream")),
}
TYPES: Layers = {"embeddings.token_type_embeddings.weight": ("embed_types.weight", ("types", "stream"))}
DENSE = ("stream", "stream")
POOLER: Layers = {"pooler.dense": ("pooler.dense", DENSE)}
CLASSIFIER: Layers = {"classifier": ("classifier.projection", ("labels", "stream"))}


@dataclass(frozen=True)
class EncoderFamily:
    """The names of an encoder of Transformers, and what its configuration does not say.

    Args:
        prefix: of the encoder in a model with a head.
        layer: names of the layers of one block, in block ``{}``.
        heads: for each end of the name of a class, its layers outside the encoder.
        output_bias: bias of the language-model head, shared with its last layer where that is tied.
        has_pooler: whether the bare model has a pooling layer.
        positions_after_padding: positions are counted from ``pad_token_id`` + 1 (RoBERTa).
        pooler_act: activation of the pooling layer.
        tables: embeddings.
    """

    prefix: str
    layer: Layers
    heads: dict[str, Layers]
    output_bias: str = ""
    has_pooler: bool = True
    positions_after_padding: bool = False
    pooler_act: str = "split_tanh"
    tables: Layers = field(default_factory=lambda: TABLES | TYPES)


def heads(predictions: Sequence[str], classification: Layers) -> dict[str, Layers]:
    """Return the heads of a family: names of dense layer, norm and last layer, and the sequence classifier."""
    dense, norm, last = predictions
    return {
        "ForMaskedLM": {
            dense: ("dense", DENSE),
            norm: ("head_norm", ("stream",)),
            last: ("lm_head.projection", ("words", "stream")),
        },
        "ForQuestionAnswering": {"qa_outputs": ("qa_outputs.projection", ("ends", "stream"))},
        "ForSequenceClassification": classification,
        "ForTokenClassification": CLASSIFIER,
        "Model": {},
    }


BERT = EncoderFamily(
    prefix="bert.",
    layer={
        "encoder.layer.{}.attention.self.query": ("self_attn.q_proj", ("heads", "stream")),
        "encoder.layer.{}.attention.self.key": ("self_attn.k_proj", ("heads", "stream")),
        "encoder.layer.{}.attention.self.value": ("self_attn.v_proj", ("heads", "stream")),
        "encoder.layer.{}.attention.output.dense": ("self_attn.out_proj", ("stream", "heads")),
        "encoder.layer.{}.attention.output.LayerNorm": ("self_attn_norm", ("stream",)),
        "encoder.layer.{}.intermediate.dense": ("feed_forward.up_proj", ("inner", "stream")),
        "encoder.layer.{}.output.dense": ("feed_forward.down_proj", ("stream", "inner")),
        "encoder.layer.{}.output.LayerNorm": ("feed_forward_norm", ("stream",)),
    },
    heads=heads(
        ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.decoder"),
        CLASSIFIER | {"pooler.dense": ("model.pooler.dense", DENSE)},
    ),
    output_bias="cls.predictions.bias",
)
ROBERTA = EncoderFamily(
    prefix="roberta.",
    layer=BERT.layer,
    heads=heads(
        ("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder"),
        {
            "classifier.dense": ("model.pooler.dense", DENSE),
            "classifier.out_proj": ("classifier.projection", ("labels", "stream")),
        },
    ),
    output_bias="lm_head.bias",
    positions_after_padding=True,
)
DISTILBERT = EncoderFamily(
    prefix="distilbert.",
    layer={
        "transformer.layer.{}.attention.q_lin": ("self_attn.q_proj", ("heads", "stream")),
        "transformer.layer.{}.attention.k_lin": ("self_attn.k_proj", ("heads", "stream")),
        "transformer.layer.{}.attention.v_lin": ("self_attn.v_proj", ("heads", "stream")),
        "transformer.layer.{}.attention.out_lin": ("self_attn.out_proj", ("stream", "heads")),
        "transformer.layer.{}.sa_layer_norm": ("self_attn_norm", ("stream",)),
        "transformer.layer.{}.ffn.lin1": ("feed_forward.up_proj", ("inner", "stream")),
        "transformer.layer.{}.ffn.lin2": ("feed_forward.down_proj", ("stream", "inner")),
        "transformer.layer.{}.output_layer_norm": ("feed_forward_norm", ("stream",)),
    },
    heads=heads(
        ("vocab_transform", "vocab_layer_norm", "vocab_projector"),
        CLASSIFIER | {"pre_classifier": ("model.pooler.dense", DENSE)},
    ),
    has_pooler=False,
    pooler_act="split_relu",
    tables=TABLES,
)
FAMILIES = {
    "bert": BERT,
    "camembert": ROBERTA,
    "distilbert": DISTILBERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
}
# Tensors that a file may hold of the heads its network was cut from; Transformers does not read them either.
_HEADS = ("pooler.", "cls.", "classifier.", "lm_head.", "qa_outputs.", "vocab_", "pre_classifier.")


@torch.no_grad()
def lift_encoder(
    network: str, config: PreTrainedConfig, weights: Mapping[str, Tensor], pairing: str | Sequence[int] | Tensor
) -> ComplexOrderPreTrainedModel:
    """Return the complex encoder, in evaluation mode, that computes what a class of Transformers does.

    Args:
        network: the name of the class, one that ends as ``ENCODER_NETWORKS`` has it.
        config: of an encoder that ``check_liftable`` accepts.
        weights: the tensors of its checkpoint by name.
        pairing: see ``lift``.

    Raises:
        ValueError: another class, tensors that are missing or do not fit, a pairing that is no order of the features.
    """
    head, family = head_of(network, ENCODER_NETWORKS), FAMILIES[config.model_type]
    if head == "ForMaskedLM" and family is ROBERTA and hidden_act(config) != "gelu":
        raise ValueError(f"hidden_act must be 'gelu' for {network}, whose head uses it, got {hidden_act(config)!r}")
    weights = _tensors(family, head, config, weights)
    places = _places(family, head, config, has_pooler="pooler.dense.weight" in weights)
    remedy = "Give the checkpoint as its class saves it, whole; adapters are merged first (merge_and_unload)"
    check_names(weights, places, f"a {network}, as its configuration says", remedy)
    check_numbers(weights)
    orders = _orders(family, config, pairing)
    check_shapes(weights, _shapes(family, config, places, orders))
    dtype = weights["embeddings.word_embeddings.weight"].dtype
    has_pooler = any(".pooler." in f".{place}" for place, _ in places.values())
    with torch.device("meta"):
        lifted = ENCODER_NETWORKS[head](_lifted_config(family, head, config, has_pooler, dtype))
    lifted.load_state_dict(_lifted_state(weights, places, orders), assign=True)
    lifted.tie_weights()
    return lifted.eval()


def _lifted_config(
    family: EncoderFamily, head: str, config: PreTrainedConfig, has_pooler: bool, dtype: torch.dtype
) -> ComplexOrderConfig:
    """Return the configuration of the complex encoder."""
    same: dict[str, Any] = {
        name: getattr(config, name)
        for name in (
            *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "initializer_range"),
            *("tie_word_embeddings", "pad_token_id", "bos_token_id", "eos_token_id"),
            *("id2label", "label2id", "problem_type"),
        )
    }
    return ComplexOrderConfig(
        **same,
        **(_distilbert_fields(head, config) if family is DISTILBERT else _bert_fields(head, config)),
        intermediate_size=inner_size(config),
        max_position_embeddings=config.max_position_embeddings - _unread_positions(family, config),
        hidden_act=ACTIVATIONS[hidden_act(config)],
        linear_type="widely_linear",
        attention_score="real",
        attention_scale=head_dim(config) ** -0.5,
        embedding_type="learned_position",
        embedding_norm=True,
        norm_type="stored_layer",
        add_pooling_layer=has_pooler,
        pooler_act=family.pooler_act if has_pooler else "split_tanh",
        readout="concat",
        lm_readout="concat",
        weight_init="normal",
        dtype=dtype,
    )


def _bert_fields(head: str, config: PreTrainedConfig) -> dict[str, Any]:
    return {
        "type_vocab_size": config.type_vocab_size,
        "layer_norm_eps": config.layer_norm_eps,
        "hidden_dropout_prob": config.hidden_dropout_prob,
        "attention_probs_dropout_prob": config.attention_probs_dropout_prob,
        "classifier_dropout": 0.0 if head == "ForQuestionAnswering" else config.classifier_dropout,
    }


def _distilbert_fields(head: str, config: PreTrainedConfig) -> dict[str, Any]:
    dropouts = {"ForQuestionAnswering": config.qa_dropout, "ForSequenceClassification": config.seq_classif_dropout}
    return {
        "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "classifier_dropout": dropouts.get(head),
    }


def _unread_positions(family: EncoderFamily, config: PreTrainedConfig) -> int:
    """Return how many rows of the position table no token reads."""
    return config.pad_token_id + 1 if family.positions_after_padding else 0


def _tensors(
    family: EncoderFamily, head: str, config: PreTrainedConfig, weights: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return the tensors that a class reads, named as in the bare encoder and its heads."""
    found = {}
    for name, value in learned(weights).items():
        layer, _, leaf = name.removeprefix(family.prefix).rpartition(".")
        if layer.endswith("LayerNorm"):  # of files that were made from those of TensorFlow
            leaf = {"gamma": "weight", "beta": "bias"}.get(leaf, leaf)
        found[f"{layer}.{leaf}"] = value
    if head == "ForMaskedLM":
        _join_predictions(family, config, found)
    read = family.heads[head] | (POOLER if head == "Model" and family.has_pooler else {})
    return {
        name: value for name, value in found.items() if not name.startswith(_HEADS) or name.rpartition(".")[0] in read
    }


def _join_predictions(family: EncoderFamily, config: PreTrainedConfig, weights: dict[str, Tensor]) -> None:
    """Make one tensor of those that a tied head for masked words shares: the bias of the last layer, the words."""
    bias = weights.pop(family.output_bias, None)  # not read where it is not tied
    if not config.tie_word_embeddings:
        return
    words = weights.get("embeddings.word_embeddings.weight")
    shared = {"bias": (family.output_bias, bias), "weight": ("embeddings.word_embeddings.weight", words)}
    last = list(family.heads["ForMaskedLM"])[-1]
    for leaf, (source, value) in shared.items():
        name = f"{last}.{leaf}"
        if value is None:
            continue
        if (own := weights.get(name)) is not None and not torch.equal(own, value):
            raise ValueError(
                f"tie_word_embeddings=True, but {name} and {source} are not the same; set tie_word_embeddings=False "
                "where both are meant"
            )
        weights[name] = value


def _orders(
    family: EncoderFamily, config: PreTrainedConfig, pairing: str | Sequence[int] | Tensor
) -> dict[str, Tensor]:
    """Return where the features of each kind come from."""
    return {
        "words": torch.arange(config.vocab_size),
        "positions": torch.arange(_unread_positions(family, config), config.max_position_embeddings),
        "types": torch.arange(getattr(config, "type_vocab_size", 0)),
        "labels": torch.arange(config.num_labels),
        "ends": torch.arange(2),
        "stream": pairing_order(pairing, config.hidden_size),
        "inner": torch.arange(inner_size(config)),
        "heads": halves_of_heads(config.num_attention_heads, head_dim(config)),
    }


def _shapes(
    family: EncoderFamily, config: PreTrainedConfig, places: Layers, orders: Mapping[str, Tensor]
) -> dict[str, tuple[int, ...]]:
    sizes = {name: len(order) for name, order in orders.items()} | {"positions": config.max_position_embeddings}
    return {name: tuple(sizes[axis] for axis in axes) for name, (_, axes) in places.items()}


def _places(family: EncoderFamily, head: str, config: PreTrainedConfig, has_pooler: bool) -> Layers:
    """Return for every tensor its name in the complex encoder and the kinds of features along its axes."""
    prefix = "" if head == "Model" else "model."
    layers: Layers = {"embeddings.LayerNorm": (f"{prefix}embed_norm", ("stream",))}
    for index in range(config.num_hidden_layers):
        for theirs, (ours, axes) in family.layer.items():
            layers[theirs.format(index)] = f"{prefix}layers.{index}.{ours}", axes
    if head == "Model" and has_pooler:
        layers |= POOLER
    layers |= family.heads[head]
    places = {theirs: (prefix + ours, axes) for theirs, (ours, axes) in family.tables.items()}
    for theirs, (ours, axes) in layers.items():
        places[f"{theirs}.weight"] = f"{ours}.weight", axes
        places[f"{theirs}.bias"] = f"{ours}.bias", axes[:1]
    return places


def _lifted_state(weights: Mapping[str, Tensor], places: Layers, orders: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state dict of the complex encoder."""
    state: dict[str, Tensor] = {}
    for name, (target, axes) in places.items():
        value = moved(weights[name], axes, orders)
        if len(axes) == 2 and HALVES.issuperset(axes):
            state |= widely_linear_state(target.removesuffix(".weight"), value)
        else:
            state[target] = value
    return state
