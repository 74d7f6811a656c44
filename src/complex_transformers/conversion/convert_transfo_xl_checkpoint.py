# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Convert a Transformer-XL checkpoint (Dai et al., ACL 2019) into a real ``ComplexTransfoXLForCausalLM``.

    python -m complex_transformers.conversion.convert_transfo_xl_checkpoint \
        --checkpoint pytorch_model.bin --config_file config.json --output_dir transfo-xl

It reads state dicts of the authors' PyTorch release (``word_emb...``, ``layers...``, ``crit...``) and of the former
class ``TransfoXLLMHeadModel`` of Transformers (``transformer.word_emb...``). The releases differ from our model:

- They multiply embeddings by sqrt(d_model), and their tables may be narrow with a projection each. Our table holds the
  product. A tied head becomes a separate weight, since the head is not multiplied.
- The projection of the first cluster is multiplied out, and the projections of the tails are kept. All projections are
  multiplied out if the widths are not ``d_model // div_value ** i``.
- The authors' PyTorch code reads the logits of the tails in reverse order (tail i has column -i). Transformers and the
  authors' TensorFlow code read them in order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import HfArgumentParser

from ..models.complex_transfo_xl.configuration_complex_transfo_xl import ComplexTransfoXLConfig
from ..models.complex_transfo_xl.modeling_complex_transfo_xl import ComplexTransfoXLForCausalLM
from .checkpoint import check_output
from .files import read_weights
from .transfo_xl_release import LAYER, Release, count

__all__ = ["ConversionArguments", "convert_transfo_xl_checkpoint", "convert_transfo_xl_weights"]

# Settings of the authors' code that make another network, and the values that can be converted.
SUPPORTED: dict[str, tuple[Any, ...]] = {
    "attn_type": (0,),
    "pre_lnorm": (False,),
    "sample_softmax": (-1, 0),
    "ext_len": (0,),
}


@dataclass
class ConversionArguments:
    """Command line options of the conversion; they take precedence over ``config_file``."""

    checkpoint: str = field(metadata={"help": "the state dict: a file of torch.save, or .safetensors"})
    output_dir: str = field(metadata={"help": "folder of the model, for from_pretrained"})
    config_file: str | None = field(
        default=None, metadata={"help": "json: config.json of Transformers, or the arguments of the authors' train.py"}
    )
    mem_len: int | None = field(default=None, metadata={"help": "length of the memory; needed if not in config_file"})
    clamp_len: int | None = field(default=None, metadata={"help": "largest distance; -1 (default) does not clamp"})
    same_length: bool | None = field(default=None, metadata={"help": "the same context for all tokens; default false"})
    cutoffs: list[int] | None = field(
        default=None, metadata={"help": "of the adaptive softmax; found in the weights if div_val is not 1"}
    )
    tie_weight: bool | None = field(
        default=None, metadata={"help": "head weights that are missing in the checkpoint equal the embedding"}
    )


