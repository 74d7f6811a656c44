# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Which real decoders and encoders the lift takes; every other is refused by the name of what it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers import PreTrainedConfig

__all__ = ["ACTIVATIONS", "ENCODER_TYPES", "LIFTED_TYPES", "attention_biases", "check_liftable", "head_dim"]

ENCODER_TYPES = ("bert",)
LIFTED_TYPES = ("llama", "mistral", "qwen2", "qwen3", *ENCODER_TYPES)
# Activations of single numbers -> those of both parts of a number.
ACTIVATIONS = {"silu": "split_silu", "swish": "split_silu", "gelu": "split_gelu", "relu": "split_relu"}
# Rotary positions that pair feature 2k of a head with 2k + 1.
_INTERLEAVED = ("codegen", "cohere", "cohere2", "ernie4_5", "glm", "glm4", "gptj", "helium", "llama4_text")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


def head_dim(config: PreTrainedConfig) -> int:
    """Numbers of a head."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def check_liftable(config: PreTrainedConfig) -> None:
    """Raise unless the complex family has a network of this configuration.

    Raises:
        ValueError: another type of model, experts, interleaved rotary positions or such as are scaled or turn a part
            of a head, a sliding window in use, relative positions, a decoder of BERT, another activation, an odd
            width, quantised weights.
    """
    _check_type(config)
    if config.model_type in ENCODER_TYPES:
        _check_encoder(config)
    else:
        _check_window(config)
        _check_rotary(config)
    if config.hidden_act not in ACTIVATIONS:
        raise ValueError(f"hidden_act must be one of {sorted(ACTIVATIONS)} to be lifted, got {config.hidden_act!r}")
    for name in ("hidden_size", "intermediate_size"):
        if (width := getattr(config, name)) % 2:
            raise ValueError(f"{name}={width} is odd: pairs of real and imaginary parts need an even width")
    _check_quantization(config)


def _check_quantization(config: PreTrainedConfig) -> None:
    """Raise for weights that are no numbers."""
    quantization: Any = getattr(config, "quantization_config", None)
    method = quantization.get("quant_method") if isinstance(quantization, dict) else quantization
    method = getattr(method, "quant_method", method)
    if method is not None and str(getattr(method, "value", method)) != "gguf":  # which is read as numbers
        raise ValueError(
            f"the weights are quantised ({getattr(method, 'value', method)}), and sums of quantised weights have no "
            "such form: lift the model they were made from, or model.dequantize() first"
        )


def _check_encoder(config: PreTrainedConfig) -> None:
    """Raise for a BERT that is a decoder, has other positions, or heads that are no pairs."""
    for name in ("is_decoder", "add_cross_attention"):
        if getattr(config, name):
            raise ValueError(f"{name}=True makes a decoder of BERT, and only its encoder can be lifted")
    positions = getattr(config, "position_embedding_type", "absolute")  # of files before Transformers 5
    if positions != "absolute":
        raise ValueError(f"position_embedding_type={positions!r} is not supported, only 'absolute': a learned table")
    heads, width = config.num_attention_heads, config.hidden_size
    if width % heads or width // heads % 2:  # Transformers has no odd heads of Llama
        raise ValueError(
            f"{heads} heads of hidden_size={width} have no even width: pairs of real and imaginary parts need one"
        )


def _check_type(config: PreTrainedConfig) -> None:
    """Raise for other types of models, by the reason where it is known."""
    model_type = config.model_type
    if model_type in LIFTED_TYPES:
        return
    experts = next((name for name in _EXPERTS if getattr(config, name, None)), None)
    if experts is not None:
        reason = f"it has experts ({experts}={getattr(config, experts)})"
    elif model_type in _INTERLEAVED or getattr(config, "rope_interleave", False):
        reason = "its rotary positions are interleaved (feature 2k of a head with 2k + 1)"
    else:
        reason = "its layers are others"
    raise ValueError(f"a model of type {model_type!r} cannot be lifted: {reason}; those of {LIFTED_TYPES} can")


def _check_window(config: PreTrainedConfig) -> None:
    """Raise where a layer sees the last tokens alone."""
    window = getattr(config, "sliding_window", None)
    layers = getattr(config, "layer_types", None)
    if window is not None and (layers is None or "sliding_attention" in layers):
        raise ValueError(
            f"sliding_window={window} is in use, and the complex family sees all tokens before one: set "
            "sliding_window=None (of Qwen: use_sliding_window=False) in the configuration where no text is longer"
        )


def _check_rotary(config: PreTrainedConfig) -> None:
    """Raise for rotary positions other than the plain ones of whole heads."""
    rotary = config.rope_parameters
    if "rope_theta" not in rotary:
        raise ValueError(f"rope_parameters={rotary} differ between layers, which is not supported")
    if (rope_type := rotary.get("rope_type", "default")) != "default":
        raise ValueError(f"rotary positions of rope_type={rope_type!r} are not supported, only those of 'default'")
    if (part := rotary.get("partial_rotary_factor", 1.0)) != 1.0:
        raise ValueError(f"partial_rotary_factor={part} is not supported: every feature of a head turns")


def attention_biases(config: PreTrainedConfig, weights: Mapping[str, Tensor]) -> dict[str, bool]:
    """Which kinds of biases there are, as fields of the complex configuration.

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
    others = {name for name in weights if name.endswith(".bias")} ^ expected
    if others:
        raise ValueError(
            f"biases must be those of q, k and v together, of o, or of gate, up and down together, in all {layers} "
            f"layers; these are missing or of another kind: {', '.join(sorted(others))}"
        )
    return have
