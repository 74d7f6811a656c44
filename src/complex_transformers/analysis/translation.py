# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Translation quality by source length, and accuracy of words and dependency relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..metrics.translation import TranslationMetric

__all__ = ["bleu_by_length", "token_accuracy"]


def bleu_by_length(
    source_lengths: Sequence[int],
    predictions: Sequence[str],
    references: Sequence[str],
    *,
    group: int = 10,
    metric: TranslationMetric | None = None,
) -> list[dict[str, Any]]:
    """Compute BLEU for sources of 1 to ``group`` words, ``group`` + 1 to 2 ``group``, and so on (SynCoNMT Fig. 4).

    Args:
        source_lengths: number of words of each source.
        predictions, references: a translation and a reference for each source.
        group: range of lengths in one group.
        metric: metric to use; None for ``TranslationMetric()``.

    Returns:
        ``shortest``, ``longest``, ``sentences``, ``bleu`` and ``brevity_penalty`` of each group that has sentences.

    Raises:
        ValueError: the arguments differ in length or are empty, or a length is below 1.
    """
    if not len(source_lengths) == len(predictions) == len(references) or len(source_lengths) == 0:
        raise ValueError(
            "source_lengths, predictions and references must be equally many and not empty, got "
            f"{len(source_lengths)}, {len(predictions)} and {len(references)}"
        )
    if group < 1 or min(source_lengths) < 1:
        raise ValueError(f"source_lengths and group must be at least 1, got {min(source_lengths)} and {group}")
    metric = TranslationMetric() if metric is None else metric
    groups: dict[int, list[tuple[str, str]]] = {}
    for length, *pair in zip(source_lengths, predictions, references, strict=True):
        groups.setdefault((int(length) - 1) // group, []).append((pair[0], pair[1]))
    rows = []
    for number, pairs in sorted(groups.items()):
        translated, expected = zip(*pairs, strict=True)
        scores = metric.compute(predictions=list(translated), references=list(expected))
        rows.append(
            {
                "shortest": number * group + 1,
                "longest": (number + 1) * group,
                "sentences": len(pairs),
                "bleu": scores["bleu"],
                "brevity_penalty": scores["brevity_penalty"],
            }
        )
    return rows


@torch.no_grad()
def token_accuracy(model: nn.Module, batches: Iterable[Mapping[str, Tensor]]) -> dict[str, float]:
    """Compute the accuracy of words and of relations with teacher forcing.

    Args:
        model: SynCoNMT or another encoder-decoder model; without relations, only words are counted.
        batches: inputs with ``labels`` and, for a model with relations, ``relation_labels``. Labels of -100 are
            ignored, as is the relation of an ignored word. The end token counts.

    Returns:
        ``word_accuracy`` and, with relations, ``relation_accuracy`` and ``both_accuracy`` (word and relation correct),
        as fractions.

    Raises:
        ValueError: a batch lacks ``labels`` or ``relation_labels``, or all labels are -100.
    """
    training, device = model.training, next(model.parameters()).device
    right: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    try:
        model.eval()
        for batch in batches:
            for name, (hit, kept) in _hits(model, {key: value.to(device) for key, value in batch.items()}).items():
                right[name] += int((hit & kept).sum())
                counted[name] += int(kept.sum())
    finally:
        model.train(training)
    if not counted or not all(counted.values()):
        raise ValueError("batches must have labels and relation_labels other than -100, got none. Add targets.")
    return {name: number / counted[name] for name, number in right.items()}


def _hits(model: nn.Module, inputs: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
    """Return name of the accuracy -> masks ``[B, T]`` of correct and of counted labels."""
    labels = _labels(inputs, "labels")
    outputs = model(**inputs)
    word, is_word = outputs.logits.argmax(-1) == labels, labels != -100
    if getattr(outputs, "relation_logits", None) is None:
        return {"word_accuracy": (word, is_word)}
    relation_labels = _labels(inputs, "relation_labels")
    relation = model.predict_relations(outputs.relation_logits) == relation_labels  # type: ignore[operator]
    is_both = is_word & (relation_labels != -100)
    return {
        "word_accuracy": (word, is_word),
        "relation_accuracy": (relation, is_both),
        "both_accuracy": (word & relation, is_both),
    }


def _labels(inputs: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in inputs:
        raise ValueError(f"batches must have {name!r}, got {sorted(inputs)}. Pass text_target to the processor.")
    return inputs[name]
