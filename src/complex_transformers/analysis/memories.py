# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention of memory networks, compared with the sentences that answer the question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from .plotting import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["memory_hit_rates", "plot_memories"]


def memory_hit_rates(looked_at: Tensor, supporting: Sequence[Sequence[int]]) -> list[float]:
    """Return the hit rate of the first k hops, for k = 1, 2, ..., num_hops.

    The first k hops hit if they attend most to k of the supporting sentences, or to all of them if there are fewer.

    Args:
        looked_at: ``[B, num_hops]``, the sentence with the largest weight: ``outputs.memory_weights.argmax(-1)``.
        supporting: indices of the supporting sentences of each row, counted in memory: as ``load_babi`` returns them,
            minus ``processor.dropped_sentences(story)``. Rows without any, or with a dropped one (below 0), are
            skipped.

    Raises:
        ValueError: ``looked_at`` holds weights, the numbers of rows differ, or all rows are skipped.
    """
    if looked_at.dim() != 2 or looked_at.is_floating_point():
        raise ValueError(
            f"looked_at must be integers [batch, num_hops], got {looked_at.dtype} of shape "
            f"{tuple(looked_at.shape)}. Pass memory_weights.argmax(-1)."
        )
    if len(supporting) != len(looked_at):
        raise ValueError(f"supporting must have {len(looked_at)} rows, as looked_at, got {len(supporting)}")
    pairs = zip(looked_at.tolist(), map(set, supporting), strict=True)
    rows = [(seen, places) for seen, places in pairs if places and min(places) >= 0]
    if not rows:
        raise ValueError(
            "supporting must have a row whose sentences are all in memory, got none. Use a larger memory_size."
        )
    hops = range(1, looked_at.shape[1] + 1)
    hits = ([len(places & set(seen[:k])) >= min(k, len(places)) for seen, places in rows] for k in hops)
    return [sum(row) / len(rows) for row in hits]


def plot_memories(memories: Sequence[Mapping[str, Any]], supporting: Collection[int] = ()) -> Figure:
    """Plot the attention weights of the sentences of a story (rows) in each hop (columns).

    Args:
        memories: ``memories`` of an answer of ``pipeline("complex-question-answering")``.
        supporting: indices of the sentences that answer the question; they are marked with a star.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
        ValueError: ``memories`` is empty.
    """
    if not memories:
        raise ValueError("memories must have a sentence, got none. Use a model with variant='sentence_memory'.")
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
