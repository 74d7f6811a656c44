# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest

from complex_transformers import LanguageModelMetric, language_model_scores
from refusals import refused


def test_scores_are_those_of_the_definitions():
    probabilities = [0.5, 0.25, 0.125, 0.0625]  # 1, 2, 3 and 4 bits
    metric = LanguageModelMetric()
    scores = metric.compute(predictions=np.log(probabilities), references=[4, 5, 6, 7], num_characters=20)
    assert scores["bits_per_token"] == pytest.approx(2.5)
    assert scores["perplexity"] == pytest.approx(2**2.5)
    assert scores["loss"] == pytest.approx(2.5 * math.log(2))
    assert scores["bits_per_character"] == pytest.approx(10 / 20)
    assert scores["tokens"] == 4


def test_a_uniform_model_has_the_perplexity_of_its_vocabulary():
    scores = LanguageModelMetric().compute(predictions=np.full((3, 5), -math.log(27)), references=np.zeros((3, 5)))
    assert scores["perplexity"] == pytest.approx(27)
    assert scores["bits_per_token"] == pytest.approx(math.log2(27))


def test_batches_add_up_token_by_token_and_are_forgotten_afterwards():
    metric = LanguageModelMetric()
    metric.add_batch(predictions=[[-1.0, -2.0], [-4.0, -99.0]], references=[[3, 4], [5, -100]])
    metric.add(prediction=-5.0, reference=6)
    assert metric.compute()["loss"] == pytest.approx(3.0)
    refused("must have at least one", metric.compute)


def test_an_unknown_option_is_named_and_nothing_is_lost():
    metric = LanguageModelMetric()
    metric.add(prediction=-1.0, reference=1)
    refused(r"must be among \['num_characters'\], got foo", metric.compute, error=TypeError, foo=1)
    assert metric.compute(num_characters=2)["tokens"] == 1


def test_an_impossible_token_is_infinitely_surprising():
    scores = LanguageModelMetric().compute(predictions=[-math.inf], references=[1])
    assert scores["perplexity"] == scores["loss"] == math.inf
    assert language_model_scores(1e6, 1)["perplexity"] == math.inf
    assert math.isnan(language_model_scores(math.nan, 3)["perplexity"])


def test_no_tokens_have_no_scores():
    refused("num_tokens must be 1 or more, got 0", language_model_scores, 0.0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"predictions": [-1.0], "references": [1, 2]}, r"predictions must have shape \[2\], got \[1\]"),
        ({"predictions": [0.5], "references": [1]}, "0 or less, got 0.5"),
        ({"predictions": [math.nan], "references": [1]}, "0 or less, got nan"),
        ({"predictions": [-1.0]}, "must be given together"),
        ({"predictions": [-1.0], "references": [1], "num_characters": 0}, "1 or more, got 0"),
        ({"predictions": [-1.0], "references": [-100]}, "must have at least one"),
    ],
)
def test_wrong_scores_are_refused(arguments, message):
    refused(message, LanguageModelMetric().compute, **arguments)
