# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Convert a Mamba-3 checkpoint of the official code into a ``ComplexMambaForCausalLM``.

    python -m complex_transformers.conversion.convert_mamba3_checkpoint --model mamba3-370m --output mamba3

It reads folders of ``MambaLMHeadModel`` (github.com/state-spaces/mamba) with ``layer: Mamba3`` in ``ssm_cfg``. Weights
of a single ``Mamba3`` module are converted by ``convert_mamba3_mixer_weights``. The module and ``nn.Mamba3Mixer`` have
the same names, shapes and order of ``in_proj``. They differ in these points:

- Without MIMO, the official kernels rotate elements 2j and 2j + 1 of B and C; with MIMO, elements j and j + N / 2, as
  we do. Without MIMO, B and C in ``in_proj``, their norms and their biases are therefore permuted.
- ``mlp.fc1`` computes the value first and the gate second; here they are two layers.
- Decays are softplus(a) in the code before June 2026, ``mamba-ssm`` 2.3.2 included, and heavy-tailed since then. The
  weights do not tell: pass ``A_activation``.
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

from ..models.complex_mamba.configuration_complex_mamba import ComplexMambaConfig
from ..models.complex_mamba.modeling_complex_mamba import ComplexMambaForCausalLM
from ..nn import Mamba3Mixer
from .checkpoint import check_output, read_checkpoint_folder, write_converted

__all__ = [
    "Mamba3Arguments",
    "convert_mamba3_checkpoint",
    "convert_mamba3_mixer_weights",
    "convert_mamba3_weights",
]

# Fields of ssm_cfg -> fields of ComplexMambaConfig, which has the same defaults.
MIXER_FIELDS = {
    "d_state": "state_size",
    "headdim": "head_dim",
    "expand": "expand",
    "ngroups": "n_groups",
    "rope_fraction": "rope_fraction",
    "dt_min": "time_step_min",
    "dt_max": "time_step_max",
    "dt_init_floor": "time_step_floor",
    "A_floor": "A_floor",
    "is_outproj_norm": "is_outproj_norm",
    "chunk_size": "chunk_size",
}
# Other fields that are read, and fields without an effect on the function.
READ = {"d_model", "d_intermediate", "n_layer", "vocab_size", "pad_vocab_size_multiple", "tie_embeddings"}
READ |= {"is_mimo", "mimo_rank"}
WITHOUT_EFFECT = {"attn_cfg", "residual_in_fp32", "fused_add_norm", "fuse_pregate_headwise_norm", "dropout"}
# Fields that make another network, and the values that can be converted.
SUPPORTED: dict[str, Any] = {"layer": "Mamba3", "rms_norm": True, "attn_layer_idx": []}
# Our names -> names of MambaLMHeadModel, replaced in this order.
NAMES = {
    "lm_head.projection.": "lm_head.",
    "model.embed_tokens.": "backbone.embedding.",
    "model.norm.": "backbone.norm_f.",
    "model.layers.": "backbone.layers.",
    "post_mixer_layernorm.": "norm2.",
    "input_layernorm.": "norm.",
    "mlp.up_proj.": "mlp.fc1.",
    "mlp.gate_proj.": "mlp.fc1.",
    "mlp.down_proj.": "mlp.fc2.",
}
PIECES = ("z", "x", "B", "C", "dt", "A", "trap", "angle")  # of in_proj


@dataclass
class Mamba3Arguments:
    """Command line options of the conversion."""

    model: str = field(metadata={"help": "folder with config.json and safetensors or pytorch_model.bin"})
    output: str = field(metadata={"help": "folder of the model, for from_pretrained"})
    A_activation: str = field(
        default="heavy_tail", metadata={"help": "softplus for weights of the official code before June 2026"}
    )
    source: str | None = field(default=None, metadata={"help": "name of the weights in the card"})
    license: str | None = field(default=None, metadata={"help": "of the weights; default the licence in their card"})


