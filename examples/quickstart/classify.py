#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Classify texts with a saved model: python examples/quickstart/classify.py FOLDER "a text" ["another text" ...]."""

from __future__ import annotations

import sys

from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from complex_transformers.recipes import (
    limit_progress_bars,
)


def main() -> None:
    """Load the folder, print a label and a probability for each text."""
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    folder, *texts = sys.argv[1:]
    limit_progress_bars()
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    classify = pipeline("text-classification", model=model, tokenizer=AutoTokenizer.from_pretrained(folder))
    for text, result in zip(texts, classify(texts), strict=True):
        print(f"{result['label']:>12}  {result['score']:.3f}  {text}")


if __name__ == "__main__":
    main()
