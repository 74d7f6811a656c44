# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""How well a translation model does by length of the source, and word by word with its relations."""

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
    """BLEU of sources with 1 to ``group`` words, ``group`` + 1 to 2 ``group``, and so on (S Fig. 4).

    Args:
        source_lengths: words of every source.
        predictions, references: translations, one of each for every source.
        group: words between two groups.
        metric: of the texts; None for ``TranslationMetric()``.

    Returns:
        ``shortest``, ``longest``, ``sentences``, ``bleu`` and ``brevity_penalty`` of each group that has sentences.

    Raises:
        ValueError: unequal numbers, ``group`` below 1, a length below 1, nothing to score.
    """
    if not len(source_lengths) == len(predictions) == len(references) or len(source_lengths) == 0:
        raise ValueError(
            f"give a length, a prediction and a reference for each of one or more sources, got {len(source_lengths)}, "
            f"{len(predictions)} and {len(references)}"
        )
    if group < 1 or min(source_lengths) < 1:
        raise ValueError(f"lengths and group must be at least 1, got {min(source_lengths)} and {group}")
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
    """Share of words, and of relations, that a SynCoNMT predicts right after the true beginning of the target.

    Args:
        model: SynCoNMT or another encoder-decoder model; without relations, words alone are counted.
        batches: inputs with ``labels`` and, for a model with relations, ``relation_labels``; -100 is not counted, nor
            the relation beside a word of -100. The end of a text counts as a word, and its relation as a relation.

    Returns:
        ``word_accuracy``, ``relation_accuracy`` where there are relations, and ``both_accuracy``, the share of words
        with a relation that are right in both; as fractions.

    Raises:
        ValueError: a batch without ``labels`` or ``relation_labels``; no label at all, of words or of relations.
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
        raise ValueError("there is nothing to count: no batch has a label, of words or of relations")
    return {name: number / counted[name] for name, number in right.items()}


def _hits(model: nn.Module, inputs: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
    """What is right in a batch, and what counts, ``[B, T]`` of truth values each, by the name of the share."""
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
        raise ValueError(f"a batch without {name}, only {sorted(inputs)}: give what the model shall say")
    return inputs[name]