def convert_mamba3_mixer_weights(weights: Mapping[str, Tensor], mixer: Mamba3Mixer) -> dict[str, Tensor]:
    """Return the state dict of a mixer from the state dict of one official ``Mamba3`` module.

    Args:
        weights: state dict of the module.
        mixer: a mixer of the same sizes, which is not changed; ``mimo_rank`` is 1 unless the module has ``is_mimo``.

    Raises:
        ValueError: missing or unexpected tensors, or tensors of other shapes.
    """
    _check_shapes(weights, {name: tuple(value.shape) for name, value in mixer.state_dict().items()}, mixer)
    return dict(weights) if mixer.mimo_rank > 1 else _pairs_to_halves(weights, mixer)


def _pairs_to_halves(weights: Mapping[str, Tensor], mixer: Mamba3Mixer) -> dict[str, Tensor]:
    """Move the state elements 2j and 2j + 1 to j and j + N / 2."""
    order = torch.arange(mixer.state_size).view(-1, 2).T.flatten()
    state = dict(weights)
    for name in ("B_bias", "C_bias", "B_norm.weight", "C_norm.weight"):
        state[name] = weights[name][..., order]
    z, x, b, c, *others = weights["in_proj.weight"].split(mixer.split_sizes)
    b, c = (rows.unflatten(0, (-1, mixer.state_size))[:, order].flatten(0, 1) for rows in (b, c))
    state["in_proj.weight"] = torch.cat([z, x, b, c, *others])
    return state


def _check_shapes(weights: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]], mixer: Mamba3Mixer) -> None:
    """Raise unless the tensors are exactly the expected ones."""
    found = {name: tuple(value.shape) for name, value in weights.items()}
    wrong = [
        f"{name} ({found.get(name)} instead of {expected.get(name)})"
        for name in sorted(found.keys() | expected.keys(), key=lambda name: ("in_proj" not in name, name))
        if found.get(name) != expected.get(name)
    ]
    if wrong:
        split = ", ".join(f"{name} {size}" for name, size in zip(PIECES, mixer.split_sizes, strict=True))
        raise ValueError(
            f"weights must have the shapes of the configuration (in_proj: {split}), got {', '.join(wrong[:4])}; "
            f"{len(wrong)} differ. Check d_state, headdim, ngroups, rope_fraction and is_mimo."
        )


