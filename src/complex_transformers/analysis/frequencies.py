# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Learned frequencies and periods of word embeddings (ComplexOrder App. D)."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..data.extras import require
from ..nn import ComplexOrderEmbedding, QuantumEmbedding
from .plotting import legend_beside, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["WordFrequency", "complex_order_embedding", "frequency_table", "period_summary", "plot_frequency_density"]


@dataclass(frozen=True)
class WordFrequency:
    """A word and its mean absolute frequency delta (rad per position); ``period`` is 2 pi / delta, in positions."""

    word: str
    frequency: float

    @property
    def period(self) -> float:
        """The period in positions; infinite for frequency 0."""
        return 2.0 * math.pi / self.frequency if self.frequency else math.inf


def complex_order_embedding(model: torch.nn.Module) -> ComplexOrderEmbedding:
    """Return the ``ComplexOrderEmbedding`` of a model; raise for another embedding."""
    embedding = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else model  # type: ignore[operator]
    if isinstance(embedding, QuantumEmbedding):
        embedding = embedding.words
    if not isinstance(embedding, ComplexOrderEmbedding):
        raise ValueError(f"model must have a ComplexOrderEmbedding, got {type(embedding).__name__}")
    return embedding


@torch.no_grad()
def _frequencies(model: torch.nn.Module) -> Tensor:
    """Return |omega|, ``[V or 1, d or 1]``, on the CPU in float64."""
    embedding = complex_order_embedding(model)
    if embedding.frequency is None:
        raise ValueError("embedding_type must be 'complex_order' to have frequencies, got 'complex_vanilla'")
    omega = embedding.frequency.detach().abs().double().cpu()
    if not bool(torch.isfinite(omega).all()):
        raise ValueError("frequencies must be finite, got NaN or infinity. Train with a lower learning rate.")
    return omega


def frequency_table(
    model: torch.nn.Module, tokenizer: Any, words: Collection[str] | None = None
) -> list[WordFrequency]:
    """Rank words by falling delta_j = mean_d |omega_j,d| (ComplexOrder App. D, Table 7).

    Args:
        model: a model whose input embedding is a ``ComplexOrderEmbedding``, or the embedding itself.
        tokenizer: tokenizer of the model; special tokens are left out.
        words: only these words, for instance the frequent words of the training data; None for the vocabulary.

    Raises:
        ValueError: the model has another embedding, its frequencies are shared by all words or not finite, or words
            and tokenizer do not fit the model.
    """
    delta = _frequencies(model).mean(dim=-1)
    if complex_order_embedding(model).frequency_sharing == "word":
        raise ValueError("frequency_sharing must be 'none' or 'dimension', got 'word'. Train another model.")
    vocabulary = tokenizer.get_vocab()
    if words is not None and (unknown := [word for word in words if word not in vocabulary]):
        raise ValueError(f"words must be in the vocabulary, got {unknown[:10]}")
    chosen = set(vocabulary if words is None else words) - set(tokenizer.all_special_tokens)
    if (largest := max((vocabulary[word] for word in chosen), default=0)) >= len(delta):
        raise ValueError(
            f"tokenizer must fit the model's {len(delta)} words, got id {largest}. Use the model's own tokenizer."
        )
    rows = [WordFrequency(word, float(delta[vocabulary[word]])) for word in chosen]
    return sorted(rows, key=lambda row: (-row.frequency, row.word))


def period_summary(model: torch.nn.Module) -> dict[str, float]:
    """Return quantiles (nearest rank) of the periods 2 pi / |omega_j,d| over words and dimensions, in positions.

    Returns:
        ``min``, ``q25``, ``median``, ``q75``, ``max``, and ``below_two``: the share of frequencies above pi, which
        alias with slower ones at integer positions. A frequency of 0 has an infinite period.

    Raises:
        ValueError: the model has another embedding, or its frequencies are missing or not finite.
    """
    omega = _frequencies(model).flatten()
    period = 2.0 * math.pi / omega
    ordered = period.sort().values
    names = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}
    summary = {name: float(ordered[round(share * (ordered.numel() - 1))]) for name, share in names.items()}
    return {**summary, "below_two": float((omega > math.pi).double().mean())}


def plot_frequency_density(models: dict[str, torch.nn.Module]) -> Figure:
    """Plot the density of delta_j over the vocabulary, one curve for each named model (ComplexOrder Figure 3).

    Uses a Gaussian kernel density (``scipy.stats.gaussian_kde``); a single delta is drawn as a vertical line.

    Raises:
        ValueError: the frequencies of a model are missing or not finite.
    """
    gaussian_kde = require("scipy.stats", "densities need scipy", "analysis").gaussian_kde
    deltas = {name: _frequencies(model).mean(dim=-1).numpy() for name, model in models.items()}
    figure = new_figure(6.0, 3.5)
    axis = figure.subplots()
    for name, delta in deltas.items():
        if delta.size > 1 and delta.std() > 1e-9 * delta.mean():
            density = gaussian_kde(delta)
            # A grid for each model: on a common grid, a narrow density would fall between two points.
            margin = 3.0 * float(density.covariance[0, 0]) ** 0.5
            low, high = max(0.0, float(delta.min()) - margin), float(delta.max()) + margin
            grid = torch.linspace(low, high, 400, dtype=torch.float64).numpy()
            axis.plot(grid, density(grid), label=name)
        else:
            axis.axvline(float(delta.mean()), linestyle="--", label=name)
    axis.set_xlabel("mean absolute frequency (rad per position)")
    axis.set_ylabel("density of words")
    legend_beside(axis)
    return figure
