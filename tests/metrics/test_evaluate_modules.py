# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The modules of evaluate give what the metrics give, and refuse what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from complex_transformers import LanguageModelMetric, TranscriptionMetric, TranslationMetric

evaluate = pytest.importorskip("evaluate")

FOLDER = Path(__file__).parents[2] / "metrics"
TEXTS = ["a small test of it .", "another one ."]
CASES: dict[str, tuple[type, list[Any], list[Any], dict[str, Any], dict[str, Any]]] = {
    "complex_translation": (
        TranslationMetric,
        TEXTS,
        [["A small test of it .", "no"], ["another two .", "yes"]],
        {"lowercase": True},
        {},
    ),
    "complex_transcription": (TranscriptionMetric, ["bada", "ma"], ["baba", "mama"], {}, {}),
    "complex_language_modeling": (LanguageModelMetric, [-0.5, -1.5, -0.1], [4, 5, -100], {}, {"num_characters": 7}),
}


def load(name: str, folder: Path) -> Any:
    return evaluate.load(str(FOLDER / name), cache_dir=str(folder))


@pytest.mark.parametrize("name", CASES)
def test_modules_are_the_metrics(name: str, tmp_path: Path) -> None:
    metric, predictions, references, made_with, computed_with = CASES[name]
    expected = metric(**made_with).compute(predictions=predictions, references=references, **computed_with)
    module = load(name, tmp_path)
    options = {**made_with, **computed_with}
    assert module.compute(predictions=predictions, references=references, **options) == expected
    for prediction, reference in zip(predictions, references, strict=True):
        module.add(prediction=prediction, reference=reference)
    assert module.compute(**options) == expected


def test_lists_of_labels_and_refusals(tmp_path: Path) -> None:
    module = load("complex_transcription", tmp_path)
    assert module.compute(predictions=[["ts", "a"]], references=[["ts", "o"]])["label_error_rate"] == 0.5
    with pytest.raises(ValueError, match="tokenize must be one of"):
        load("complex_translation", tmp_path).compute(predictions=TEXTS, references=TEXTS, tokenize="nothing")