def convert_mamba3_weights(
    weights: Mapping[str, Tensor], settings: Mapping[str, Any], A_activation: str = "heavy_tail"
) -> tuple[ComplexMambaConfig, dict[str, Tensor]]:
    """Return the configuration and the state dict of a ``ComplexMambaForCausalLM``.

    Args:
        weights: state dict of ``MambaLMHeadModel``; a tied LM head may be missing.
        settings: its ``config.json``, fields of ``MambaConfig``.
        A_activation: see ``nn.Mamba3Mixer``; ``softplus`` for weights of the code before June 2026.

    Raises:
        KeyError: a size is missing in ``settings``.
        ValueError: another network, an unknown field; missing or unexpected tensors, or tensors of other shapes.
    """
    settings = {**settings, **settings.get("ssm_cfg", {})}
    settings = {name: value for name, value in settings.items() if name != "ssm_cfg" and value is not None}
    _check_settings(settings)
    weights = dict(weights)
    tied = settings.get("tie_embeddings", True)
    if tied and "backbone.embedding.weight" in weights:
        # The official code loads both names into one tensor, the LM head last.
        head = weights.setdefault("lm_head.weight", weights["backbone.embedding.weight"])
        weights["backbone.embedding.weight"] = head
    dtype = next((value.dtype for name, value in weights.items() if name.endswith("in_proj.weight")), None)
    config = _configuration(settings, tie_word_embeddings=tied, A_activation=A_activation, dtype=dtype)
    with torch.device("meta"):
        model = ComplexMambaForCausalLM(config)
    return config, _state(weights, model)


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Raise for fields that make another network, or that may do so."""
    unknown = settings.keys() - MIXER_FIELDS.keys() - READ - WITHOUT_EFFECT - SUPPORTED.keys()
    if unknown:
        raise ValueError(
            f"config.json must have known fields, got {', '.join(sorted(unknown))}. Remove fields without an effect."
        )
    for name, value in SUPPORTED.items():
        given = settings.get(name, "Mamba1" if name == "layer" else value)
        if given != value:
            raise ValueError(f"{name} must be {value!r}, got {given!r}. Other networks are not supported.")


def _configuration(settings: Mapping[str, Any], **fields: Any) -> ComplexMambaConfig:
    """Return the configuration of ``settings``, in which the fields of ``ssm_cfg`` are merged."""
    multiple = settings.get("pad_vocab_size_multiple", 8)
    inner = settings.get("d_intermediate", 0)
    return ComplexMambaConfig(
        vocab_size=-(-settings["vocab_size"] // multiple) * multiple,
        hidden_size=settings["d_model"],
        num_hidden_layers=settings["n_layer"],
        intermediate_size=-(-inner // 128) * 128 or None,
        mimo_rank=settings.get("mimo_rank", 4) if settings.get("is_mimo", False) else 1,
        **{ours: settings[theirs] for theirs, ours in MIXER_FIELDS.items() if theirs in settings},
        **fields,
    )


def _official_name(name: str) -> str:
    """Return the name of the tensor that holds one of our tensors."""
    for ours, theirs in NAMES.items():
        name = name.replace(ours, theirs)
    return name


def _official_shapes(model: ComplexMambaForCausalLM) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor of ``MambaLMHeadModel``."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, value in model.state_dict().items():
        official = _official_name(name)
        rows, *others = value.shape
        shapes[official] = (2 * rows if ".fc1." in official else rows, *others)
    return shapes


def _state(weights: Mapping[str, Tensor], model: ComplexMambaForCausalLM) -> dict[str, Tensor]:
    """Return the state dict of a model from the official tensors."""
    layers: Any = model.model.layers
    mixers = {f"model.layers.{index}.mixer.": layer.mixer for index, layer in enumerate(layers)}
    _check_shapes(weights, _official_shapes(model), mixers["model.layers.0.mixer."])
    state = {name: weights[_official_name(name)] for name in model.state_dict()}
    for name, value in state.items():
        if ".up_proj." in name or ".gate_proj." in name:
            state[name] = value.chunk(2)[".gate_proj." in name]
    for prefix, mixer in mixers.items():
        own = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
        state |= {prefix + name: value for name, value in convert_mamba3_mixer_weights(own, mixer).items()}
    return state


@torch.no_grad()
def convert_mamba3_checkpoint(
    model: str | Path,
    output: str | Path,
    A_activation: str = "heavy_tail",
    source: str | None = None,
    license: str | None = None,
) -> ComplexMambaForCausalLM:
    """Convert the weights in a folder and save the model with tokenizer and model card.

    Args:
        model: folder with ``config.json`` and safetensors or ``pytorch_model.bin``.
        output: another folder, for ``from_pretrained``.
        A_activation: see ``convert_mamba3_weights``.
        source: name of the weights in the card; default the name of the folder.
        license: licence identifier of the Hub; default the licence in the card, else ``unknown``.

    Returns:
        The model, in evaluation mode.

    Raises:
        OSError, KeyError, ValueError: a missing file, see ``convert_mamba3_weights``.
    """
    check_output(model, output)
    settings = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))
    read = read_checkpoint_folder(Path(model), "Mamba-3", settings)
    config, state = convert_mamba3_weights(read.weights, settings, A_activation)
    converted = ComplexMambaForCausalLM(config).to(config.dtype)
    converted.load_state_dict(state)
    write_converted(converted, read, output, source, license, "", "Same as the original model.")
    return converted.eval()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, see ``Mamba3Arguments``."""
    (given,) = HfArgumentParser(Mamba3Arguments).parse_args_into_dataclasses(arguments)
    converted = convert_mamba3_checkpoint(**asdict(given))
    cfg = converted.config
    settings = {name: getattr(cfg, name) for name in ("state_size", "mimo_rank", "rope_fraction", "A_activation")}
    listed = ", ".join(f"{name}={value}" for name, value in settings.items())
    print(f"{given.output}: {converted.num_parameters():,} parameters, {cfg.vocab_size} tokens; {listed}")


if __name__ == "__main__":
    main()
