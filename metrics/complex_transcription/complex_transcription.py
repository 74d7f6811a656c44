# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Label error rate as an ``evaluate`` module: ``complex_transformers.TranscriptionMetric``."""

from __future__ import annotations

from typing import Any

import evaluate
from datasets import Features, Sequence, Value

from complex_transformers import TranscriptionMetric

__all__ = ["ComplexTranscription"]


class ComplexTranscription(evaluate.Metric):
    """``TranscriptionMetric`` as an ``evaluate.Metric``, for strings or lists of labels."""

    def _info(self) -> evaluate.MetricInfo:
        kinds = Value("string"), Sequence(Value("string"))
        return evaluate.MetricInfo(
            description=TranscriptionMetric.__doc__,
            citation="complex_transformers: the label error rate of the thesis, Eq. 5.1",
            features=[Features(dict.fromkeys(("predictions", "references"), kind)) for kind in kinds],
        )

    def _compute(self, *, predictions: list[Any], references: list[Any]) -> dict[str, Any]:
        return TranscriptionMetric().compute(predictions=predictions, references=references)
