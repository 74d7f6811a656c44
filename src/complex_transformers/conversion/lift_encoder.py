# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The exact lift of a BERT (Devlin et al. 2019) into a ``ComplexOrder`` encoder of the same function.

All that is not a matrix acts on stored numbers: GELU and tanh on both parts, norms over all of them with a gain and a
bias for each, tables of words, positions and types. Scores Re(q k^H) are the dot products of the real heads, with
their scale. What remains is to move features, as in ``lift``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig

from ..models.complex_order.configuration_complex_order import ComplexOrderConfig
from ..models.complex_order.modeling_complex_order import (
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
    ComplexOrderPreTrainedModel,
)
from .features import halves_of_heads, learned, moved, pairing_order, widely_linear_state
from .files import check_names, check_numbers, check_shapes
from .liftable import ACTIVATIONS, head_dim

__all__ = ["NETWORKS", "lift_encoder", "network_of"]

NETWORKS: dict[str, type[ComplexOrderPreTrainedModel]] = {
    "BertModel": ComplexOrderModel,
    "BertForMaskedLM": ComplexOrderForMaskedLM,
    "BertForSequenceClassification": ComplexOrderForSequenceClassification,
    "BertForTokenClassification": ComplexOrderForTokenClassification,
}
# Kinds of features that are halves: a matrix from one to another of them is widely linear.
HALVES = {"stream", "heads", "inner"}
# Layer of BERT -> ours, and the kinds of features along the axes of its weight; the bias has the first of them.
Layers = dict[str, tuple[str, tuple[str, ...]]]
EMBEDDINGS: Layers = {
    "embeddings.word_embeddings.weight": ("embed_tokens.weight", ("words", "stream")),
    "embeddings.position_embeddings.weight": ("embed_tokens.position", ("positions", "stream")),
    "embeddings.token_type_embeddings.weight": ("embed_types.weight", ("types", "stream")),
}
LAYER: Layers = {
    "attention.self.query": ("self_attn.q_proj", ("heads", "stream")),
    "attention.self.key": ("self_attn.k_proj", ("heads", "stream")),
    "attention.self.value": ("self_attn.v_proj", ("heads", "stream")),
    "attention.output.dense": ("self_attn.out_proj", ("stream", "heads")),
    "attention.output.LayerNorm": ("self_attn_norm", ("stream",)),
    "intermediate.dense": ("feed_forward.up_proj", ("inner", "stream")),
    "output.dense": ("feed_forward.down_proj", ("stream", "inner")),
    "output.LayerNorm": ("feed_forward_norm", ("stream",)),
}
POOLER: Layers = {"pooler.dense": ("pooler.dense", ("stream", "stream"))}
PREDICTIONS: Layers = {
    "cls.predictions.transform.dense": ("dense", ("stream", "stream")),
    "cls.predictions.transform.LayerNorm": ("head_norm", ("stream",)),
    "cls.predictions.decoder": ("lm_head.projection", ("words", "stream")),
}
CLASSIFIER: Layers = {"classifier": ("classifier.projection", ("labels", "stream"))}
HEADS: dict[str, Layers] = {
    "BertModel": {},
    "BertForMaskedLM": PREDICTIONS,
    "BertForSequenceClassification": CLASSIFIER,
    "BertForTokenClassification": CLASSIFIER,
}
# What files hold besides, of the network that they were cut from: Transformers does not read it either.
_HEADS = ("pooler.", "cls.", "classifier.")


def network_of(config: PreTrainedConfig) -> str:
    """The class of BERT that a checkpoint was saved from, ``BertModel`` where its configuration has none.

    Raises:
        ValueError: a class that is not lifted.
    """
    network = (getattr(config, "architectures", None) or ["BertModel"])[0]
    check_network(network)
    return network


def check_network(network: str) -> None:
    """Raise unless the class is one that ``NETWORKS`` has."""
    if network not in NETWORKS:
        raise ValueError(f"a {network} cannot be lifted, of BERT these can: {', '.join(NETWORKS)}")


@torch.no_grad()
def lift_encoder(
    network: str, config: PreTrainedConfig, weights: Mapping[str, Tensor], pairing: str | Sequence[int] | Tensor
) -> ComplexOrderPreTrainedModel:
    """The complex encoder, in evaluation mode, that computes what a class of BERT does with these weights.

    Args:
        network: the class, a name of ``NETWORKS``.
        config: of a BERT that ``check_liftable`` takes.
        weights: the tensors of its checkpoint by name.
        pairing: see ``lift``.

    Raises:
        ValueError: another class, tensors that are missing or do not fit, a pairing that is no order of the features.
    """
    check_network(network)
    weights = _tensors(network, config, weights)
    has_pooler = "pooler.dense.weight" in weights
    places = _places(network, config, has_pooler)
    remedy = "Give the checkpoint as its class saves it, whole; adapters are merged first (merge_and_unload)"
    check_names(weights, places, f"a {network}, as its configuration says", remedy)
    check_numbers(weights)
    orders = _orders(config, pairing)
    sizes = {name: len(order) for name, order in orders.items()}
    check_shapes(weights, {name: tuple(sizes[axis] for axis in axes) for name, (_, axes) in places.items()})
    dtype = weights["embeddings.word_embeddings.weight"].dtype
    with torch.device("meta"):
        lifted = NETWORKS[network](_lifted_config(config, has_pooler, dtype))
    lifted.load_state_dict(_lifted_state(weights, places, orders), assign=True)
    lifted.tie_weights()
    return lifted.eval()


