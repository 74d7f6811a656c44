# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""TranslationMetric: sacrebleu's own figures, whole corpora, and errors for what cannot be scored."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from complex_transformers import TranslationMetric
from refusals import refused

sacrebleu = pytest.importorskip("sacrebleu")

PREDICTIONS = ["The cat sat on the mat .", "a dog runs in the old park", "nothing in common here"]
REFERENCES = ["the cat sat on a mat .", "a dog runs through the old park", "ganz etwas anderes"]


def test_figures_are_those_of_sacrebleu() -> None:
    scores = TranslationMetric().compute(predictions=PREDICTIONS, references=REFERENCES)
    assert scores["bleu"] == sacrebleu.corpus_bleu(PREDICTIONS, [REFERENCES]).score
    assert scores["chrf"] == sacrebleu.corpus_chrf(PREDICTIONS, [REFERENCES]).score
    assert scores["prediction_length"] == 7 + 7 + 4
    assert scores["reference_length"] == 7 + 7 + 3
    assert scores["sentences"] == 3
    assert "case:mixed" in scores["bleu_signature"]
    assert "tok:13a" in scores["bleu_signature"]
    assert f"version:{sacrebleu.__version__}" in scores["chrf_signature"]


def test_bleu_from_its_definition() -> None:
    # 4 words in common with 5 and 5: precisions 4/5, 3/4, 2/3, 1/2 for the words "a b c d x" against "a b c d y".
    scores = TranslationMetric(tokenize="none").compute(predictions=["a b c d x"], references=["a b c d y"])
    assert scores["precisions"] == pytest.approx([80.0, 75.0, 200 / 3, 50.0])
    assert scores["bleu"] == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    short = TranslationMetric(tokenize="none").compute(predictions=["a b c d"], references=["a b c d y"])
    assert short["brevity_penalty"] == pytest.approx(2.718281828 ** (1 - 5 / 4))
    assert short["bleu"] == pytest.approx(100 * short["brevity_penalty"])


def test_case_and_tokenizer_are_options_of_the_signature() -> None:
    one = {"predictions": ["THE CAT SAT ON A MAT."], "references": ["the cat sat on a mat ."]}
    folded = TranslationMetric(lowercase=True).compute(**one)
    assert folded["bleu"] == pytest.approx(100.0)
    assert folded["chrf"] == pytest.approx(100.0)
    assert "case:lc" in folded["bleu_signature"]
    assert TranslationMetric().compute(**one)["bleu"] < 10.0
    raw = TranslationMetric(lowercase=True, tokenize="none").compute(**one)
    assert raw["bleu"] < 100.0
    assert "tok:none" in raw["bleu_signature"]


def test_batches_make_one_corpus() -> None:
    metric = TranslationMetric()
    metric.add(prediction=PREDICTIONS[0], reference=REFERENCES[0])
    metric.add_batch(predictions=PREDICTIONS[1:2], references=REFERENCES[1:2])
    whole = TranslationMetric().compute(predictions=PREDICTIONS, references=REFERENCES)
    assert metric.compute(predictions=PREDICTIONS[2:], references=REFERENCES[2:]) == whole
    with pytest.raises(ValueError, match="must have at least one translation"):  # empty after a score
        metric.compute()


def test_several_references() -> None:
    references = [[reference, "The cat sat on the mat ."] for reference in REFERENCES]
    scores = TranslationMetric().compute(predictions=PREDICTIONS, references=references)
    streams = [REFERENCES, ["The cat sat on the mat ."] * 3]
    assert scores["bleu"] == sacrebleu.corpus_bleu(PREDICTIONS, streams).score
    assert "nrefs:2" in scores["bleu_signature"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"predictions": ["a", "b"], "references": ["a"]}, ValueError, "must have equal lengths, got 2 and 1"),
        ({"predictions": [], "references": []}, ValueError, "must have at least one translation"),
        ({"predictions": ["a"]}, ValueError, "must be given together"),
        ({"predictions": "a", "references": ["a"]}, TypeError, r"predictions must be a list .*Pass \[text\]"),
        ({"predictions": ["a"], "references": "a"}, TypeError, "references must be a list"),
        ({"predictions": ["a", None], "references": ["a", "b"]}, TypeError, "prediction 1 must be a string, got None"),
        ({"predictions": [[1, 2]], "references": ["a"]}, TypeError, r"prediction 0 must be a string, got \[1, 2\]"),
        ({"predictions": ["a"], "references": [7]}, TypeError, "reference 0 must be a string or a list of strings"),
        (
            {"predictions": ["a"], "references": [["a", 7]]},
            TypeError,
            "reference 0 must be a string or a list of strings",
        ),
        ({"predictions": ["a"], "references": [[]]}, ValueError, "one or more, got 0"),
        (
            {"predictions": ["a", "b"], "references": [["a"], ["b", "c"]]},
            ValueError,
            "prediction 1 must have as many references as prediction 0",
        ),
    ],
)
def test_bad_input(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    refused(message, TranslationMetric().compute, error=error, **arguments)


def test_a_refused_batch_leaves_nothing_behind() -> None:
    metric = TranslationMetric()
    with pytest.raises(TypeError):
        metric.add_batch(predictions=["a", None], references=["a", "b"])  # type: ignore[list-item]
    refused("must have at least one translation", metric.compute)


def test_options_of_the_metric_are_none_of_compute() -> None:
    metric = TranslationMetric()
    metric.add(prediction="a b c d", reference="A b c d")
    words = r"TranslationMetric.compute\(\) must be among \[\], got lowercase, tokenize.*constructor"
    refused(words, metric.compute, error=TypeError, lowercase=True, tokenize="char")
    assert metric.compute()["sentences"] == 1  # nothing is lost


def test_unknown_tokenizer() -> None:
    refused(r"tokenize must be one of \['13a', .*, got 'moses'", TranslationMetric, tokenize="moses")


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    refused(r"\.\[translation\]", TranslationMetric, error=ImportError)