def convert_transfo_xl_weights(
    weights: Mapping[str, Tensor], settings: Mapping[str, Any]
) -> tuple[ComplexTransfoXLConfig, dict[str, Tensor]]:
    """Return the configuration and the state dict of a ``ComplexTransfoXLForCausalLM``.

    Args:
        weights: state dict of either release; a prefix ``module.`` is removed.
        settings: under the names of both releases; ``mem_len`` is required.

    Raises:
        ValueError: another network; missing or unexpected tensors, or tensors of other shapes; sizes in ``settings``
            that differ from the weights.
    """
    weights, of_transformers = _without_prefixes(weights)
    settings = {name: value for name, value in settings.items() if value is not None}
    for name, supported in SUPPORTED.items():
        if settings.get(name, supported[0]) not in supported:
            raise ValueError(f"{name} must be {supported[0]}, got {settings[name]}. Other networks are not supported.")
    _fill_in_tied(weights, settings)
    release = Release(weights, settings)
    release.check()
    if not of_transformers and release.tails:
        for name in ("crit.cluster_weight", "crit.cluster_bias"):
            weights[name] = weights[name].flip(0)
    config = ComplexTransfoXLConfig(
        number_field="real",
        embedding_type="word",
        vocab_size=sum(release.cluster_sizes),
        hidden_size=release.d_model,
        intermediate_size=release.d_inner,
        num_hidden_layers=release.num_layers,
        num_attention_heads=release.heads,
        hidden_dropout_prob=settings.get("dropout", 0.1),
        attention_probs_dropout_prob=settings.get("dropatt", 0.0),
        layer_norm_eps=settings.get("layer_norm_epsilon", 1e-5),
        mem_len=settings.get("mem_len", 0),
        clamp_len=settings["clamp_len"] if settings.get("clamp_len", -1) > 0 else None,
        same_length=settings.get("same_length", False),
        cutoffs=release.cutoffs,
        div_value=release.div_value(),
        eos_token_id=settings.get("eos_token_id"),
        dtype=weights[LAYER.format(0) + "dec_attn.r_net.weight"].dtype,
    )
    return config, {**_embedding(release), **_layers(release), **_head(release, config.div_value)}


def _without_prefixes(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], bool]:
    """Return the tensors under the authors' names, and whether they had the names of Transformers."""
    names = {name: name.removeprefix("module.") for name in weights}
    of_transformers = any(name.startswith("transformer.") for name in names.values())
    return {name.removeprefix("transformer."): weights[given] for given, name in names.items()}, of_transformers


def _fill_in_tied(weights: dict[str, Tensor], settings: Mapping[str, Any]) -> None:
    """Give tied tensors both names; some files hold them once."""
    pairs = []
    clusters = count(weights, r"(?:word_emb\.emb_layers|crit\.out_layers)\.(\d+)\.")
    if settings.get("tie_weight", settings.get("tie_word_embeddings", False)):
        pairs += [(f"word_emb.emb_layers.{i}.weight", f"crit.out_layers.{i}.weight") for i in range(clusters)]
    tie_projs = settings.get("tie_projs")
    if tie_projs is None and settings.get("proj_share_all_but_first"):
        tie_projs = [False] + [True] * len(settings.get("cutoffs", range(clusters - 1)))
    for i, tied in enumerate(tie_projs or ()):
        if tied:
            pairs.append((f"word_emb.emb_projs.{i if clusters > 1 else 0}", f"crit.out_projs.{i}"))
    for one, other in pairs:
        if (one in weights) != (other in weights):
            weights[one] = weights[other] = weights[one] if one in weights else weights[other]


def _product(table: Tensor, projection: Tensor | None, factor: float = 1.0) -> Tensor:
    """Return factor * table @ projection^T, computed in float64."""
    if projection is None and factor == 1.0:
        return table
    wide = table.double()
    return (factor * (wide if projection is None else wide @ projection.double().T)).to(table.dtype)


def _embedding(release: Release) -> dict[str, Tensor]:
    scale = math.sqrt(release.d_model)
    tables = release.rows("word_emb.emb_layers.{}.weight")
    pieces = [_product(table, release.projection("emb", i), scale) for i, table in enumerate(tables)]
    return {"model.embed_tokens.weight": torch.cat(pieces)}


