# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Corpus BLEU and chrF as an ``evaluate`` module: ``complex_transformers.TranslationMetric``."""

from __future__ import annotations

from typing import Any

import evaluate
from datasets import Features, Sequence, Value

from complex_transformers import TranslationMetric

__all__ = ["ComplexTranslation"]


class ComplexTranslation(evaluate.Metric):
    """``TranslationMetric`` as an ``evaluate.Metric``; all examples have the same number of references."""

    def _info(self) -> evaluate.MetricInfo:
        kinds = Value("string"), Sequence(Value("string"))
        return evaluate.MetricInfo(
            description=TranslationMetric.__doc__,
            citation="Post, A call for clarity in reporting BLEU scores, WMT 2018",
            features=[Features({"predictions": Value("string"), "references": kind}) for kind in kinds],
        )

    def _compute(self, *, predictions: list[str], references: list[Any], **options: Any) -> dict[str, Any]:
        return TranslationMetric(**options).compute(predictions=predictions, references=references)
