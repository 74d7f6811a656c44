# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of real models that can be lifted: names of their layers and heads, and configuration fields.

Decoders become a ``ComplexLlama`` model, encoders a ``ComplexOrder`` model. ``lift`` processes all of them in the same
way; everything that differs by family is an entry of ``FAMILIES``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from transformers import PreTrainedConfig

from ..models.complex_llama.modeling_complex_llama import (
    NORMS,
    ComplexLlamaForCausalLM,
    ComplexLlamaForSequenceClassification,
    ComplexLlamaForTokenClassification,
    ComplexLlamaModel,
    ComplexLlamaPreTrainedModel,
)
from ..models.complex_order.modeling_complex_order import (
    ComplexOrderForMaskedLM,
    ComplexOrderForQuestionAnswering,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
    ComplexOrderPreTrainedModel,
)

__all__ = [
    "ACTIVATIONS",
    "FAMILIES",
    "HALVES",
    "Family",
    "Layers",
    "LiftedModel",
    "head_dim",
    "hidden_act",
    "inner_size",
    "num_positions",
    "rotary_dim",
    "sliding_layers",
]

LiftedModel = ComplexLlamaPreTrainedModel | ComplexOrderPreTrainedModel
# Layer of the original -> layer of the complex model, and the kinds of features along the axes of its weight. The
# first of these is also the axis of its bias.
Layers = dict[str, tuple[str, tuple[str, ...]]]
# Kinds of features that are stored as halves: a matrix between two of them becomes a WidelyLinear.
HALVES = {"stream", "queries", "keys", "inner"}
# Activation of a real feature -> activation of the real and the imaginary part of a complex feature.
ACTIVATIONS = {
    "gelu": "split_gelu",
    "gelu_new": "split_gelu_tanh",
    "gelu_pytorch_tanh": "split_gelu_tanh",
    "relu": "split_relu",
    "silu": "split_silu",
    "swish": "split_silu",
}


@dataclass(frozen=True)
class Family:
    """The models of one ``model_type`` of Transformers, with layer names as in the bare model.

    Args:
        prefix: prefix of the bare model in a model with a head.
        classes: suffix of a class of Transformers -> complex class.
        tables: embeddings.
        block: layers of block ``{}``.
        ends: other layers of the bare model.
        heads: for each suffix of a class, its layers outside the bare model.
        fields: returns the configuration fields of the complex model that depend on the configuration and the head.
        constants: configuration fields that are the same for all models of the family.
        unread: prefixes of heads that a checkpoint may hold and another class does not read.
        tied: for each suffix of a class, tensors that equal another one if ``tie_word_embeddings`` is set.
        lm_act: activation of the head for masked tokens, if it is not ``hidden_act``.
        has_pooler: whether the bare model has a pooling layer.
        fused: q, k and v are one matrix, gate and up projection another.
        one_plus_gain: norms store their gain minus 1.
        offset_positions: positions are counted from ``pad_token_id`` + 1.
    """

    prefix: str
    classes: dict[str, type[LiftedModel]]
    tables: Layers
    block: Layers
    ends: Layers
    heads: dict[str, Layers]
    fields: Callable[[PreTrainedConfig, str, Mapping[str, Tensor]], dict[str, Any]]
    constants: dict[str, Any] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    tied: dict[str, dict[str, str]] = field(default_factory=dict)
    lm_act: str | None = None
    has_pooler: bool = False
    fused: bool = False
    one_plus_gain: bool = False
    offset_positions: bool = False

    def places(self, head: str, num_layers: int) -> Layers:
        """Return for every layer its name in the complex model and the kinds of features along its axes."""
        prefix = "" if head == "Model" else "model."
        bare = self.tables | self.ends
        for index in range(num_layers):
            for theirs, (ours, axes) in self.block.items():
                bare[theirs.format(index)] = f"layers.{index}.{ours}", axes
        pooler = POOLER if head == "Model" and self.has_pooler else {}
        return {theirs: (prefix + ours, axes) for theirs, (ours, axes) in bare.items()} | pooler | self.heads[head]


# --- sizes and options of configurations ----------------------------------------------------------------------------


