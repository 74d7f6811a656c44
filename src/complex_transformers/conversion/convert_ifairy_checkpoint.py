# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Weights of iFairy (Wang et al. 2025, arXiv:2508.05571) as a ``ComplexLlamaForCausalLM``.

    python -m complex_transformers.conversion.convert_ifairy_checkpoint --model ifairy-700m --output ifairy

iFairy is a complex decoder of layers W conj(z), with a norm before ``o_proj`` and ``down_proj``, the gate conj(a) u of
squared parts, and a real head on ``[real | imag]``. Its files hold master weights; the network computes with weights
rounded to {s, -s, i s', -i s'} (``nn.round_to_units``, one stage, one pair of scales for each tensor) and features
rounded to 8 bits for each token and part (``activation_bits``). Both are kept, or either left out, here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import HfArgumentParser

from ..models.complex_llama.configuration_complex_llama import ComplexLlamaConfig
from ..models.complex_llama.modeling_complex_llama import ComplexLlamaForCausalLM
from ..nn import round_to_units
from ..nn.attention.rotary import check_rope_theta
from .checkpoint import check_output, read_checkpoint_folder, write_converted
from .files import check_names, check_numbers, check_shapes, read_json

__all__ = ["IFairyArguments", "convert_ifairy_checkpoint", "convert_ifairy_weights"]

LEAST_SCALE = 1e-5
SIZES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
# Their layers and norms -> ours, and the features of rows and columns.
MATRICES = {
    "self_attn.q_proj": ("heads", "stream"),
    "self_attn.k_proj": ("key_heads", "stream"),
    "self_attn.v_proj": ("key_heads", "stream"),
    "self_attn.o_proj": ("stream", "heads"),
    "mlp.gate_proj": ("inner", "stream"),
    "mlp.up_proj": ("inner", "stream"),
    "mlp.down_proj": ("stream", "inner"),
}
NORMS = {
    "pre_layernorm": ("input_layernorm", "stream"),
    "post_layernorm": ("post_attention_layernorm", "stream"),
    "self_attn.attn_layernorm": ("self_attn.sub_norm", "heads"),
    "mlp.ffn_layernorm": ("mlp.sub_norm", "inner"),
}
# Of every attention layer, whether or not they were saved: they follow from the configuration.
COMPUTED = ("rotary_emb.inv_freq",)


@dataclass
class IFairyArguments:
    """What is converted, and what its files do not say."""

    model: str = field(metadata={"help": "folder with config.json and safetensors"})
    output: str = field(metadata={"help": "folder of the model, for from_pretrained"})
    round_weights: bool = field(
        default=True, metadata={"help": "as the network computes; false: master weights, for training"}
    )
    activation_bits: int | None = field(
        default=8, metadata={"help": "as the network computes; 0: features are not rounded"}
    )
    source: str | None = field(default=None, metadata={"help": "what the card calls the weights"})
    license: str | None = field(default=None, metadata={"help": "of the weights; default what their card says"})


@torch.no_grad()
def convert_ifairy_weights(
    weights: Mapping[str, Tensor],
    settings: Mapping[str, Any],
    round_weights: bool = True,
    activation_bits: int | None = 8,
) -> tuple[ComplexLlamaConfig, dict[str, Tensor]]:
    """Configuration and state dict of a ``ComplexLlamaForCausalLM``.

    Args:
        weights: tensors of iFairy by name.
        settings: of its ``config.json``; sizes count complex features.
        round_weights: as the network computes; master weights otherwise.
        activation_bits: of the features that layers read; None or 0 for features as they are.

    Raises:
        ValueError: settings without a size, heads that do not divide the features, scaled rotary positions, tensors
            that are missing, of no use or of other shapes than these say.
    """
    _check_sizes(settings)
    rope_theta = _rope_theta(settings)
    weights = {name: value for name, value in weights.items() if not name.endswith(COMPUTED)}
    check_numbers(weights)
    weights = {name: value.float() if value.element_size() < 4 else value for name, value in weights.items()}
    shapes = _shapes(settings)
    check_names(weights, shapes, "an iFairy of these settings", "Give the files of one release")
    check_shapes(weights, shapes)
    config = ComplexLlamaConfig(
        vocab_size=settings["vocab_size"],
        hidden_size=2 * settings["hidden_size"],
        intermediate_size=2 * settings["intermediate_size"],
        num_hidden_layers=settings["num_hidden_layers"],
        num_attention_heads=settings["num_attention_heads"],
        num_key_value_heads=settings.get("num_key_value_heads"),
        hidden_act="relu2",
        gate_product="conj",
        linear_type="conjugate",
        sub_norms=True,
        activation_bits=activation_bits or None,
        rms_norm_eps=settings.get("rms_norm_eps", 1e-6),
        attention_probs_dropout_prob=settings.get("attention_dropout") or 0.0,
        rope_parameters={"rope_type": "default", "rope_theta": rope_theta},
        weight_init="normal",
        initializer_range=settings.get("initializer_range", 0.02),
        max_position_embeddings=settings.get("max_position_embeddings", 2048),
        pad_token_id=settings.get("pad_token_id"),
        bos_token_id=settings.get("bos_token_id"),
        eos_token_id=settings.get("eos_token_id"),
        dtype=weights["lm_head.weight"].dtype,
    )
    return config, _state(weights, settings["num_hidden_layers"], round_weights)


