# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a released Transformer-XL is: the sizes of its weights, the types of its settings, and whether they agree."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from .files import check_names, check_numbers, check_shapes

LAYER = "layers.{}."
_Shapes = dict[str, tuple[int, ...]]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (list, tuple)) and all(map(fits, value))


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


_SIZES = ("n_layer", "n_head", "d_head", "d_model", "d_embed", "d_inner", "vocab_size", "n_token", "div_val")
_TRUTHS = ("same_length", "pre_lnorm", "tie_weight", "tie_word_embeddings", "proj_share_all_but_first", "untie_r")
# What a setting must be -> the names of those settings, and whether a value is so.
_SETTINGS: dict[str, tuple[tuple[str, ...], Callable[[Any], bool]]] = {
    "a whole number of 1 or more": (_SIZES, lambda value: _is_whole(value) and value > 0),
    "a whole number": (("mem_len", "attn_type", "sample_softmax", "ext_len"), _is_whole),
    "a whole number, -1 for distances as they are": (("clamp_len",), lambda value: _is_whole(value) and value >= -1),
    "a number": (("dropout", "dropatt", "layer_norm_epsilon"), lambda v: _is_whole(v) or isinstance(v, float)),
    "true or false": (_TRUTHS, _is_truth),
    "a list of whole numbers": (("cutoffs",), _is_list_of(_is_whole)),
    "a list of true and false": (("tie_projs",), _is_list_of(_is_truth)),
}


def count(names: Iterable[str], pattern: str) -> int:
    """How many of the numbers 0, 1, ... stand in names without a gap, at least 1: a higher one is of no use."""
    found = {match[1] for name in names if (match := re.match(pattern, name))}
    return max(1, next(number for number in itertools.count() if str(number) not in found))


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise for settings of another type than both releases have, or that no network has."""
    wrong = [
        f"{name} must be {kind}, got {settings[name]!r}"
        for kind, (names, fits) in _SETTINGS.items()
        for name in names
        if name in settings and not fits(settings[name])
    ]
    if wrong:
        raise ValueError("; ".join(wrong))


class Release:
    """The sizes of a network, read off its weights."""

    def __init__(self, weights: dict[str, Tensor], settings: Mapping[str, Any]) -> None:
        self.weights = weights
        self.settings = {**settings, "cutoffs": list(settings["cutoffs"])} if "cutoffs" in settings else settings
        first = LAYER.format(0)
        self.num_layers = count(weights, r"layers\.(\d+)\.")
        self.d_model = self._size(f"{first}dec_attn.r_net.weight", 1)
        self.d_inner = self._size(f"{first}pos_ff.CoreNet.0.weight", 0)
        # One pair of biases for all layers, or one for each.
        self.own_biases = any(re.match(r"layers\.\d+\.dec_attn\.r_[wr]_bias", name) for name in weights)
        bias = f"{first}dec_attn.r_w_bias" if self.own_biases else "r_w_bias"
        self.heads, self.d_head = self._size(bias, 0), self._size(bias, 1)
        # Tables of words: one for all clusters (div_val 1), or one for each.
        tables = count(weights, r"(?:word_emb\.emb_layers|crit\.out_layers)\.(\d+)\.")
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
                "to evaluate with, for instance mem_len=1600"
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
            shapes |= {LAYER.format(index) + name: shape for name, shape in layer.items()}
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
        check_numbers(self.weights)
        expected = self.shapes()
        optional = {"pos_emb.inv_freq"}
        if self.own_biases:  # Transformers lists shared ones everywhere
            optional |= {name for name in ("r_w_bias", "r_r_bias") if self._is_that_of_the_layers(name)}
        clusters = self._size("crit.cluster_weight", 0)
        if clusters and not self.tails:
            raise ValueError(
                f"crit.cluster_weight is that of an adaptive softmax with {clusters} cutoffs, which are not in the "
                "weights: give them, for instance cutoffs 20000, 40000 and 200000 for WikiText-103"
            )
        check_names(
            self.weights.keys() - optional,
            expected.keys(),
            "a Transformer-XL with a head",
            "Give the settings that the weights were made with (config_file, cutoffs, tie_weight, tie_projs), or the "
            "right file",
        )
        check_shapes(self.weights, expected)
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
        own = [self.weights.get(f"{LAYER.format(i)}dec_attn.{name}") for i in range(self.num_layers)]
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
