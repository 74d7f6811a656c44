# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Adaptive softmax (Grave et al., *Efficient softmax approximation for GPUs*, ICML 2017) for both number fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_choice, check_ids, check_shape
from .linear import RealLinear, is_hooked
from .readout import Readout, resized_layer

__all__ = ["AdaptiveReadout"]


def check_adaptive_softmax(
    cutoffs: Sequence[int],
    div_value: int,
    out_features: int,
    features: int,
    readout: str = "concat",
    field: str = "readout",
) -> None:
    """Raise for clusters without tokens or features, and for readouts with complex weights.

    Args:
        cutoffs, div_value, out_features, readout: options of an ``AdaptiveReadout``.
        features: input width of its layers.
        field: name of ``readout`` in messages.
    """
    edges = [0, *cutoffs, out_features]
    if not cutoffs or any(end <= start for start, end in pairwise(edges)):
        valid = f"increasing token ids between 1 and {out_features - 1}, the last of {out_features} tokens"
        raise ValueError(f"cutoffs must be {valid}, got {list(cutoffs)}")
    if div_value < 1:
        raise ValueError(f"div_value must be 1 or more, got {div_value}")
    if features // div_value ** len(cutoffs) == 0:
        raise ValueError(
            f"div_value must leave one of {features} features for tail {len(cutoffs)}, got {div_value}. Reduce it."
        )
    check_choice(field, readout, ("concat", "feature_modulus"), " with the adaptive softmax; or leave out the cutoffs")


