# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Label error rate of transcriptions, and top-k accuracy (Thesis, Eq. 5.1 to 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

from torch import Tensor

from .base import Metric

__all__ = ["TranscriptionMetric", "top_k_accuracy"]

Labels = str | Sequence[str]


def _labels(transcription: Labels) -> list[str]:
    return list(normalize("NFC", transcription) if isinstance(transcription, str) else transcription)


class TranscriptionMetric(Metric):
    """Label error rates, with the methods of an ``evaluate`` module: ``add``, ``add_batch``, ``compute``.

    LER = edits / N (Thesis 5.1): the number of deletions, insertions and substitutions between a prediction and its
    reference of N labels. A label is a character of a string, or a string of a list. Characters are NFC code points,
    as in the tokenizers: a diacritic counts separately if it has no composed form.

    ``compute`` returns ``label_error_rate`` (all edits over all labels), ``deletions``, ``insertions``,
    ``substitutions``, ``labels``, ``sequence_accuracy`` (share of transcriptions without an edit) and ``sequences``.
    It raises ValueError if all references are empty.

    Raises:
        ImportError: ``jiwer`` is missing (extra ``speech``).

    Example:
        >>> from complex_transformers import TranscriptionMetric
        >>> scores = TranscriptionMetric().compute(predictions=["bada", "ma"], references=["baba", "mama"])
        >>> scores["label_error_rate"], scores["sequence_accuracy"]
        (0.375, 0.0)
    """

    noun = "transcription"

    def __init__(self) -> None:
        try:
            import jiwer
        except ImportError as error:
            raise ImportError(
                'label error rates need jiwer. Install it: pip install "complex_transformers[speech]", or '
                'pip install -e ".[speech]" in a clone.'
            ) from error
        super().__init__()
        self._jiwer = jiwer

    def add_batch(self, *, predictions: Sequence[Labels], references: Sequence[Labels]) -> None:
        """Add transcriptions.

        Args:
            predictions, references: strings, or lists of labels.

        Raises:
            ValueError: the lists differ in length, or a label is empty.
            TypeError: a string is given instead of a list, or a label is not a string.
        """
        self._check_lists(predictions, references)
        pairs = list(zip(predictions, references, strict=True))
        for row, pair in enumerate(pairs):
            for name, labels in zip(("prediction", "reference"), pair, strict=True):
                if not all(isinstance(label, str) for label in labels):
                    raise TypeError(f"{name} {row} must be a string or a list of strings, got {labels!r}")
                if not all(labels):
                    raise ValueError(f"{name} {row} must not contain empty strings, got {labels!r}")
        self._kept += [(_labels(prediction), _labels(reference)) for prediction, reference in pairs]

    def _score(self, kept: list[tuple[list[str], list[str]]], **_: Any) -> dict[str, Any]:
        counts = dict.fromkeys(("deletions", "insertions", "substitutions"), 0)
        labels, right = 0, 0
        for prediction, reference in kept:
            edits = self._edits(prediction, reference)
            for name in counts:
                counts[name] += edits[name]
            labels += len(reference)
            right += not any(edits.values())
        if not labels:
            raise ValueError(f"references must have a label, got {len(kept)} empty references. Add labels.")
        return {
            "label_error_rate": sum(counts.values()) / labels,
            **counts,
            "labels": labels,
            "sequence_accuracy": right / len(kept),
            "sequences": len(kept),
        }

    def _edits(self, prediction: list[str], reference: list[str]) -> dict[str, int]:
        if not reference:  # jiwer raises for it
            return {"deletions": 0, "insertions": len(prediction), "substitutions": 0}
        # One private character for each label: jiwer counts characters, and labels may have several.
        code = {label: chr(0x100000 + index) for index, label in enumerate(dict.fromkeys(reference + prediction))}
        predicted, expected = ("".join(code[label] for label in labels) for labels in (prediction, reference))
        output = self._jiwer.process_characters(expected, predicted)
        return {name: getattr(output, name) for name in ("deletions", "insertions", "substitutions")}


def top_k_accuracy(logits: Tensor, labels: Tensor, k: int = 1) -> float:
    """Return the share of rows whose label is among the k largest logits (Thesis 5.2 with k = 1, 5.3).

    A row with a NaN counts as wrong.

    Args:
        logits: ``[B, C]``.
        labels: ``[B]``.
        k: number of classes that count as predicted, in [1, C].

    Raises:
        ValueError: the shapes do not match, ``logits`` is empty, or ``k`` is outside [1, C].
    """
    if logits.dim() != 2 or labels.shape != logits.shape[:1] or len(logits) == 0:
        raise ValueError(f"logits must be [B, C] and labels [B], got {[*logits.shape]} and {[*labels.shape]}")
    if not 1 <= k <= logits.shape[1]:
        raise ValueError(f"k must lie in [1, {logits.shape[1]}], the number of classes, got {k}")
    best = logits.topk(k, dim=-1).indices
    right = (best == labels.unsqueeze(-1)).any(-1) & ~logits.isnan().any(-1)
    return right.double().mean().item()
