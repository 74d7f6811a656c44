# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
r"""Weights of Transformer-XL (Dai et al., ACL 2019) as a real ``ComplexTransfoXLForCausalLM``.

    python -m complex_transformers.conversion.convert_transfo_xl_checkpoint \
        --checkpoint pytorch_model.bin --config_file config.json --output_dir transfo-xl

It reads state dicts of the authors' PyTorch release (``word_emb...``, ``layers...``, ``crit...``) and of the class
``TransfoXLLMHeadModel`` that Transformers once had (``transformer.word_emb...``). What differs there:

- Words are multiplied by sqrt(d_model), and their tables may be narrow with a projection each: one table holds the
  product. A tied head is a weight of its own, since it is not multiplied.
- The projection of the first cluster is multiplied out, those of the tails are kept; all are where widths are not
  ``d_model // div_value ** i``.
- The authors' PyTorch code takes the logits of the tails in reverse order (tail i has column -i), Transformers and the
  authors' TensorFlow code in order.
"""

from __future__ import annotations

import json
import math
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers import HfArgumentParser

from ..models.complex_transfo_xl.configuration_complex_transfo_xl import ComplexTransfoXLConfig
from ..models.complex_transfo_xl.modeling_complex_transfo_xl import ComplexTransfoXLForCausalLM

__all__ = ["ConversionArguments", "convert_transfo_xl_checkpoint", "convert_transfo_xl_weights", "read_weights"]

_LAYER = "layers.{}."
_Shapes = dict[str, tuple[int, ...]]
_HOW_TO_SAVE = (
    'write its weights where it can be loaded: torch.save(torch.load("model.pt").state_dict(), "weights.pt"), in the '
    "environment it was made in and only if you trust the file"
)


@dataclass
class ConversionArguments:
    """Files, and what weights do not say; a value given here comes before that of ``config_file``."""

    checkpoint: str = field(metadata={"help": "the state dict: a file of torch.save, or .safetensors"})
    output_dir: str = field(metadata={"help": "folder of the model, for from_pretrained"})
    config_file: str | None = field(
        default=None, metadata={"help": "json: config.json of Transformers, or the arguments of the authors' train.py"}
    )
    mem_len: int | None = field(default=None, metadata={"help": "length of the memory; needed if not in config_file"})
    clamp_len: int | None = field(default=None, metadata={"help": "-1 (default) for distances as they are"})
    same_length: bool | None = field(default=None, metadata={"help": "the same context for all tokens; default false"})
    cutoffs: list[int] | None = field(
        default=None, metadata={"help": "of the adaptive softmax; found in the weights where div_val is not 1"}
    )
    div_val: int | None = field(default=None, metadata={"help": "compared with the weights"})
    tie_weight: bool | None = field(
        default=None, metadata={"help": "head weights that are not in the checkpoint are those of the words"}
    )


def read_weights(path: str | Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint by name, without running code that it may hold.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a damaged file, a pickled object other than tensors by name.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint at {path}; give the file of the state dict itself")
    damaged = f"{path} is damaged or not complete ({path.stat().st_size} bytes); get it again"
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except SafetensorError as error:
            raise ValueError(f"{damaged}: {error}") from error
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # any: the file is not known to be one of torch at all
        if not isinstance(error, pickle.UnpicklingError) or "global" not in str(error).lower():
            raise ValueError(f"{damaged}, or it is no file of torch.save") from error
        raise ValueError(
            f"{path} holds more than tensors, and to unpickle it would run code of its maker. If it is a whole module "
            f"(model.pt of the authors' train.py), {_HOW_TO_SAVE}"
        ) from error
    wrong = (
        weights
        if not isinstance(weights, Mapping)
        else next((value for value in weights.values() if not isinstance(value, Tensor)), None)
    )
    if wrong is not None:
        what = f", its keys are {sorted(map(str, weights))[:10]}" if isinstance(weights, Mapping) else ""
        raise ValueError(
            f"{path} must hold tensors by name, it holds a {type(wrong).__name__}{what}; save the state dict itself"
        )
    return dict(weights)


def convert_transfo_xl_weights(
    weights: Mapping[str, Tensor], settings: Mapping[str, Any]
) -> tuple[ComplexTransfoXLConfig, dict[str, Tensor]]:
    """Configuration and state dict of a ``ComplexTransfoXLForCausalLM``.

    Args:
        weights: of either release; a prefix ``module.`` is left out.
        settings: under the names that both releases have: ``mem_len`` must be there, all others may be.

    Raises:
        ValueError: another network, tensors that are missing, of no use, twice there or of other shapes than the rest
            says.
    """
    weights, of_transformers = _without_prefixes(weights)
    settings = {name: value for name, value in settings.items() if value is not None}
    _refuse_other_networks(weights, settings)
    _fill_in_tied(weights, settings)
    release = _Release(weights, settings)
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
        mem_len=release.mem_len,
        clamp_len=settings["clamp_len"] if settings.get("clamp_len", -1) > 0 else None,
        same_length=bool(settings.get("same_length", False)),
        cutoffs=release.cutoffs,
        div_value=release.div_value(),
        eos_token_id=settings.get("eos_token_id"),
        dtype=weights[_LAYER.format(0) + "dec_attn.r_net.weight"].dtype,
    )
    return config, {**_words(release), **_layers(release), **_head(release, config.div_value)}


