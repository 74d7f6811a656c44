# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Convert an iFairy checkpoint (Wang et al. 2025, arXiv:2508.05571) into a ``ComplexLlamaForCausalLM``.

    python -m complex_transformers.conversion.convert_ifairy_checkpoint --model ifairy-700m --output ifairy

iFairy is a complex decoder with layers W conj(z), norms before ``o_proj`` and ``down_proj``, the gate conj(a) u of
squared parts, and a real LM head on ``[real | imag]``. Its files hold master weights. The network computes with
weights rounded to {s, -s, i s', -i s'} (``nn.round_to_units``, one stage, one pair of scales per tensor) and with
activations rounded to 8 bits per token and part (``activation_bits``). Each rounding can be switched off here.
"""

from __future__ import annotations

import json
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
from .checkpoint import check_output, read_checkpoint_folder, write_converted

__all__ = ["IFairyArguments", "convert_ifairy_checkpoint", "convert_ifairy_weights"]

LEAST_SCALE = 1e-5
MATRICES = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    *("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
)
# Norms of iFairy -> norms of ComplexLlama.
NORMS = {
    "pre_layernorm": "input_layernorm",
    "post_layernorm": "post_attention_layernorm",
    "self_attn.attn_layernorm": "self_attn.sub_norm",
    "mlp.ffn_layernorm": "mlp.sub_norm",
}


@dataclass
class IFairyArguments:
    """Command line options of the conversion."""

    model: str = field(metadata={"help": "folder with config.json and safetensors"})
    output: str = field(metadata={"help": "folder of the model, for from_pretrained"})
    round_weights: bool = field(
        default=True, metadata={"help": "round the weights as the network does; false keeps the master weights"}
    )
    activation_bits: int | None = field(default=8, metadata={"help": "bits of the activations; 0 does not round them"})
    source: str | None = field(default=None, metadata={"help": "name of the weights in the card"})
    license: str | None = field(default=None, metadata={"help": "of the weights; default the licence in their card"})


@torch.no_grad()
def convert_ifairy_weights(
    weights: Mapping[str, Tensor],
    settings: Mapping[str, Any],
    round_weights: bool = True,
    activation_bits: int | None = 8,
) -> tuple[ComplexLlamaConfig, dict[str, Tensor]]:
    """Return the configuration and the state dict of a ``ComplexLlamaForCausalLM``.

    Args:
        weights: state dict of iFairy.
        settings: its ``config.json``; sizes count complex features.
        round_weights: round the weights as the network does; otherwise keep the master weights.
        activation_bits: bits of the activations; None or 0 does not round them.

    Raises:
        KeyError: a missing size or tensor. Unexpected tensors are returned, and ``load_state_dict`` rejects them.
        ValueError: scaled rotary positions; sizes that ``ComplexLlamaConfig`` rejects.
    """
    rope_theta = _rope_theta(settings)
    weights = {
        name: value.float() if value.element_size() < 4 else value
        for name, value in weights.items()
        if not name.endswith("rotary_emb.inv_freq")  # computed from the configuration
    }
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
        position_type="rotary",
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


def _rope_theta(settings: Mapping[str, Any]) -> float:
    """Return the base of the rotary frequencies, which Transformers 4 and 5 store in different fields."""
    rotary = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    if (kind := rotary.get("rope_type", rotary.get("type", "default"))) != "default":
        raise ValueError(f"rope_type must be 'default' for iFairy, got {kind!r}.")
    return rotary.get("rope_theta", settings.get("rope_theta", 10000.0))


def _state(weights: dict[str, Tensor], num_layers: int, round_weights: bool) -> dict[str, Tensor]:
    """Return the state dict of the complex model, with all tensors that it has no use for."""

    def both(name: str) -> tuple[Tensor, Tensor]:
        return weights.pop(name.format("real")), weights.pop(name.format("imag"))

    state = {
        "model.embed_tokens.weight": torch.cat(both("token_embeddings_{}.weight"), dim=1),
        "model.norm.weight": torch.cat(both("final_norm.weight_{}")),
        "lm_head.projection.weight": weights.pop("lm_head.weight"),
    }
    for index in range(num_layers):
        theirs, ours = f"layer.{index}.", f"model.layers.{index}."
        for name, norm in NORMS.items():
            state[f"{ours}{norm}.weight"] = torch.cat(both(f"{theirs}{name}.weight_{{}}"))
        for name in MATRICES:
            parts = both(f"{theirs}{name}.weight_{{}}")
            if round_weights:
                parts = round_to_units(*parts, least_scale=LEAST_SCALE)
            for part, value in zip(("real", "imag"), parts, strict=True):
                state[f"{ours}{name}.{part}.weight"] = value
    return state | weights


def convert_ifairy_checkpoint(
    model: str | Path,
    output: str | Path,
    round_weights: bool = True,
    activation_bits: int | None = 8,
    source: str | None = None,
    license: str | None = None,
) -> ComplexLlamaForCausalLM:
    """Convert the weights in a folder and save the model with tokenizer and model card.

    Args:
        model: folder with ``config.json`` and safetensors.
        output: another folder, for ``from_pretrained``.
        round_weights, activation_bits: see ``convert_ifairy_weights``.
        source: name of the weights in the card; default the name of the folder.
        license: licence identifier of the Hub; default the licence in the card, else ``unknown``.

    Returns:
        The model, in evaluation mode.

    Raises:
        OSError, KeyError, ValueError: a missing file, see ``convert_ifairy_weights``.
        RuntimeError: unexpected tensors, or tensors of other shapes.
    """
    check_output(model, output)
    settings = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))
    read = read_checkpoint_folder(Path(model), "iFairy", settings)
    config, state = convert_ifairy_weights(read.weights, settings, round_weights, activation_bits)
    converted = ComplexLlamaForCausalLM(config).to(config.dtype)
    converted.load_state_dict(state)
    note = f"They are {'rounded to scaled units' if round_weights else 'unrounded master weights'}."
    write_converted(converted, read, output, source, license, note, "Same as the original model.")
    return converted.eval()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, see ``IFairyArguments``."""
    (given,) = HfArgumentParser(IFairyArguments).parse_args_into_dataclasses(arguments)
    converted = convert_ifairy_checkpoint(**asdict(given))
    sizes = f"{converted.num_parameters():,} parameters, {converted.config.complex_size} complex features"
    print(f"{given.output}: {sizes}")


if __name__ == "__main__":
    main()
