# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The exact lift: a real decoder of the shape of Llama, or an encoder of that of BERT, as a complex one.

Every real matrix on halves is widely linear, U z + V conj(z) (``nn.WidelyLinear.from_real``), and rotary positions
pair feature k of a real head with k + D/2: the turn of a complex number. What remains is to move features: those of
the residual stream into pairs, those of each head (rows of q, k, v and columns of o) into the halves of all heads.
Encoders are in ``lift_encoder``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

from ..models.complex_llama.configuration_complex_llama import ComplexLlamaConfig
from ..models.complex_llama.modeling_complex_llama import (
    NORMS,
    ComplexLlamaForCausalLM,
    ComplexLlamaForSequenceClassification,
    ComplexLlamaForTokenClassification,
    ComplexLlamaModel,
    ComplexLlamaPreTrainedModel,
)
from ..models.complex_order.modeling_complex_order import ComplexOrderPreTrainedModel
from .features import halves_of_heads, learned, moved, pairing_order, widely_linear_state
from .files import check_names, check_numbers, check_shapes
from .lift_encoder import ENCODER_NETWORKS, lift_encoder
from .liftable import (
    ACTIVATIONS,
    DECODERS,
    ENCODER_TYPES,
    DecoderFamily,
    attention_biases,
    check_liftable,
    head_dim,
    head_of,
    hidden_act,
    rotary_dim,
    sliding_layers,
)

__all__ = ["LiftedModel", "lift", "lift_weights", "network_of"]

LAYER = "model.layers.{}."
# Layer -> where its rows come from and where its columns do.
MATRICES = {
    "self_attn.q_proj": ("queries", "stream"),
    "self_attn.k_proj": ("keys", "stream"),
    "self_attn.v_proj": ("keys", "stream"),
    "self_attn.o_proj": ("stream", "queries"),
    "mlp.gate_proj": ("inner", "stream"),
    "mlp.up_proj": ("inner", "stream"),
    "mlp.down_proj": ("stream", "inner"),
}
# `qk_norm` -> the norms of queries and keys and the features they have gains for.
HEAD_NORMS: dict[bool | str, dict[str, str]] = {
    False: {},
    True: {"self_attn.q_norm": "head", "self_attn.k_norm": "head"},
    "all_heads": {"self_attn.q_norm": "queries", "self_attn.k_norm": "keys"},
}
# End of the name of a class of Transformers -> ours.
NETWORKS: dict[str, type[ComplexLlamaPreTrainedModel]] = {
    "ForCausalLM": ComplexLlamaForCausalLM,
    "ForSequenceClassification": ComplexLlamaForSequenceClassification,
    "ForTokenClassification": ComplexLlamaForTokenClassification,
    "Model": ComplexLlamaModel,
}
# Tensor of a head -> its name in ours.
HEADS = {
    "lm_head.weight": "lm_head.projection.weight",
    "score.weight": "classifier.projection.weight",
    "score.bias": "classifier.projection.bias",
}


LiftedModel: TypeAlias = ComplexLlamaPreTrainedModel | ComplexOrderPreTrainedModel