def _without_prefixes(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], bool]:
    """The tensors under the names of the authors' release, and whether they had those of Transformers."""
    names: dict[str, list[str]] = {}
    for name in weights:
        names.setdefault(name.removeprefix("module.").removeprefix("transformer."), []).append(name)
    if double := [" and ".join(given) for given in names.values() if len(given) > 1]:
        raise ValueError(
            f"without the prefixes module. and transformer. these have one name: {'; '.join(double)}; keep one of each"
        )
    of_transformers = any(name.removeprefix("module.").startswith("transformer.") for name in weights)
    return {name: weights[given] for name, (given,) in names.items()}, of_transformers


def _refuse_other_networks(weights: Mapping[str, Tensor], settings: Mapping[str, Any]) -> None:
    """Raise for networks of the authors' code that are not that of their paper, or not ours."""
    attn_type = settings.get("attn_type", 0)
    if attn_type != 0 or any(re.search(r"^r_emb$|^r_bias$|dec_attn\.kv_net", name) for name in weights):
        raise ValueError(
            f"attn_type must be 0, the relative attention of Transformer-XL, got "
            f"{attn_type if attn_type else 'weights of another (r_emb, r_bias or kv_net)'}; the others are not here"
        )
    if settings.get("pre_lnorm", False):
        raise ValueError(
            "pre_lnorm=True is another network: it has no norm after its last layer, and norm_position='pre' has one "
            "here; only weights of pre_lnorm=False can be converted"
        )
    if settings.get("sample_softmax", -1) > 0 or any(name.startswith("out_layer.") for name in weights):
        raise ValueError("a sampled softmax (sample_softmax, out_layer) is not here; only crit can be converted")
    if settings.get("ext_len", 0) != 0:
        raise ValueError(f"ext_len must be 0, got {settings['ext_len']}: an extended context is not here")


def _fill_in_tied(weights: dict[str, Tensor], settings: Mapping[str, Any]) -> None:
    """Give tied tensors both their names: some files hold them once."""
    pairs = []
    clusters = _count(weights, r"(?:word_emb\.emb_layers|crit\.out_layers)\.(\d+)\.")
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


def _count(names: Mapping[str, Tensor], pattern: str) -> int:
    """One more than the highest number that stands in a name, at least 1."""
    return max((int(found[1]) + 1 for name in names if (found := re.match(pattern, name))), default=1)