def head_dim(config: PreTrainedConfig) -> int:
    """Return the width of an attention head."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def inner_size(config: PreTrainedConfig) -> int:
    """Return the width of the feed-forward network."""
    return config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size


def hidden_act(config: PreTrainedConfig) -> str:
    """Return the activation of the feed-forward network."""
    names = ("hidden_activation", "activation", "hidden_act")
    return next(value for name in names if (value := getattr(config, name, None)) is not None)


def rotary_dim(config: PreTrainedConfig) -> int:
    """Return the number of rotated features of a head; an odd number is rounded up, as in Transformers."""
    rope = getattr(config, "rope_parameters", None) or {}
    part = int(head_dim(config) * rope.get("partial_rotary_factor", 1.0))
    return part + part % 2


def num_positions(config: PreTrainedConfig) -> int:
    """Return the number of positions that tokens can have; RoBERTa reserves the first rows of its table."""
    reserved = config.pad_token_id + 1 if FAMILIES[config.model_type].offset_positions else 0
    return config.max_position_embeddings - reserved


def sliding_layers(config: PreTrainedConfig) -> list[str]:
    """Return the type of each layer, ``full_attention`` or ``sliding_attention``."""
    if (given := getattr(config, "layer_types", None)) is not None:
        return list(given)
    kind = "full_attention" if getattr(config, "sliding_window", None) is None else "sliding_attention"
    return [kind] * config.num_hidden_layers


# --- decoders -------------------------------------------------------------------------------------------------------

DECODER_CLASSES: dict[str, type[LiftedModel]] = {
    "ForCausalLM": ComplexLlamaForCausalLM,
    "ForSequenceClassification": ComplexLlamaForSequenceClassification,
    "ForTokenClassification": ComplexLlamaForTokenClassification,
    "Model": ComplexLlamaModel,
}
SCORE: Layers = {"score": ("classifier.projection", ("labels", "stream"))}
DECODER_HEADS: dict[str, Layers] = {
    "ForCausalLM": {"lm_head": ("lm_head.projection", ("tokens", "stream"))},
    "ForSequenceClassification": SCORE,
    "ForTokenClassification": SCORE,
    "Model": {},
}
MATRICES = {
    "self_attn.q_proj": ("queries", "stream"),
    "self_attn.k_proj": ("keys", "stream"),
    "self_attn.v_proj": ("keys", "stream"),
    "self_attn.o_proj": ("stream", "queries"),
    "mlp.gate_proj": ("inner", "stream"),
    "mlp.up_proj": ("inner", "stream"),
    "mlp.down_proj": ("stream", "inner"),
}
# `qk_norm` -> the norms of queries and keys, and their features.
HEAD_NORMS: dict[bool | str, dict[str, tuple[str, ...]]] = {
    False: {},
    True: {"self_attn.q_norm": ("head",), "self_attn.k_norm": ("head",)},
    "all_heads": {"self_attn.q_norm": ("queries",), "self_attn.k_norm": ("keys",)},
}
# Configuration field -> a layer that has this bias.
BIASES = {
    "attention_bias": "self_attn.q_proj.bias",
    "attention_output_bias": "self_attn.o_proj.bias",
    "mlp_bias": "mlp.gate_proj.bias",
}


def _decoder_fields(config: PreTrainedConfig, head: str, weights: Mapping[str, Tensor]) -> dict[str, Any]:
    layer_types = sliding_layers(config)
    no_rope = getattr(config, "no_rope_layers", None)
    is_causal_lm = head == "ForCausalLM"
    return {
        "num_key_value_heads": config.num_key_value_heads,
        "head_dim": head_dim(config),
        "rms_norm_eps": config.rms_norm_eps,
        "max_position_embeddings": config.max_position_embeddings,
        **{name: any(tensor.endswith(bias) for tensor in weights) for name, bias in BIASES.items()},
        "attention_scale": getattr(config, "query_pre_attn_scalar", head_dim(config)) ** -0.5,
        "embedding_multiplier": math.sqrt(config.hidden_size) if config.model_type.startswith("gemma") else 1.0,
        "attention_probs_dropout_prob": config.attention_dropout or 0.0,
        "hidden_dropout_prob": getattr(config, "resid_pdrop", 0.0),
        "rope_parameters": copy.deepcopy(config.rope_parameters),
        "no_rope_layers": None if no_rope is None else list(no_rope)[: config.num_hidden_layers],
        "layer_types": layer_types,
        "sliding_window": config.sliding_window if "sliding_attention" in layer_types else None,
        "attn_logit_softcapping": getattr(config, "attn_logit_softcapping", None),
        "final_logit_softcapping": getattr(config, "final_logit_softcapping", None) if is_causal_lm else None,
        "tie_word_embeddings": is_causal_lm and config.tie_word_embeddings,
        "use_cache": config.use_cache,
        **(_classifier_fields(config, head) if head.endswith("Classification") else {}),
    }


def _classifier_fields(config: PreTrainedConfig, head: str) -> dict[str, Any]:
    dropout = 0.0
    if head == "ForTokenClassification":
        given = (getattr(config, "classifier_dropout", None), getattr(config, "hidden_dropout", None))
        dropout = next((value for value in given if value is not None), 0.1)
    return {**_label_fields(config), "readout": "concat", "classifier_dropout": dropout}


def _label_fields(config: PreTrainedConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in ("id2label", "label2id", "problem_type")}


def _decoder(norm_position: str = "pre", qk_norm: bool | str = False, **options: Any) -> Family:
    """Return a decoder with the layer names of Llama."""
    norms = dict.fromkeys(filter(None, NORMS[norm_position]), ("stream",)) | HEAD_NORMS[qk_norm]
    return Family(
        prefix="model.",
        classes=DECODER_CLASSES,
        tables={"embed_tokens": ("embed_tokens", ("tokens", "stream"))},
        block={f"layers.{{}}.{name}": (name, axes) for name, axes in (MATRICES | norms).items()},
        ends={"norm": ("norm", ("stream",))},
        heads=DECODER_HEADS,
        fields=_decoder_fields,
        constants={
            "norm_position": norm_position,
            "qk_norm": qk_norm,
            "gate_product": "parts",
            "norm_scale": "stored",
            "lm_readout": "concat",
            "position_type": "rotary",
        },
        tied={"ForCausalLM": {"lm_head.weight": "embed_tokens.weight"}},
        **options,
    )


# --- encoders -------------------------------------------------------------------------------------------------------

ENCODER_CLASSES: dict[str, type[LiftedModel]] = {
    "ForMaskedLM": ComplexOrderForMaskedLM,
    "ForQuestionAnswering": ComplexOrderForQuestionAnswering,
    "ForSequenceClassification": ComplexOrderForSequenceClassification,
    "ForTokenClassification": ComplexOrderForTokenClassification,
    "Model": ComplexOrderModel,
}
TOKEN_TABLE = "embeddings.word_embeddings.weight"
DENSE = ("stream", "stream")
POOLER: Layers = {"pooler.dense": ("pooler.dense", DENSE)}
CLASSIFIER: Layers = {"classifier": ("classifier.projection", ("labels", "stream"))}
TABLES: Layers = {
    "embeddings.word_embeddings": ("embed_tokens", ("tokens", "stream")),
    "embeddings.position_embeddings": ("embed_tokens.position", ("positions", "stream")),  # a parameter, not a layer
}
TYPES: Layers = {"embeddings.token_type_embeddings": ("embed_types", ("types", "stream"))}
# The layers of a block in the order of its names in an encoder.
ENCODER_BLOCK = (
    ("self_attn.q_proj", ("queries", "stream")),
    ("self_attn.k_proj", ("keys", "stream")),
    ("self_attn.v_proj", ("keys", "stream")),
    ("self_attn.out_proj", ("stream", "queries")),
    ("self_attn_norm", ("stream",)),
    ("feed_forward.up_proj", ("inner", "stream")),
    ("feed_forward.down_proj", ("stream", "inner")),
    ("feed_forward_norm", ("stream",)),
)


def _encoder_fields(config: PreTrainedConfig, head: str, weights: Mapping[str, Tensor]) -> dict[str, Any]:
    return {
        **_label_fields(config),
        "tie_word_embeddings": config.tie_word_embeddings,
        "max_position_embeddings": num_positions(config),
        "add_pooling_layer": head == "ForSequenceClassification" or "pooler.dense.weight" in weights,
        "attention_scale": head_dim(config) ** -0.5,
        **(_distilbert_fields(config, head) if config.model_type == "distilbert" else _bert_fields(config, head)),
    }


def _bert_fields(config: PreTrainedConfig, head: str) -> dict[str, Any]:
    return {
        "type_vocab_size": config.type_vocab_size,
        "layer_norm_eps": config.layer_norm_eps,
        "hidden_dropout_prob": config.hidden_dropout_prob,
        "attention_probs_dropout_prob": config.attention_probs_dropout_prob,
        "classifier_dropout": 0.0 if head == "ForQuestionAnswering" else config.classifier_dropout,
    }


def _distilbert_fields(config: PreTrainedConfig, head: str) -> dict[str, Any]:
    dropouts = {"ForQuestionAnswering": config.qa_dropout, "ForSequenceClassification": config.seq_classif_dropout}
    return {
        "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "classifier_dropout": dropouts.get(head),
        "pooler_act": "split_relu" if head == "ForSequenceClassification" else "split_tanh",
    }


def _encoder(
    prefix: str, block: str, predictions: tuple[str, str, str, str | None], classification: Layers, **options: Any
) -> Family:
    """Return an encoder.

    Args:
        prefix: see ``Family``.
        block: names of the layers of a block, in the order of ``ENCODER_BLOCK``.
        predictions: names of dense layer, norm and last layer of the head for masked tokens, and of the tensor that
            equals the bias of the last layer if the head is tied.
        classification: layers of the head for sequences.
        options: see ``Family``.
    """
    dense, norm, last, bias = predictions
    return Family(
        prefix=prefix,
        classes=ENCODER_CLASSES,
        block=dict(zip(block.split(), ENCODER_BLOCK, strict=True)),
        ends={"embeddings.LayerNorm": ("embed_norm", ("stream",))},
        heads={
            "ForMaskedLM": {
                dense: ("dense", DENSE),
                norm: ("head_norm", ("stream",)),
                last: ("lm_head.projection", ("tokens", "stream")),
            },
            "ForQuestionAnswering": {"qa_outputs": ("qa_outputs.projection", ("ends", "stream"))},
            "ForSequenceClassification": classification,
            "ForTokenClassification": CLASSIFIER,
            "Model": {},
        },
        fields=_encoder_fields,
        constants={
            "attention_score": "real",
            "embedding_type": "learned_position",
            "embedding_norm": True,
            "norm_type": "stored_layer",
            "readout": "concat",
            "lm_readout": "concat",
        },
        unread=("pooler.", "cls.", "classifier.", "lm_head.", "qa_outputs.", "vocab_", "pre_classifier."),
        tied={"ForMaskedLM": {f"{last}.weight": TOKEN_TABLE} | ({f"{last}.bias": bias} if bias else {})},
        **options,
    )


BERT = _encoder(
    "bert.",
    """
    encoder.layer.{}.attention.self.query encoder.layer.{}.attention.self.key encoder.layer.{}.attention.self.value
    encoder.layer.{}.attention.output.dense encoder.layer.{}.attention.output.LayerNorm
    encoder.layer.{}.intermediate.dense encoder.layer.{}.output.dense encoder.layer.{}.output.LayerNorm
    """,
    (
        *("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm"),
        *("cls.predictions.decoder", "cls.predictions.bias"),
    ),
    CLASSIFIER | {"pooler.dense": ("model.pooler.dense", DENSE)},
    tables=TABLES | TYPES,
    has_pooler=True,
)
ROBERTA = _encoder(
    "roberta.",
    " ".join(BERT.block),
    ("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias"),
    {
        "classifier.dense": ("model.pooler.dense", DENSE),
        "classifier.out_proj": ("classifier.projection", ("labels", "stream")),
    },
    tables=TABLES | TYPES,
    has_pooler=True,
    lm_act="gelu",
    offset_positions=True,
)
DISTILBERT = _encoder(
    "distilbert.",
    """
    transformer.layer.{}.attention.q_lin transformer.layer.{}.attention.k_lin transformer.layer.{}.attention.v_lin
    transformer.layer.{}.attention.out_lin transformer.layer.{}.sa_layer_norm
    transformer.layer.{}.ffn.lin1 transformer.layer.{}.ffn.lin2 transformer.layer.{}.output_layer_norm
    """,
    ("vocab_transform", "vocab_layer_norm", "vocab_projector", None),
    CLASSIFIER | {"pre_classifier": ("model.pooler.dense", DENSE)},
    tables=TABLES,
)

GEMMA: dict[str, Any] = {"norm_position": "both", "one_plus_gain": True}
FAMILIES = {
    "bert": BERT,
    "camembert": ROBERTA,
    "distilbert": DISTILBERT,
    "gemma2": _decoder(**GEMMA),
    "gemma3_text": _decoder(**GEMMA, qk_norm=True),
    "llama": _decoder(),
    "mistral": _decoder(),
    "olmo2": _decoder("output", "all_heads"),
    "phi3": _decoder(fused=True),
    "qwen2": _decoder(),
    "qwen3": _decoder(qk_norm=True),
    "roberta": ROBERTA,
    "smollm3": _decoder(),
    "xlm-roberta": ROBERTA,
}