def lift(model: PreTrainedModel, pairing: str | Sequence[int] | Tensor = "halves") -> LiftedModel:
    """Return the complex network that computes the same function as a real one: same logits, same texts, same widths.

    Layers are widely linear (U z + V conj(z), as many weights as before), norms are over stored numbers, the gate's
    product is that of the parts, scores have the scale of the real head; a tied head stays tied. In bfloat16 and
    float16 the sums of blocks are rounded: lift a model that was loaded in float32, which is then exact where its
    checkpoint is in one of these.

    Args:
        model: a decoder of Llama (1 to 3), Mistral, Qwen2, Qwen2.5, Qwen3, Phi-3, Gemma 2, Gemma 3 (text), SmolLM2,
            SmolLM3 or OLMo 2, bare or with a head for causal language modeling, sequence classification or token
            classification; or an encoder of BERT, RoBERTa, XLM-RoBERTa, CamemBERT or DistilBERT, bare or with a head
            for masked language modeling, sequence or token classification or question answering. It is not changed,
            and shares no weights with the result.
        pairing: which features of the residual stream become real and imaginary parts: ``halves`` as they stand,
            feature j with j + n/2; ``interleaved``, 2j with 2j + 1; or the features in their new order.

    Returns:
        The model, with the generation config of the original and in its mode, training or evaluation.

    Raises:
        ValueError: what the family does not have (experts, interleaved rotary positions, odd widths, a bias of another
            kind, relative positions, a decoder of BERT, quantized weights), tensors that are missing or do not fit, a
            pairing that is no order of the features.

    Source:
        Wang et al. 2025 (Fairy2i, arXiv:2512.02901) for the widely linear form; Picinbono and Chevalier 1995.
        Devlin et al. 2019 for BERT.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from complex_transformers import lift
        >>> config = LlamaConfig(vocab_size=50, hidden_size=32, intermediate_size=64, num_attention_heads=2,
        ...                      num_hidden_layers=1)
        >>> lift(LlamaForCausalLM(config)).model.layers[0].mlp.down_proj
        WidelyLinear(
          in_features=64, out_features=32, bias=False
          (real): Linear(in_features=32, out_features=16, bias=False)
          (imag): Linear(in_features=32, out_features=16, bias=False)
          (conj_real): Linear(in_features=32, out_features=16, bias=False)
          (conj_imag): Linear(in_features=32, out_features=16, bias=False)
        )
    """
    if not isinstance(model, PreTrainedModel):
        raise ValueError(f"model must be a model of Transformers, got a {type(model).__name__}")
    check_liftable(model.config)
    lifted = _lift(_transformers_class(model), model.config, model.state_dict(), pairing)
    if getattr(model, "generation_config", None) is not None:
        lifted.generation_config = copy.deepcopy(model.generation_config)
    return lifted.train(model.training)


def lift_weights(
    config: PreTrainedConfig, weights: Mapping[str, Tensor], pairing: str | Sequence[int] | Tensor = "halves"
) -> LiftedModel:
    """Lift the tensors of a checkpoint, see ``lift`` and ``network_of``."""
    check_liftable(config)
    return _lift(network_of(config), config, weights, pairing)


def network_of(config: PreTrainedConfig) -> str:
    """Return the class that a checkpoint was saved from, by default a causal language model or a bare encoder.

    Raises:
        ValueError: a class that cannot be lifted.
    """
    is_encoder = config.model_type in ENCODER_TYPES
    network = (getattr(config, "architectures", None) or ["Model" if is_encoder else "ForCausalLM"])[0]
    head_of(network, ENCODER_NETWORKS if is_encoder else NETWORKS)
    return network


def _transformers_class(model: PreTrainedModel) -> str:
    """Return the name of the class of Transformers that a model is, or is a subclass of."""
    classes = type(model).__mro__
    return next((one for one in classes if one.__module__.startswith("transformers.models")), classes[0]).__name__


def _lift(
    network: str,
    config: PreTrainedConfig,
    weights: Mapping[str, Tensor],
    pairing: str | Sequence[int] | Tensor,
) -> LiftedModel:
    lift_network = lift_encoder if config.model_type in ENCODER_TYPES else _lift_decoder
    return lift_network(network, config, weights, pairing)


@torch.no_grad()
def _lift_decoder(
    network: str,
    config: PreTrainedConfig,
    weights: Mapping[str, Tensor],
    pairing: str | Sequence[int] | Tensor,
) -> ComplexLlamaPreTrainedModel:
    """Lift a decoder that ``check_liftable`` accepts."""
    head = head_of(network, NETWORKS)
    family = DECODERS[config.model_type]
    weights = _tensors(config, family, head, weights)
    biases = attention_biases(config, weights)
    orders = _orders(config, pairing)
    roles = _roles(config, family, head, biases)
    remedy = "Give the checkpoint as its class saves it, whole; adapters are merged first (merge_and_unload)"
    check_names(weights, roles, f"a {config.model_type} with a head, as its configuration says", remedy)
    sizes = {name: len(order) for name, order in orders.items()}
    check_shapes(weights, {name: tuple(sizes[axis] for axis in axes) for name, axes in roles.items()})
    dtype = weights["model.embed_tokens.weight"].dtype
    with torch.device("meta"):
        lifted = NETWORKS[head](_lifted_config(config, family, head, biases, dtype))
    state = _lifted_state(weights, roles, orders)
    if head == "ForCausalLM" and config.tie_word_embeddings:
        state["lm_head.projection.weight"] = state["model.embed_tokens.weight"]
    if head == "ForSequenceClassification":  # Transformers' head has no bias
        state["classifier.projection.bias"] = torch.zeros(config.num_labels, dtype=dtype)
    if head == "Model":
        state = {name.removeprefix("model."): value for name, value in state.items()}
    lifted.load_state_dict(state, assign=True)
    lifted.tie_weights()
    return lifted.eval()


