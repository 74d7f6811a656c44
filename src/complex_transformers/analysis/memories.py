# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Which sentences a memory network looks at, beside those that answer the question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from .plotting import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["memory_hit_rates", "plot_memories"]


def memory_hit_rates(looked_at: Tensor, supporting: Sequence[Sequence[int]]) -> list[float]:
    """How often the first k hops, k = 1, 2, ..., look at the sentences that answer a question.

    The first k hops hit when they have looked at k of these sentences, or at all of them where there are fewer.

    Args:
        looked_at: ``[B, num_hops]``, the sentence of the largest weight: ``outputs.memory_weights.argmax(-1)``.
        supporting: places of these sentences for each row among those that were kept: as ``load_babi`` reads them,
            less ``processor.dropped_sentences(story)``. Rows without any, or with one that was dropped (below 0), do
            not count.

    Raises:
        ValueError: weights in place of sentences, another number of rows, no row that counts.
    """
    if looked_at.dim() != 2 or looked_at.is_floating_point():
        raise ValueError(
            f"looked_at must be [batch, num_hops] places of sentences, got {looked_at.dtype} of shape "
            f"{tuple(looked_at.shape)}: give memory_weights.argmax(-1)"
        )
    if len(supporting) != len(looked_at):
        raise ValueError(
            f"there are supporting sentences of {len(supporting)} rows, and {len(looked_at)} rows of hops"
        )
    pairs = zip(looked_at.tolist(), map(set, supporting), strict=True)
    rows = [(seen, places) for seen, places in pairs if places and min(places) >= 0]
    if not rows:
        raise ValueError("no row has supporting sentences that are all remembered")
    hops = range(1, looked_at.shape[1] + 1)
    hits = ([len(places & set(seen[:k])) >= min(k, len(places)) for seen, places in rows] for k in hops)
    return [sum(row) / len(rows) for row in hits]


def plot_memories(memories: Sequence[Mapping[str, Any]], supporting: Collection[int] = ()) -> Figure:
    """Weights of the sentences of a story (rows) in every hop (columns).

    Args:
        memories: of an answer of ``pipeline("complex-question-answering")``: a ``sentence`` and ``weights`` each.
        supporting: places of the sentences that answer the question; they are marked with a star.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
        ValueError: no sentence.
    """
    if not memories:
        raise ValueError("there is no sentence to show: the answer of a word_memory has none")
    weights = [memory["weights"] for memory in memories]
    names = [f"{'* ' if place in supporting else ''}{row['sentence']}" for place, row in enumerate(memories)]
    figure = new_figure(0.09 * max(map(len, names)) + 0.6 * len(weights[0]) + 1.5, 0.3 * len(names) + 1.2)
    axis = figure.subplots()
    image = axis.imshow(weights, vmin=0.0, vmax=1.0, cmap="viridis", aspect="auto")
    axis.set_xticks(range(len(weights[0])), [str(hop) for hop in range(1, len(weights[0]) + 1)])
    axis.set_yticks(range(len(names)), names)
    axis.set(xlabel="hop")
    figure.colorbar(image, ax=axis, label="weight")
    return figure