def _layers(release: Release) -> dict[str, Tensor]:
    ours: dict[str, Tensor] = {}
    for index in range(release.num_layers):
        prefix = LAYER.format(index)
        layer_weights = {n.removeprefix(prefix): v for n, v in release.weights.items() if n.startswith(prefix)}
        bias = {
            n: layer_weights[f"dec_attn.{n}"] if release.biases_per_layer else release.weights[n]
            for n in ("r_w_bias", "r_r_bias")
        }
        query, key, value = layer_weights["dec_attn.qkv_net.weight"].chunk(3)
        layer = {
            "self_attn.q_proj.weight": query,
            "self_attn.k_proj.weight": key,
            "self_attn.v_proj.weight": value,
            "self_attn.r_proj.weight": layer_weights["dec_attn.r_net.weight"],
            "self_attn.out_proj.weight": layer_weights["dec_attn.o_net.weight"],
            "self_attn.content_bias": bias["r_w_bias"],
            "self_attn.position_bias": bias["r_r_bias"],
        }
        for end in ("weight", "bias"):
            layer[f"self_attn_norm.{end}"] = layer_weights[f"dec_attn.layer_norm.{end}"]
            layer[f"feed_forward_norm.{end}"] = layer_weights[f"pos_ff.layer_norm.{end}"]
            layer[f"feed_forward.up_proj.{end}"] = layer_weights[f"pos_ff.CoreNet.0.{end}"]
            layer[f"feed_forward.down_proj.{end}"] = layer_weights[f"pos_ff.CoreNet.3.{end}"]
        ours |= {f"model.{prefix}{name}": tensor for name, tensor in layer.items()}
    return ours


def _head(release: Release, div_value: int) -> dict[str, Tensor]:
    tables = release.rows("crit.out_layers.{}.weight")
    biases = release.rows("crit.out_layers.{}.bias")
    projections = [release.projection("out", i) for i in range(release.tails + 1)]
    ours: dict[str, Tensor] = {}
    if release.tails:
        ours["clusters.weight"] = _product(release.weights["crit.cluster_weight"], projections[0])
        ours["clusters.bias"] = release.weights["crit.cluster_bias"]
    if div_value == 1:
        ours["projection.weight"] = torch.cat([_product(*pair) for pair in zip(tables, projections, strict=True)])
        ours["projection.bias"] = torch.cat(list(biases))
    else:
        ours["projection.weight"] = _product(tables[0], projections[0])
        ours["projection.bias"] = biases[0]
        for index, (table, bias) in enumerate(zip(tables[1:], biases[1:], strict=True)):
            projection = projections[index + 1]
            assert projection is not None  # narrow tables have one
            ours[f"tails.{index}.0.weight"] = projection.T
            ours |= {f"tails.{index}.1.weight": table, f"tails.{index}.1.bias": bias}
    return {f"lm_head.{name}": tensor.contiguous() for name, tensor in ours.items()}


def convert_transfo_xl_checkpoint(
    checkpoint: str | Path, output_dir: str | Path, config_file: str | Path | None = None, **settings: Any
) -> ComplexTransfoXLForCausalLM:
    """Convert the weights in ``checkpoint`` and save the model in ``output_dir``.

    Args:
        checkpoint: file of a state dict, see ``read_weights``.
        output_dir: folder for ``from_pretrained``; neither the folder of ``checkpoint`` nor of ``config_file``.
        config_file: JSON file with settings.
        settings: take precedence over the file; see ``convert_transfo_xl_weights``.

    Returns:
        The model, in evaluation mode.

    Raises:
        OSError, ValueError: a missing file, see ``convert_transfo_xl_weights``; the output would overwrite the input.
    """
    for source in (checkpoint, config_file):
        if source is not None:
            check_output(Path(source).parent, output_dir)
    given = {} if config_file is None else json.loads(Path(config_file).read_text(encoding="utf-8"))
    given |= {name: value for name, value in settings.items() if value is not None}
    config, state = convert_transfo_xl_weights(read_weights(checkpoint), given)
    model = ComplexTransfoXLForCausalLM(config).to(config.dtype)
    model.load_state_dict(state)
    model.save_pretrained(output_dir)
    return model.eval()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, see ``ConversionArguments``."""
    (given,) = HfArgumentParser(ConversionArguments).parse_args_into_dataclasses(arguments)
    model = convert_transfo_xl_checkpoint(**asdict(given))
    cfg = model.config
    settings = {name: getattr(cfg, name) for name in ("mem_len", "clamp_len", "same_length", "cutoffs", "div_value")}
    listed = ", ".join(f"{name}={value}" for name, value in settings.items())
    print(f"{given.output_dir}: {model.num_parameters():,} parameters, {cfg.vocab_size} tokens; {listed}")


if __name__ == "__main__":
    main()