def _lifted_config(config: PreTrainedConfig, has_pooler: bool, dtype: torch.dtype) -> ComplexOrderConfig:
    """The configuration of the complex encoder."""
    same: dict[str, Any] = {
        name: getattr(config, name)
        for name in (
            *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
            *("max_position_embeddings", "type_vocab_size", "layer_norm_eps", "initializer_range"),
            *("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"),
            *("tie_word_embeddings", "pad_token_id", "bos_token_id", "eos_token_id"),
            *("id2label", "label2id", "problem_type"),
        )
    }
    return ComplexOrderConfig(
        **same,
        hidden_act=ACTIVATIONS[config.hidden_act],
        linear_type="widely_linear",
        attention_score="real",
        attention_scale=head_dim(config) ** -0.5,
        embedding_type="learned_position",
        embedding_norm=True,
        norm_type="stored_layer",
        add_pooling_layer=has_pooler,
        readout="concat",
        lm_readout="concat",
        weight_init="normal",
        dtype=dtype,
    )


def _tensors(network: str, config: PreTrainedConfig, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that a class reads, by their names in ``BertModel`` and its heads."""
    found = {}
    for name, value in learned(weights).items():
        layer, _, leaf = name.removeprefix("bert.").rpartition(".")
        if layer.endswith("LayerNorm"):  # of files that were made from those of TensorFlow
            leaf = {"gamma": "weight", "beta": "bias"}.get(leaf, leaf)
        found[f"{layer}.{leaf}"] = value
    if network == "BertForMaskedLM":
        _join_predictions(config, found)
    heads = HEADS[network] | (POOLER if network in ("BertModel", "BertForSequenceClassification") else {})
    return {
        name: value for name, value in found.items() if not name.startswith(_HEADS) or name.rpartition(".")[0] in heads
    }


def _join_predictions(config: PreTrainedConfig, weights: dict[str, Tensor]) -> None:
    """Make one tensor of those that a tied head for masked words shares: the bias of the last layer, the words."""
    bias = weights.pop("cls.predictions.bias", None)  # not read where it is not tied
    if not config.tie_word_embeddings:
        return
    words = weights.get("embeddings.word_embeddings.weight")
    shared = {"bias": ("cls.predictions.bias", bias), "weight": ("embeddings.word_embeddings.weight", words)}
    for leaf, (source, value) in shared.items():
        name = f"cls.predictions.decoder.{leaf}"
        if value is None:
            continue
        if (own := weights.get(name)) is not None and not torch.equal(own, value):
            raise ValueError(
                f"tie_word_embeddings=True, but {name} and {source} are not the same; set tie_word_embeddings=False "
                "where both are meant"
            )
        weights[name] = value


def _orders(config: PreTrainedConfig, pairing: str | Sequence[int] | Tensor) -> dict[str, Tensor]:
    """Where the features of each kind come from."""
    return {
        "words": torch.arange(config.vocab_size),
        "positions": torch.arange(config.max_position_embeddings),
        "types": torch.arange(config.type_vocab_size),
        "labels": torch.arange(config.num_labels),
        "stream": pairing_order(pairing, config.hidden_size),
        "inner": torch.arange(config.intermediate_size),
        "heads": halves_of_heads(config.num_attention_heads, head_dim(config)),
    }


def _places(network: str, config: PreTrainedConfig, has_pooler: bool) -> Layers:
    """Every tensor of BERT -> its name in the complex encoder and the kinds of features along its axes."""
    prefix = "" if network == "BertModel" else "model."
    layers: Layers = {"embeddings.LayerNorm": (f"{prefix}embed_norm", ("stream",))}
    for index in range(config.num_hidden_layers):
        for theirs, (ours, axes) in LAYER.items():
            layers[f"encoder.layer.{index}.{theirs}"] = f"{prefix}layers.{index}.{ours}", axes
    if has_pooler or network == "BertForSequenceClassification":
        layers |= {theirs: (prefix + ours, axes) for theirs, (ours, axes) in POOLER.items()}
    layers |= HEADS[network]
    places = {theirs: (prefix + ours, axes) for theirs, (ours, axes) in EMBEDDINGS.items()}
    for theirs, (ours, axes) in layers.items():
        places[f"{theirs}.weight"] = f"{ours}.weight", axes
        places[f"{theirs}.bias"] = f"{ours}.bias", axes[:1]
    return places


def _lifted_state(weights: Mapping[str, Tensor], places: Layers, orders: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state dict of the complex encoder."""
    state: dict[str, Tensor] = {}
    for name, (target, axes) in places.items():
        value = moved(weights[name], axes, orders)
        if len(axes) == 2 and HALVES.issuperset(axes):
            state |= widely_linear_state(target.removesuffix(".weight"), value)
        else:
            state[target] = value
    return state
