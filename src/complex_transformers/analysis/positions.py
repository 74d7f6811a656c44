# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of a language model by position in its context."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .plotting import legend_beside, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["perplexity_by_position", "perplexity_by_range", "plot_perplexity_by_position"]


@torch.no_grad()
def perplexity_by_position(model: nn.Module, windows: Iterable[Mapping[str, Tensor]]) -> list[float]:
    """Compute the perplexity at each position of a window, without context from earlier windows.

    The perplexity of a causal model falls with the position. If it does not, the model may see the tokens that it
    predicts.

    Args:
        model: a causal language model.
        windows: batches of ``input_ids`` and ``shift_labels`` (the following tokens, -100 is ignored), ``[B, T]``
            each, as ``StreamDataset`` yields them; the last may be shorter.

    Returns:
        exp(mean loss) for each position of the longest window.

    Raises:
        ValueError: ``windows`` is empty, or a position without a token to predict.
    """
    training, device = model.training, next(model.parameters()).device
    loss = torch.zeros(0, dtype=torch.float64)
    count = torch.zeros(0, dtype=torch.int64)
    try:
        model.eval()
        for window in windows:
            following = window["shift_labels"].to(device)
            # An adaptive softmax returns log-probabilities; cross entropy leaves them unchanged.
            logits = model(input_ids=window["input_ids"].to(device), use_cache=False).logits
            nll = F.cross_entropy(logits.float().transpose(1, 2), following, ignore_index=-100, reduction="none")
            longer = max(nll.shape[1], len(loss)) - len(loss)
            loss, count = F.pad(loss, (0, longer)), F.pad(count, (0, longer))
            loss[: nll.shape[1]] += nll.double().sum(0).cpu()
            count[: nll.shape[1]] += (following != -100).sum(0).cpu()
    finally:
        model.train(training)
    if not len(count) or not bool(count.all()):
        raise ValueError(f"windows must have a token to predict at each position, got counts {count.tolist()}")
    return [math.exp(value) if value < 700 else math.inf for value in (loss / count).tolist()]


def perplexity_by_range(curve: Sequence[float], steps_per_octave: int = 1) -> dict[int, float]:
    """Return the geometric mean of perplexities over ranges of positions.

    Args:
        curve: the perplexity at positions 1, 2, ..., from ``perplexity_by_position``.
        steps_per_octave: k, for ranges that end at 2^(i/k); 1 gives positions 1, 2, 3 to 4, 5 to 8, ...

    Returns:
        The mean for each last position of a range; the last range ends with the curve.
    """
    losses = torch.tensor(curve, dtype=torch.float64).log()
    steps = math.ceil(steps_per_octave * math.log2(len(losses)))
    ends = sorted({min(round(2 ** (step / steps_per_octave)), len(losses)) for step in range(steps + 1)})
    starts = [0, *ends[:-1]]
    return {end: math.exp(losses[start:end].mean()) for start, end in zip(starts, ends, strict=True)}


def plot_perplexity_by_position(curves: Mapping[str, Sequence[float]], trained_length: int | None = None) -> Figure:
    """Plot perplexities by position on logarithmic axes, one curve for each named model.

    Args:
        curves: the perplexity at positions 1, 2, ..., from ``perplexity_by_position``. Eight points per octave are
            drawn, each the geometric mean over the positions since the point before.
        trained_length: tokens of a training sequence, marked by a vertical line.
    """
    figure = new_figure(7.0, 3.5)
    axis = figure.subplots()
    for name, curve in curves.items():
        means = perplexity_by_range(curve, steps_per_octave=8)
        axis.plot(list(means), list(means.values()), label=name)
    if trained_length is not None:
        axis.axvline(trained_length, linestyle=":", color="grey", label="trained length")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel("position (tokens)")
    axis.set_ylabel("perplexity")
    legend_beside(axis)
    return figure
