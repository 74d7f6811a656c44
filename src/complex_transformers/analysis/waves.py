# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of ComplexOrder embeddings as waves over the position (ComplexOrder Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..nn import split
from ..nn.checks import check_positive
from .frequencies import complex_order_embedding
from .plotting import legend_beside, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_waves"]


@torch.no_grad()
def plot_waves(
    model: torch.nn.Module, tokenizer: Any, words: Sequence[str], num_positions: int = 40, num_features: int = 3
) -> Figure:
    """Draw Re z_j,d(pos) = r cos(omega pos + theta) of some words (ComplexOrder Eq. 5, Figure 1).

    There is one panel for each word. It shows the ``num_features`` features with the largest |r|, first those with a
    period between four positions and ``num_positions``, then others.

    Args:
        model: a model whose input embedding is a ``ComplexOrderEmbedding``.
        tokenizer: tokenizer of the model.
        words: words that are single tokens of the vocabulary.
        num_positions: positions 1..num_positions.
        num_features: number of waves in a panel.

    Raises:
        ValueError: the model has another embedding, a word is outside the vocabulary, or a number is below 1.
    """
    check_positive(words=len(words), num_positions=num_positions, num_features=num_features)
    embedding = complex_order_embedding(model)
    vocabulary = tokenizer.get_vocab()
    if unknown := [word for word in words if word not in vocabulary]:
        raise ValueError(f"words must be in the vocabulary, got {unknown}")
    figure = new_figure(8.0, 1.8 * len(words))
    axes = figure.subplots(len(words), 1, sharex=True, squeeze=False)[:, 0]
    positions = torch.arange(1, num_positions + 1).unsqueeze(0)
    device = embedding.amplitude.device
    for axis, word in zip(axes, words, strict=True):
        ids = torch.full((1, num_positions), vocabulary[word])
        real, imag = split(embedding(ids.to(device), position_ids=positions.to(device))[0].float().cpu())
        z = torch.complex(real, imag)
        sizes = z.abs().amax(dim=0)
        rotation = (z[1:2] * z[:1].conj()).angle().abs().sum(dim=0)  # from one position to the next
        visible = (rotation * num_positions >= 2 * torch.pi) & (rotation <= torch.pi / 2)
        ranks = sizes + visible * (1 + sizes.max())
        for feature in sorted(ranks.topk(min(num_features, len(ranks))).indices.tolist()):
            axis.plot(positions[0], real[:, feature], marker=".", label=f"feature {feature}")
        axis.set_ylabel(word)
        legend_beside(axis)
    axes[-1].set_xlabel("position")
    return figure
