# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity and bits as an ``evaluate`` module: ``complex_transformers.LanguageModelMetric``."""

from __future__ import annotations

from typing import Any

import evaluate
from datasets import Features, Value

from complex_transformers import LanguageModelMetric

__all__ = ["ComplexLanguageModeling"]


class ComplexLanguageModeling(evaluate.Metric):
    """``LanguageModelMetric`` as an ``evaluate.Metric``; one row is one token."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=LanguageModelMetric.__doc__,
            citation="complex_transformers",
            features=Features({"predictions": Value("float64"), "references": Value("int64")}),
        )

    def _compute(self, *, predictions: list[float], references: list[int], **options: Any) -> dict[str, Any]:
        return LanguageModelMetric().compute(predictions=predictions, references=references, **options)
