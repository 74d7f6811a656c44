# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Which real decoders and encoders ``lift`` takes; every other one is rejected with the reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import PreTrainedConfig

from ..models.complex_llama.configuration_complex_llama import LAYER_TYPES, ROPE_TYPES

__all__ = [
    "ACTIVATIONS",
    "DECODERS",
    "ENCODER_TYPES",
    "LIFTED_TYPES",
    "DecoderFamily",
    "attention_biases",
    "check_liftable",
    "head_dim",
    "head_of",
    "hidden_act",
    "inner_size",
    "rotary_dim",
    "sliding_layers",
]


@dataclass(frozen=True)
class DecoderFamily:
    """How a decoder of Transformers differs from Llama where its configuration does not say so.

    Args:
        qk_norm, norm_position: see ``ComplexLlamaConfig``.
        fused: q, k and v are one matrix, gate and up another.
        is_gemma: gains of norms are 1 + weight, and word embeddings are multiplied by the root of their width.
    """

    qk_norm: bool | str = False
    norm_position: str = "pre"
    fused: bool = False
    is_gemma: bool = False


DECODERS = {
    "gemma2": DecoderFamily(norm_position="both", is_gemma=True),
    "gemma3_text": DecoderFamily(qk_norm=True, norm_position="both", is_gemma=True),
    "llama": DecoderFamily(),
    "mistral": DecoderFamily(),
    "olmo2": DecoderFamily(qk_norm="all_heads", norm_position="output"),
    "phi3": DecoderFamily(fused=True),
    "qwen2": DecoderFamily(),
    "qwen3": DecoderFamily(qk_norm=True),
    "smollm3": DecoderFamily(),
}
ENCODER_TYPES = ("bert", "camembert", "distilbert", "roberta", "xlm-roberta")
LIFTED_TYPES = (*DECODERS, *ENCODER_TYPES)
# Activations of real features -> those of the real and the imaginary part of a complex feature.
ACTIVATIONS = {
    "gelu": "split_gelu",
    "gelu_new": "split_gelu_tanh",
    "gelu_pytorch_tanh": "split_gelu_tanh",
    "relu": "split_relu",
    "silu": "split_silu",
    "swish": "split_silu",
}
# Rotary positions that pair feature 2k of a head with 2k + 1.
_INTERLEAVED = ("codegen", "cohere", "cohere2", "ernie4_5", "glm", "glm4", "gptj", "helium", "llama4_text")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


def head_of(network: str, heads: Collection[str]) -> str:
    """Return the head of a class of Transformers, the end of its name: ``ForCausalLM``, or ``Model`` for none.

    Raises:
        ValueError: a head that is not one of ``heads``.
    """
    head = next((head for head in heads if network.endswith(head)), None)
    if head is None or network.endswith("LMHeadModel"):
        raise ValueError(f"a {network} cannot be lifted, only classes whose names end in {', '.join(heads)}")
    return head