class _Release:
    """The sizes of a network, read off its weights."""

    def __init__(self, weights: dict[str, Tensor], settings: Mapping[str, Any]) -> None:
        self.weights = weights
        self.settings = {**settings, "cutoffs": list(settings["cutoffs"])} if "cutoffs" in settings else settings
        first = _LAYER.format(0)
        self.num_layers = _count(weights, r"layers\.(\d+)\.")
        self.d_model = self._size(f"{first}dec_attn.r_net.weight", 1)
        self.d_inner = self._size(f"{first}pos_ff.CoreNet.0.weight", 0)
        # One pair of biases for all layers, or one for each.
        self.own_biases = any(re.match(r"layers\.\d+\.dec_attn\.r_[wr]_bias", name) for name in weights)
        bias = f"{first}dec_attn.r_w_bias" if self.own_biases else "r_w_bias"
        self.heads, self.d_head = self._size(bias, 0), self._size(bias, 1)
        # Tables of words: one for all clusters (div_val 1), or one for each.
        tables = _count(weights, r"(?:word_emb\.emb_layers|crit\.out_layers)\.(\d+)\.")
        rows = [self._size(f"word_emb.emb_layers.{i}.weight", 0) for i in range(tables)]
        self.widths = [self._size(f"word_emb.emb_layers.{i}.weight", 1) for i in range(tables)]
        self.cutoffs = list(accumulate(rows))[:-1] if tables > 1 else self.settings.get("cutoffs", [])
        self.tails = len(self.cutoffs)
        self.cluster_sizes = [end - start for start, end in pairwise([0, *self.cutoffs, sum(rows)])]
        projections = any(name.startswith(("word_emb.emb_projs.", "crit.out_projs.")) for name in weights)
        self.projected = projections or tables > 1 or self.widths[0] != self.d_model

    @property
    def mem_len(self) -> int:
        """From the settings, since the weights do not say it."""
        value = self.settings.get("mem_len")
        if not value or value < 1:
            raise ValueError(
                f"mem_len must be 1 or more, got {value}: the weights do not say how long a memory is; give the one "
                "to evaluate with, for instance --mem_len 1600"
            )
        return int(value)

    def _size(self, name: str, axis: int) -> int:
        tensor = self.weights.get(name)
        return 0 if tensor is None or tensor.dim() <= axis else tensor.shape[axis]

    def shapes(self) -> _Shapes:
        """Every tensor and its shape."""
        d, inner, attended = self.d_model, self.d_inner, self.heads * self.d_head
        biases: _Shapes = {f"{prefix}_bias": (self.heads, self.d_head) for prefix in ("r_w", "r_r")}
        layer: _Shapes = {
            "dec_attn.qkv_net.weight": (3 * attended, d),
            "dec_attn.r_net.weight": (attended, d),
            "dec_attn.o_net.weight": (d, attended),
            "pos_ff.CoreNet.0.weight": (inner, d),
            "pos_ff.CoreNet.0.bias": (inner,),
            "pos_ff.CoreNet.3.weight": (d, inner),
            "pos_ff.CoreNet.3.bias": (d,),
        }
        for part in ("dec_attn", "pos_ff"):
            layer |= {f"{part}.layer_norm.weight": (d,), f"{part}.layer_norm.bias": (d,)}
        if self.own_biases:
            layer |= {f"dec_attn.{name}": shape for name, shape in biases.items()}
        shapes: _Shapes = {} if self.own_biases else dict(biases)
        for index in range(self.num_layers):
            shapes |= {_LAYER.format(index) + name: shape for name, shape in layer.items()}
        rows = self.cluster_sizes if len(self.widths) > 1 else [sum(self.cluster_sizes)]
        for index, (size, width) in enumerate(zip(rows, self.widths, strict=True)):
            shapes[f"word_emb.emb_layers.{index}.weight"] = (size, width)
            shapes[f"crit.out_layers.{index}.weight"] = (size, width)
            shapes[f"crit.out_layers.{index}.bias"] = (size,)
            if self.projected:
                shapes[f"word_emb.emb_projs.{index}"] = (d, width)
        if self.projected:
            shapes |= {f"crit.out_projs.{i}": (d, self.width(i)) for i in range(self.tails + 1)}
        if self.tails:
            shapes |= {"crit.cluster_weight": (self.tails, self.widths[0]), "crit.cluster_bias": (self.tails,)}
        return shapes

    def width(self, cluster: int) -> int:
        """Features of the words of a cluster."""
        return self.widths[cluster if len(self.widths) > 1 else 0]

    def check(self) -> None:
        """Raise unless the tensors are those of one network, and of one we have."""
        expected = self.shapes()
        optional = {"pos_emb.inv_freq"}
        if self.own_biases:  # Transformers lists shared ones everywhere
            optional |= {name for name in ("r_w_bias", "r_r_bias") if self._is_that_of_the_layers(name)}
        missing = sorted(expected.keys() - self.weights.keys())
        extra = sorted(self.weights.keys() - expected.keys() - optional)
        clusters = self._size("crit.cluster_weight", 0)
        if clusters and not self.tails:
            raise ValueError(
                f"crit.cluster_weight is that of an adaptive softmax with {clusters} cutoffs, which are not in the "
                "weights: give them, for instance --cutoffs 20000 40000 200000 for WikiText-103"
            )
        if missing or extra:
            raise ValueError(
                "these are not the weights of a Transformer-XL with a head: "
                f"missing: {', '.join(missing) or 'none'}; of no use: {', '.join(extra) or 'none'}. Give the settings "
                "that the weights were made with (config_file, cutoffs, tie_weight, tie_projs), or the right file"
            )
        wrong = [
            f"{name} {tuple(self.weights[name].shape)} instead of {shape}"
            for name, shape in expected.items()
            if self.weights[name].shape != shape
        ]
        if wrong:
            raise ValueError(f"shapes do not match each other: {'; '.join(wrong)}")
        if self.heads * self.d_head != self.d_model:
            raise ValueError(
                f"heads of {self.d_head} times {self.heads} are {self.heads * self.d_head} features and d_model is "
                f"{self.d_model}: attention here has heads of d_model / n_head features; such weights do not fit"
            )
        if min(self.cluster_sizes) < 1 or any(end <= start for start, end in pairwise(self.cutoffs)):
            raise ValueError(f"cutoffs must increase and leave words in each cluster, got {self.cutoffs}")
        self._check_settings()
        self._check_frequencies()

    def _is_that_of_the_layers(self, name: str) -> bool:
        own = [self.weights.get(f"{_LAYER.format(i)}dec_attn.{name}") for i in range(self.num_layers)]
        return all(tensor is not None and torch.equal(tensor, self.weights.get(name, tensor)) for tensor in own)

    def _check_settings(self) -> None:
        found: dict[str, Any] = {
            "n_layer": self.num_layers,
            "n_head": self.heads,
            "d_head": self.d_head,
            "d_model": self.d_model,
            "d_embed": self.widths[0],
            "d_inner": self.d_inner,
            "vocab_size": sum(self.cluster_sizes),
            "n_token": sum(self.cluster_sizes),
            "untie_r": self.own_biases,
            "cutoffs": self.cutoffs,
        }
        if self.settings.get("untie_r") is False:  # shared biases may be listed in every layer
            found["untie_r"] = False
        wrong = [f"{n}={self.settings[n]} ({v})" for n, v in found.items() if self.settings.get(n, v) != v]
        widths = [self.width(cluster) for cluster in range(self.tails + 1)]
        div_val = self.settings.get("div_val")
        if div_val is not None and widths != [self.widths[0] // div_val**i for i in range(len(widths))]:
            wrong.append(f"div_val={div_val} (clusters of {widths} features)")
        if wrong:
            raise ValueError(f"settings differ from the weights, whose values stand in brackets: {', '.join(wrong)}")

    def _check_frequencies(self) -> None:
        if (given := self.weights.get("pos_emb.inv_freq")) is None:
            return
        expected = 10000.0 ** (-torch.arange(0, self.d_model, 2, dtype=torch.float64) / self.d_model)
        if given.shape != expected.shape or not torch.allclose(given.double(), expected, rtol=1e-2):
            raise ValueError("pos_emb.inv_freq are not the frequencies of the paper, 10000^(-2m / d_model)")

    def projection(self, side: str, cluster: int) -> Tensor | None:
        """``[d_model, width]`` of a cluster of the words (``emb``) or of the head (``out``)."""
        if not self.projected:
            return None
        if side == "out":
            return self.weights[f"crit.out_projs.{cluster}"]
        return self.weights[f"word_emb.emb_projs.{cluster if len(self.widths) > 1 else 0}"]

    def rows(self, name: str) -> Sequence[Tensor]:
        """What ``name`` (with a place for the number of a table) holds, by clusters."""
        if len(self.widths) > 1:
            return [self.weights[name.format(i)] for i in range(len(self.widths))]
        return self.weights[name.format(0)].split(self.cluster_sizes)

    def div_value(self) -> int:
        """The factor by which tails get narrower; 1 where all of them have, or must be given, the full width."""
        if len(self.widths) == 1:
            return 1
        numbers = range(2, self.d_model + 1)
        tails = list(enumerate(self.widths[1:], start=1))
        return next((n for n in numbers if all(self.d_model // n**i == width for i, width in tails)), 1)


def _product(table: Tensor, projection: Tensor | None, factor: float = 1.0) -> Tensor:
    """factor table projection^T, computed in float64."""
    if projection is None and factor == 1.0:
        return table
    wide = table.double()
    return (factor * (wide if projection is None else wide @ projection.double().T)).to(table.dtype)


def _words(release: _Release) -> dict[str, Tensor]:
    scale = math.sqrt(release.d_model)
    tables = release.rows("word_emb.emb_layers.{}.weight")
    pieces = [_product(table, release.projection("emb", i), scale) for i, table in enumerate(tables)]
    return {"model.embed_tokens.weight": torch.cat(pieces)}


def _layers(release: _Release) -> dict[str, Tensor]:
    ours: dict[str, Tensor] = {}
    for index in range(release.num_layers):
        prefix = _LAYER.format(index)
        own = {n.removeprefix(prefix): v for n, v in release.weights.items() if n.startswith(prefix)}
        bias = {
            n: own[f"dec_attn.{n}"] if release.own_biases else release.weights[n] for n in ("r_w_bias", "r_r_bias")
        }
        query, key, value = own["dec_attn.qkv_net.weight"].chunk(3)
        layer = {
            "self_attn.q_proj.weight": query,
            "self_attn.k_proj.weight": key,
            "self_attn.v_proj.weight": value,
            "self_attn.r_proj.weight": own["dec_attn.r_net.weight"],
            "self_attn.out_proj.weight": own["dec_attn.o_net.weight"],
            "self_attn.content_bias": bias["r_w_bias"],
            "self_attn.position_bias": bias["r_r_bias"],
        }
        for end in ("weight", "bias"):
            layer[f"self_attn_norm.{end}"] = own[f"dec_attn.layer_norm.{end}"]
            layer[f"feed_forward_norm.{end}"] = own[f"pos_ff.layer_norm.{end}"]
            layer[f"feed_forward.up_proj.{end}"] = own[f"pos_ff.CoreNet.0.{end}"]
            layer[f"feed_forward.down_proj.{end}"] = own[f"pos_ff.CoreNet.3.{end}"]
        ours |= {f"model.{prefix}{name}": tensor for name, tensor in layer.items()}
    return ours


def _head(release: _Release, div_value: int) -> dict[str, Tensor]:
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
    """Convert the weights in ``checkpoint`` and save the model in ``output_dir``; it is returned in evaluation mode.

    Args:
        checkpoint: a state dict, see ``read_weights``.
        output_dir: folder for ``from_pretrained``.
        config_file: json with settings.
        settings: single ones, which come before those of the file; see ``convert_transfo_xl_weights``.

    Raises:
        FileNotFoundError, ValueError: see ``read_weights`` and ``convert_transfo_xl_weights``; a json file that is not
            one.
    """
    given = {} if config_file is None else _read_json(Path(config_file))
    given |= {name: value for name, value in settings.items() if value is not None}
    config, state = convert_transfo_xl_weights(read_weights(checkpoint), given)
    model = ComplexTransfoXLForCausalLM(config).to(config.dtype)
    model.load_state_dict(state)
    model.save_pretrained(output_dir)
    return model.eval()


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(f"no config_file at {path}")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not json: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold settings by name, it holds a {type(values).__name__}")
    return values


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: see ``ConversionArguments``."""
    (given,) = HfArgumentParser(ConversionArguments).parse_args_into_dataclasses(arguments)
    model = convert_transfo_xl_checkpoint(**asdict(given))
    cfg = model.config
    settings = {name: getattr(cfg, name) for name in ("mem_len", "clamp_len", "same_length", "cutoffs", "div_value")}
    words = ", ".join(f"{name}={value}" for name, value in settings.items())
    print(f"{given.output_dir}: {model.num_parameters():,} parameters, {cfg.vocab_size} words; {words}")


if __name__ == "__main__":
    main()