class AdaptiveReadout(Readout):
    """Real log-probabilities by clusters of tokens, ``[..., in_features] -> [..., out_features]``.

    Token ids are sorted by frequency, most frequent first, and ``cutoffs`` divide them into clusters. One softmax over
    the tokens of the first cluster and one logit per tail (further cluster) selects a token or a tail. A second
    softmax selects the token within the tail (Grave et al. 2017, Eq. 4, 5):

        log p(w) = log h(w)              for w < cutoffs[0],   h = softmax of the first cluster and the tails
        log p(w) = log h(i) + log t_i(w) for w of tail i,      t_i = softmax of the tokens of tail i

    ``nll`` computes a tail only for labels that lie in it. Softmaxes and results are float32 or better. Unlike
    ``torch.nn.AdaptiveLogSoftmaxWithLoss``, all layers have biases, as in Dai et al. (ACL 2019).

    With ``div_value=1``, ``projection`` is the layer of all tokens and can be tied to the embedding table. Otherwise
    it is the layer of the first cluster, and ``tails.i`` holds tail i: a projection to
    ``features // div_value ** (i + 1)`` without bias and the layer of its tokens. ``clusters`` computes the logits of
    the tails.

    Args:
        in_features: stored width of the input.
        out_features: number of tokens.
        cutoffs: first token ids of the tails, increasing.
        div_value: the width is divided by this factor from each cluster to the next.
        readout: input features: ``concat`` (default), the stored tensor, or ``feature_modulus``, its moduli |z_j|.
        number_field: ``"complex"`` or ``"real"``; the real field has ``concat``.

    Raises:
        ValueError: cutoffs that do not increase or leave a cluster without tokens, a tail without features, another
            readout.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        cutoffs: Sequence[int],
        div_value: int = 1,
        readout: str = "concat",
        number_field: str = "complex",
    ) -> None:
        features = arithmetic(number_field).num_features(in_features) if readout == "feature_modulus" else in_features
        check_adaptive_softmax(cutoffs, div_value, out_features, features, readout)
        super().__init__(in_features, out_features if div_value == 1 else cutoffs[0], readout, number_field)
        self.out_features = out_features
        self.cutoffs = tuple(cutoffs)
        self.div_value = div_value
        self.clusters = RealLinear(features, len(self.cutoffs))
        self.tails = nn.ModuleList()
        for index, size in enumerate(self.sizes[1:] if div_value > 1 else [], start=1):
            width = features // div_value**index
            self.tails.append(nn.Sequential(RealLinear(features, width, bias=False), RealLinear(width, size)))

    @property
    def sizes(self) -> list[int]:
        """The number of tokens of each cluster."""
        return [end - start for start, end in pairwise([0, *self.cutoffs, self.out_features])]

    def forward(self, x: Tensor) -> Tensor:
        features, layers = self.features(x), self._layers()
        first = self.cutoffs[0]
        head = self._head_logits(layers[0], features).log_softmax(-1)
        pieces = [head[..., :first]]
        for index, layer in enumerate(layers[1:]):
            pieces.append(head[..., first + index, None] + CF.wide(layer(features)).log_softmax(-1))
        return torch.cat(pieces, dim=-1)

    def nll(self, x: Tensor, labels: Tensor, ignore_index: int = -100) -> Tensor:
        """Compute -log p of ``labels [...]`` for ``x [..., in_features]``; 0 where the label is ``ignore_index``.

        Every parameter gets a gradient, which is zero if its cluster has no label.

        Raises:
            ValueError: labels of another shape, or (on the CPU) outside the vocabulary.
        """
        check_shape("labels", labels, x.shape[:-1])
        labels = labels.to(x.device)
        given = labels != ignore_index
        tokens = labels[given]
        remedy = "Use the tokenizer of the model, or call resize_token_embeddings"
        check_ids("labels", tokens, self.out_features, remedy, f", or be {ignore_index} to be ignored")
        features, layers = self.features(x[given]), self._layers()
        # 0 for the first cluster, i for the i-th tail.
        cluster = torch.bucketize(tokens, tokens.new_tensor(self.cutoffs), right=True)
        choice = torch.where(cluster == 0, tokens, self.cutoffs[0] + cluster - 1)
        nll = F.cross_entropy(self._head_logits(layers[0], features), choice, reduction="none")
        for index, (start, layer) in enumerate(zip(self.cutoffs, layers[1:], strict=True), start=1):
            rows = (cluster == index).nonzero().squeeze(-1)  # may be empty, with zero gradients
            logits = CF.wide(layer(features[rows]))
            nll = nll.index_add(0, rows, F.cross_entropy(logits, tokens[rows] - start, reduction="none"))
        return nll.new_zeros(labels.shape).masked_scatter(given, nll)

    @torch.no_grad()
    def resize(self, out_features: int, mean_resizing: bool = True) -> None:
        """Resize the last cluster, see ``Readout.resize``.

        Raises:
            ValueError: the last cluster would have no token.
        """
        if out_features <= self.cutoffs[-1]:
            raise ValueError(
                f"out_features must be larger than the last cutoff {self.cutoffs[-1]}, got {out_features}. Keep more."
            )
        if not self.tails:
            super().resize(out_features, mean_resizing)
            return
        tail = cast(nn.Sequential, self.tails[-1])
        tail[1] = resized_layer(
            cast(RealLinear, tail[1]), self.sizes[-1], out_features - self.cutoffs[-1], mean_resizing
        )
        self.out_features = out_features

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, cutoffs={list(self.cutoffs)}, div_value={self.div_value}"

    def _head_logits(self, layer: Callable[[Tensor], Tensor], features: Tensor) -> Tensor:
        """Compute the logits of the first cluster and of the tails, ``[..., cutoffs[0] + tails]``."""
        return CF.wide(torch.cat([layer(features), self.clusters(features)], dim=-1))

    def _layers(self) -> list[Callable[[Tensor], Tensor]]:
        """Return the output layer of every cluster."""
        table = self.projection
        if self.tails:
            return [table, *self.tails]
        own_weight = type(table) in (RealLinear, nn.Linear) and type(table.weight) in (nn.Parameter, Tensor)
        if own_weight and not is_hooked(table):
            # A single split node, so that autograd assembles the gradient once.
            weights, biases = (cast(Tensor, part).split(self.sizes) for part in (table.weight, table.bias))
            return [partial(F.linear, weight=w, bias=b) for w, b in zip(weights, biases, strict=True)]
        # A layer that has been replaced or hooked (LoRA, quantised, offloaded) must be called.
        edges = pairwise([0, *self.cutoffs, self.out_features])
        return [partial(_some_outputs, table, slice(start, end)) for start, end in edges]


def _some_outputs(layer: nn.Module, outputs: slice, features: Tensor) -> Tensor:
    return layer(features)[..., outputs]