def head_dim(config: PreTrainedConfig) -> int:
    """Return the width of a head."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def inner_size(config: PreTrainedConfig) -> int:
    """Return the width of the feed-forward network."""
    return config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size


def hidden_act(config: PreTrainedConfig) -> str:
    """Return the activation of the feed-forward network."""
    names = ("hidden_activation", "activation", "hidden_act")
    return next(value for name in names if (value := getattr(config, name, None)) is not None)


def rotary_dim(config: PreTrainedConfig) -> int:
    """Return the number of features of a head that rotate; an odd share is rounded up, as Transformers does."""
    part = int(head_dim(config) * (config.rope_parameters or {}).get("partial_rotary_factor", 1.0))
    return part + part % 2


def sliding_layers(config: PreTrainedConfig) -> list[str]:
    """Return the type of each layer, ``full_attention`` or ``sliding_attention``."""
    if (given := getattr(config, "layer_types", None)) is not None:
        return list(given)
    kind = "full_attention" if getattr(config, "sliding_window", None) is None else "sliding_attention"
    return [kind] * config.num_hidden_layers


def check_liftable(config: PreTrainedConfig) -> None:
    """Raise unless the complex family has a network of this configuration.

    Raises:
        ValueError: another type of model, experts, interleaved rotary positions, an unknown type of layer or of rotary
            positions, attention to later tokens, relative positions, a decoder of BERT, another activation, an odd
            width, quantized weights.
    """
    _check_type(config)
    if config.model_type in ENCODER_TYPES:
        _check_encoder(config)
    else:
        _check_decoder(config)
    if (activation := hidden_act(config)) not in ACTIVATIONS:
        raise ValueError(f"hidden_act must be one of {sorted(ACTIVATIONS)} to be lifted, got {activation!r}")
    for name, width in (("hidden_size", config.hidden_size), ("intermediate_size", inner_size(config))):
        if width % 2:
            raise ValueError(f"{name} must be even, got {width}: features are lifted in pairs")
    _check_quantization(config)


def _check_quantization(config: PreTrainedConfig) -> None:
    """Raise for quantized weights."""
    quantization: Any = getattr(config, "quantization_config", None)
    method = quantization.get("quant_method") if isinstance(quantization, dict) else quantization
    method = getattr(method, "quant_method", method)
    if method is not None and str(getattr(method, "value", method)) != "gguf":  # which is read as numbers
        raise ValueError(
            f"weights must not be quantized, got {getattr(method, 'value', method)}; lift the original model, or call "
            "model.dequantize() first"
        )


def _check_encoder(config: PreTrainedConfig) -> None:
    """Raise for an encoder that is used as a decoder, has relative positions, or heads of odd width."""
    for name in ("is_decoder", "add_cross_attention"):
        if getattr(config, name, False):
            raise ValueError(f"{name}=True makes a decoder of {config.model_type}, and only its encoder can be lifted")
    positions = getattr(config, "position_embedding_type", "absolute")  # of files before Transformers 5
    if positions != "absolute":
        raise ValueError(f"position_embedding_type must be 'absolute' to be lifted, got {positions!r}")
    heads, width = config.num_attention_heads, config.hidden_size
    if width % heads or width // heads % 2:  # Transformers has no odd heads of Llama
        raise ValueError(f"the width of a head must be even, got {heads} heads of hidden_size={width}")


def _check_type(config: PreTrainedConfig) -> None:
    """Raise for other types of models, with the reason where it is known."""
    model_type = config.model_type
    if model_type in LIFTED_TYPES:
        return
    experts = next((name for name in _EXPERTS if getattr(config, name, None)), None)
    if experts is not None:
        reason = f"it has experts ({experts}={getattr(config, experts)})"
    elif model_type in _INTERLEAVED or getattr(config, "rope_interleave", False):
        reason = "its rotary positions are interleaved (feature 2k of a head with 2k + 1)"
    elif getattr(config, "vision_config", None) is not None:
        reason = "it reads images; lift its text model alone"
    else:
        reason = "its layers are others"
    raise ValueError(f"a model of type {model_type!r} cannot be lifted: {reason}; supported are {LIFTED_TYPES}")


def _check_decoder(config: PreTrainedConfig) -> None:
    """Raise for types of layers and of rotary positions that the complex family does not have."""
    if getattr(config, "use_bidirectional_attention", False):
        raise ValueError("use_bidirectional_attention=True cannot be lifted: the complex decoder is causal")
    if others := sorted(set(sliding_layers(config)) - set(LAYER_TYPES)):
        raise ValueError(f"layer_types must be of {LAYER_TYPES} to be lifted, got {others}")
    given = config.rope_parameters or {}
    nested = config.nested_rope_parameter_keys(given)
    for parameters in [given[key] for key in nested] or [given]:
        if (rope_type := (parameters or {}).get("rope_type")) not in ROPE_TYPES:
            raise ValueError(f"rope_type must be one of {ROPE_TYPES} to be lifted, got {rope_type!r}")


def attention_biases(config: PreTrainedConfig, weights: Mapping[str, Tensor]) -> dict[str, bool]:
    """Return which kinds of biases there are, as fields of the complex configuration.

    Raises:
        ValueError: a bias that the family does not have, or not in all layers.
    """
    layers = config.num_hidden_layers
    found = {name.partition(".layers.")[2].partition(".")[2] for name in weights if name.endswith(".bias")}
    kinds = {
        "attention_bias": ("self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"),
        "attention_output_bias": ("self_attn.o_proj.bias",),
        "mlp_bias": ("mlp.gate_proj.bias", "mlp.up_proj.bias", "mlp.down_proj.bias"),
    }
    have = {kind: not found.isdisjoint(names) for kind, names in kinds.items()}
    expected = {
        f"model.layers.{i}.{name}"
        for kind, names in kinds.items()
        if have[kind]
        for name in names
        for i in range(layers)
    }
    others = {name for name in weights if name.endswith(".bias") and name != "score.bias"} ^ expected
    if others:
        raise ValueError(
            f"biases must be those of q, k and v together, of o, or of gate, up and down together, in all {layers} "
            f"layers; these are missing or of another kind: {', '.join(sorted(others))}"
        )
    return have