def _tensors(
    config: PreTrainedConfig, family: DecoderFamily, head: str, weights: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return the tensors of a decoder by their names and with their meaning in a Llama with a head."""
    found = learned(weights)
    check_numbers(found)
    known = ("model.", "lm_head.", "score.")  # files of bare models have no prefix
    found = {name if name.startswith(known) else f"model.{name}": value for name, value in found.items()}
    if head == "ForCausalLM" and config.tie_word_embeddings:
        found = _without_tied_head(found)
    if family.fused:
        found = _separate(config, found)
    if family.is_gemma:
        found = {name: value + 1 if "norm" in name else value for name, value in found.items()}
    return found


def _separate(config: PreTrainedConfig, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Split fused matrices into those of q, k and v, and of gate and up (Phi-3)."""
    width = head_dim(config)
    keys = config.num_key_value_heads * width
    parts = {
        "qkv_proj": {"q_proj": config.num_attention_heads * width, "k_proj": keys, "v_proj": keys},
        "gate_up_proj": {"gate_proj": config.intermediate_size, "up_proj": config.intermediate_size},
    }
    separate = {}
    for name, value in weights.items():
        fused = next((fused for fused in parts if f".{fused}." in name), None)
        if fused is None or value.shape[0] != sum(parts[fused].values()):  # check_names tells what does not fit
            separate[name] = value
            continue
        for part, rows in zip(parts[fused], value.split(list(parts[fused].values())), strict=True):
            separate[name.replace(fused, part)] = rows
    return separate


def _lifted_config(
    config: PreTrainedConfig, family: DecoderFamily, head: str, biases: dict[str, bool], dtype: torch.dtype
) -> ComplexLlamaConfig:
    """Return the configuration of the complex network."""
    return ComplexLlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        num_key_value_heads=config.num_key_value_heads,
        head_dim=head_dim(config),
        hidden_act=ACTIVATIONS[hidden_act(config)],
        gate_product="parts",
        linear_type="widely_linear",
        norm_scale="stored",
        norm_position=family.norm_position,
        rms_norm_eps=config.rms_norm_eps,
        max_position_embeddings=config.max_position_embeddings,
        qk_norm=family.qk_norm,
        **biases,
        attention_scale=getattr(config, "query_pre_attn_scalar", head_dim(config)) ** -0.5,
        attention_probs_dropout_prob=config.attention_dropout or 0.0,
        hidden_dropout_prob=getattr(config, "resid_pdrop", 0.0),
        embedding_multiplier=math.sqrt(config.hidden_size) if family.is_gemma else 1.0,
        tie_word_embeddings=head == "ForCausalLM" and config.tie_word_embeddings,
        **_positions(config),
        **_limits(config, head),
        **_labels(config, head),
        lm_readout="concat",
        weight_init="normal",
        initializer_range=config.initializer_range,
        use_cache=config.use_cache,
        pad_token_id=config.pad_token_id,
        bos_token_id=config.bos_token_id,
        eos_token_id=config.eos_token_id,
        dtype=dtype,
    )


def _positions(config: PreTrainedConfig) -> dict[str, Any]:
    """Return the fields of rotary positions and sliding windows."""
    layer_types = sliding_layers(config)
    no_rope = getattr(config, "no_rope_layers", None)
    return {
        "rope_parameters": copy.deepcopy(config.rope_parameters),
        "no_rope_layers": None if no_rope is None else list(no_rope)[: config.num_hidden_layers],
        "layer_types": layer_types,
        "sliding_window": config.sliding_window if "sliding_attention" in layer_types else None,
    }