def _check_sizes(settings: Mapping[str, Any]) -> None:
    """Raise unless all sizes are there, and heads divide the features."""
    if absent := [name for name in SIZES if type(settings.get(name)) is not int or settings[name] < 1]:
        raise ValueError(f"the configuration must state these sizes as positive whole numbers: {', '.join(absent)}")
    features, heads = settings["hidden_size"], settings["num_attention_heads"]
    if features % heads:
        raise ValueError(f"num_attention_heads={heads} do not divide hidden_size={features}, the complex features")


def _rope_theta(settings: Mapping[str, Any]) -> float:
    """The base of the rotary angles, where Transformers 4 or 5 writes it."""
    rotary = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    if (kind := rotary.get("rope_type", rotary.get("type", "default"))) != "default":
        raise ValueError(f"rotary positions of rope_type={kind!r} are not supported, only those of 'default'")
    rope_theta = rotary.get("rope_theta", settings.get("rope_theta", 10000.0))
    check_rope_theta(rope_theta)
    return float(rope_theta)


def _shapes(settings: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Every tensor and its shape."""
    stream, words, heads = (settings[name] for name in ("hidden_size", "vocab_size", "num_attention_heads"))
    keys = settings.get("num_key_value_heads") or heads
    sizes = {
        "stream": stream,
        "inner": settings["intermediate_size"],
        "heads": heads * (stream // heads),
        "key_heads": keys * (stream // heads),
    }
    shapes: dict[str, tuple[int, ...]] = {"lm_head.weight": (words, 2 * stream)}
    for part in ("real", "imag"):
        shapes[f"token_embeddings_{part}.weight"] = (words, stream)
        shapes[f"final_norm.weight_{part}"] = (stream,)
        for index in range(settings["num_hidden_layers"]):
            prefix = f"layer.{index}."
            for name, (rows, columns) in MATRICES.items():
                shapes[f"{prefix}{name}.weight_{part}"] = (sizes[rows], sizes[columns])
            for name, (_, features) in NORMS.items():
                shapes[f"{prefix}{name}.weight_{part}"] = (sizes[features],)
    return shapes


def _state(weights: Mapping[str, Tensor], num_layers: int, round_weights: bool) -> dict[str, Tensor]:
    """The state dict of our network."""

    def both(name: str) -> tuple[Tensor, Tensor]:
        return weights[name.format("real")], weights[name.format("imag")]

    state = {
        "model.embed_tokens.weight": torch.cat(both("token_embeddings_{}.weight"), dim=1),
        "model.norm.weight": torch.cat(both("final_norm.weight_{}")),
        "lm_head.projection.weight": weights["lm_head.weight"],
    }
    for index in range(num_layers):
        theirs, ours = f"layer.{index}.", f"model.layers.{index}."
        for name, (norm, _) in NORMS.items():
            state[f"{ours}{norm}.weight"] = torch.cat(both(f"{theirs}{name}.weight_{{}}"))
        for name in MATRICES:
            parts = both(f"{theirs}{name}.weight_{{}}")
            if round_weights:
                parts = round_to_units(*parts, least_scale=LEAST_SCALE)
            for part, value in zip(("real", "imag"), parts, strict=True):
                state[f"{ours}{name}.{part}.weight"] = value
    return state


def convert_ifairy_checkpoint(
    model: str | Path,
    output: str | Path,
    round_weights: bool = True,
    activation_bits: int | None = 8,
    source: str | None = None,
    license: str | None = None,
) -> ComplexLlamaForCausalLM:
    """Convert the weights in a folder and save the model with tokenizer and card; it is returned in evaluation mode.

    Args:
        model: folder with ``config.json`` and safetensors.
        output: folder for ``from_pretrained``, another one.
        round_weights, activation_bits: see ``convert_ifairy_weights``.
        source: what the card calls the weights; default the name of the folder.
        license: of the weights, under its name on the Hub; default what their card says, else ``unknown``.

    Raises:
        FileNotFoundError, ValueError: see ``convert_ifairy_weights``; a file that is missing or damaged, by its name.
    """
    check_output(model, output)
    settings = read_json(Path(model) / "config.json", "configuration")
    read = read_checkpoint_folder(Path(model), "iFairy", settings)
    config, state = convert_ifairy_weights(read.weights, settings, round_weights, activation_bits)
    converted = ComplexLlamaForCausalLM(config).to(config.dtype)
    converted.load_state_dict(state)
    note = f"They are {'rounded to scaled units' if round_weights else 'master weights, which are not rounded'}."
    write_converted(converted, read, output, source, license, note, "Those of the original.")
    return converted.eval()


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: see ``IFairyArguments``."""
    (given,) = HfArgumentParser(IFairyArguments).parse_args_into_dataclasses(arguments)
    converted = convert_ifairy_checkpoint(**asdict(given))
    sizes = f"{converted.num_parameters():,} parameters, {converted.config.complex_size} complex features"
    print(f"{given.output}: {sizes}")


if __name__ == "__main__":
    main()
