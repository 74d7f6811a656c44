# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Infer the sizes of a released Transformer-XL from its weights."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

LAYER = "layers.{}."
_Shapes = dict[str, tuple[int, ...]]


def count(names: Iterable[str], pattern: str) -> int:
    """Return how many of the indices 0, 1, ... occur in names without a gap, at least 1."""
    found = {match[1] for name in names if (match := re.match(pattern, name))}
    return max(1, next(number for number in itertools.count() if str(number) not in found))


class Release:
    """The sizes of a network, inferred from its weights."""

    def __init__(self, weights: dict[str, Tensor], settings: Mapping[str, Any]) -> None:
        self.weights = weights
        self.settings = settings
        first = LAYER.format(0)
        self.num_layers = count(weights, r"layers\.(\d+)\.")
        self.d_model = self._size(f"{first}dec_attn.r_net.weight", 1)
        self.d_inner = self._size(f"{first}pos_ff.CoreNet.0.weight", 0)
        # One pair of biases for all layers, or one per layer.
        self.biases_per_layer = any(re.match(r"layers\.\d+\.dec_attn\.r_[wr]_bias", name) for name in weights)
        bias = f"{first}dec_attn.r_w_bias" if self.biases_per_layer else "r_w_bias"
        self.heads, self.d_head = self._size(bias, 0), self._size(bias, 1)
        # Embedding tables: one for all clusters (div_val 1), or one per cluster.
        tables = count(weights, r"(?:word_emb\.emb_layers|crit\.out_layers)\.(\d+)\.")
        rows = [self._size(f"word_emb.emb_layers.{i}.weight", 0) for i in range(tables)]
        self.widths = [self._size(f"word_emb.emb_layers.{i}.weight", 1) for i in range(tables)]
        self.cutoffs = list(accumulate(rows))[:-1] if tables > 1 else list(settings.get("cutoffs", []))
        self.tails = len(self.cutoffs)
        self.cluster_sizes = [end - start for start, end in pairwise([0, *self.cutoffs, sum(rows)])]
        projections = any(name.startswith(("word_emb.emb_projs.", "crit.out_projs.")) for name in weights)
        self.projected = projections or tables > 1 or self.widths[0] != self.d_model

    def _size(self, name: str, axis: int) -> int:
        tensor = self.weights.get(name)
        return 0 if tensor is None or tensor.dim() <= axis else tensor.shape[axis]

    def shapes(self) -> _Shapes:
        """Return the shape of every tensor."""
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
        if self.biases_per_layer:
            layer |= {f"dec_attn.{name}": shape for name, shape in biases.items()}
        shapes: _Shapes = {} if self.biases_per_layer else dict(biases)
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
        """Return the embedding width of a cluster."""
        return self.widths[cluster if len(self.widths) > 1 else 0]

    def check(self) -> None:
        """Raise unless the tensors are exactly the tensors of a network with these settings."""
        optional = {"pos_emb.inv_freq"}
        if self.biases_per_layer:  # Transformers stores shared biases in every layer and once more
            optional |= {name for name in ("r_w_bias", "r_r_bias") if self._equals_the_layers(name)}
        found = {name: tuple(value.shape) for name, value in self.weights.items() if name not in optional}
        expected = self.shapes()
        wrong = [
            f"{name} ({found.get(name)} instead of {expected.get(name)})"
            for name in sorted(found.keys() | expected.keys())
            if found.get(name) != expected.get(name)
        ]
        if wrong:
            raise ValueError(
                f"weights must be of one network, got {', '.join(wrong)}. Check cutoffs, tie_weight and tie_projs."
            )
        sizes = {"n_layer": self.num_layers, "n_head": self.heads, "d_model": self.d_model, "d_inner": self.d_inner}
        sizes |= dict.fromkeys(("vocab_size", "n_token"), sum(self.cluster_sizes))
        for name, size in sizes.items():
            if self.settings.get(name, size) != size:
                raise ValueError(f"{name} must be {size} as in the weights, got {self.settings[name]}.")

    def _equals_the_layers(self, name: str) -> bool:
        biases = [self.weights.get(f"{LAYER.format(i)}dec_attn.{name}") for i in range(self.num_layers)]
        return all(bias is not None and torch.equal(bias, self.weights.get(name, bias)) for bias in biases)

    def projection(self, side: str, cluster: int) -> Tensor | None:
        """Return the projection ``[d_model, width]`` of a cluster of the embedding (``emb``) or the head (``out``)."""
        if not self.projected:
            return None
        if side == "out":
            return self.weights[f"crit.out_projs.{cluster}"]
        return self.weights[f"word_emb.emb_projs.{cluster if len(self.widths) > 1 else 0}"]

    def rows(self, name: str) -> Sequence[Tensor]:
        """Return the rows of a tensor per cluster; ``name`` has a placeholder for the index of a table."""
        if len(self.widths) > 1:
            return [self.weights[name.format(i)] for i in range(len(self.widths))]
        return self.weights[name.format(0)].split(self.cluster_sizes)

    def div_value(self) -> int:
        """Return the factor between the widths of successive tails, or 1 if all clusters get the full width."""
        if len(self.widths) == 1:
            return 1
        numbers = range(2, self.d_model + 1)
        tails = list(enumerate(self.widths[1:], start=1))
        return next((n for n in numbers if all(self.d_model // n**i == width for i, width in tails)), 1)