def _limits(config: PreTrainedConfig, head: str) -> dict[str, Any]:
    """Return the limits of attention scores and logits."""
    logits = getattr(config, "final_logit_softcapping", None) if head == "ForCausalLM" else None
    return {
        "attn_logit_softcapping": getattr(config, "attn_logit_softcapping", None),
        "final_logit_softcapping": logits,
    }


def _labels(config: PreTrainedConfig, head: str) -> dict[str, Any]:
    """Return the fields of a classification head, where there is one."""
    if not head.endswith("Classification"):
        return {}
    dropout = 0.0
    if head == "ForTokenClassification":
        given = (getattr(config, "classifier_dropout", None), getattr(config, "hidden_dropout", None))
        dropout = next((value for value in given if value is not None), 0.1)
    same = {name: getattr(config, name) for name in ("id2label", "label2id", "problem_type")}
    return {**same, "readout": "concat", "classifier_dropout": dropout}


def _orders(config: PreTrainedConfig, pairing: str | Sequence[int] | Tensor) -> dict[str, Tensor]:
    """Return where the features of each kind come from."""
    width, rotated = head_dim(config), rotary_dim(config)
    keys = config.num_key_value_heads or config.num_attention_heads
    return {
        "words": torch.arange(config.vocab_size),
        "labels": torch.arange(config.num_labels),
        "stream": pairing_order(pairing, config.hidden_size),
        "inner": torch.arange(config.intermediate_size),
        "head": halves_of_heads(1, width, rotated),
        "queries": halves_of_heads(config.num_attention_heads, width, rotated),
        "keys": halves_of_heads(keys, width, rotated),
    }


def _roles(
    config: PreTrainedConfig, family: DecoderFamily, head: str, biases: Mapping[str, bool]
) -> dict[str, tuple[str, ...]]:
    """Return every tensor of the real network and the kinds of features along its axes."""
    roles: dict[str, tuple[str, ...]] = {
        "model.embed_tokens.weight": ("words", "stream"),
        "model.norm.weight": ("stream",),
    }
    if head == "ForCausalLM" and not config.tie_word_embeddings:
        roles["lm_head.weight"] = ("words", "stream")
    if head.endswith("Classification"):
        roles["score.weight"] = ("labels", "stream")
    if head == "ForTokenClassification":
        roles["score.bias"] = ("labels",)
    norms = dict.fromkeys(filter(None, NORMS[family.norm_position]), "stream") | HEAD_NORMS[family.qk_norm]
    for index in range(config.num_hidden_layers):
        prefix = LAYER.format(index)
        roles |= {f"{prefix}{name}.weight": (features,) for name, features in norms.items()}
        for name, (rows, columns) in MATRICES.items():
            roles[f"{prefix}{name}.weight"] = (rows, columns)
            kind = "mlp_bias" if name.startswith("mlp") else "attention_bias"
            if biases["attention_output_bias" if name.endswith("o_proj") else kind]:
                roles[f"{prefix}{name}.bias"] = (rows,)
    return roles


def _lifted_state(
    weights: Mapping[str, Tensor], roles: Mapping[str, tuple[str, ...]], orders: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return the state dict of the complex network."""
    state: dict[str, Tensor] = {}
    for name, axes in roles.items():
        value = moved(weights[name], axes, orders)
        layer, _, leaf = name.rpartition(".")
        if leaf == "weight" and layer.partition(".layers.")[2].partition(".")[2] in MATRICES:
            state |= widely_linear_state(layer, value)
        else:
            state[HEADS.get(name, name)] = value
    return state


def _without_tied_head(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a network with a tied head, each once."""
    head, words = weights.get("lm_head.weight"), weights.get("model.embed_tokens.weight")
    if head is not None and words is not None and (head.shape != words.shape or not torch.equal(head, words)):
        raise ValueError(
            "tie_word_embeddings=True, but lm_head.weight and model.embed_tokens.weight are not the same: shapes "
            f"{tuple(head.shape)} and {tuple(words.shape)}; set tie_word_embeddings=False where both are meant"
        )
    return {name: value for name, value in weights.items() if name != "lm_head.weight"}
