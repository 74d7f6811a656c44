# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Label error rates against an edit distance written here; accuracy by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st

from complex_transformers import TranscriptionMetric
from complex_transformers.metrics.transcription import top_k_accuracy
from refusals import refused

pytest.importorskip("jiwer")


def edits(said: str, expected: str) -> int:
    """Levenshtein's distance, row by row."""
    row = list(range(len(expected) + 1))
    for i, a in enumerate(said, 1):
        before, row[0] = row[:], i
        for j, b in enumerate(expected, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
    return row[-1]


TEXTS = st.lists(st.tuples(st.text("ab \u0259\u02d0", max_size=8), st.text("ab \u0259\u02d0", max_size=8)), min_size=1)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_rate_of_errors(pairs: list[tuple[str, str]]) -> None:
    said, expected = zip(*pairs, strict=True)
    labels = sum(map(len, expected))
    metric = TranscriptionMetric()
    if not labels:
        refused(r"references must have a label", metric.compute, predictions=said, references=expected)
        return
    scores = metric.compute(predictions=said, references=expected)
    distances = [edits(*pair) for pair in pairs]
    assert scores["label_error_rate"] == pytest.approx(sum(distances) / labels)
    assert scores["deletions"] + scores["insertions"] + scores["substitutions"] == sum(distances)
    assert scores["sequence_accuracy"] == pytest.approx(sum(d == 0 for d in distances) / len(pairs))
    assert (scores["labels"], scores["sequences"]) == (labels, len(pairs))


def test_labels_of_several_characters_and_batches() -> None:
    metric = TranscriptionMetric()
    metric.add(prediction=["sh", "iy"], reference=["sh", "ih"])
    metric.add_batch(predictions=[["a b"], []], references=[["a b"], ["c"]])
    scores = metric.compute()
    assert scores["label_error_rate"] == pytest.approx(2 / 4)
    assert (scores["substitutions"], scores["deletions"], scores["sequences"]) == (1, 1, 3)
    refused("must have at least one transcription", metric.compute)


def test_composed_and_decomposed_characters_are_the_same_label() -> None:
    scores = TranscriptionMetric().compute(predictions=["b\u00e3"], references=["ba\u0303"])
    assert (scores["label_error_rate"], scores["labels"]) == (0.0, 2)
    assert TranscriptionMetric().compute(predictions=["\u0261"], references=["\u0261\u0303"])["labels"] == 2


@pytest.mark.parametrize(
    ("predictions", "references", "error", "words"),
    [
        (["a"], "a", TypeError, "references must be a list of transcriptions, got one string"),
        (["a", "b"], ["a"], ValueError, "must have equal lengths, got 2 and 1"),
        ([[1, 2]], ["a"], TypeError, "prediction 0 must be a string or a list of strings"),
        (["a"], [["a", ""]], ValueError, "reference 0 must not contain empty strings"),
        (["a"], None, ValueError, "must be given together"),
    ],
)
def test_bad_transcriptions(predictions: Any, references: Any, error: type[Exception], words: str) -> None:
    refused(words, TranscriptionMetric().compute, error=error, predictions=predictions, references=references)


def test_top_k() -> None:
    logits = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3], [0.1, 0.2, 0.7], [0.9, 0.0, 0.1]])
    labels = torch.tensor([1, 2, 0, 0])
    assert [top_k_accuracy(logits, labels, k) for k in (1, 2, 3)] == [0.5, 0.75, 1.0]
    refused(r"k must lie in \[1, 3\]", top_k_accuracy, logits, labels, 4)
    refused("logits must be", top_k_accuracy, logits, labels[:2])


def test_a_row_with_nan_is_wrong() -> None:
    logits = torch.tensor([[1.0, 0.0], [math.nan, math.nan], [1.0, math.nan], [0.0, -math.inf]])
    labels = torch.zeros(4, dtype=torch.long)
    assert top_k_accuracy(logits, labels) == top_k_accuracy(logits, labels, k=2) == 0.5
