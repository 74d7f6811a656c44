# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""pipeline(): each task on a saved folder, single and batched, with the model's own numbers."""

import json

import pytest
import torch
from transformers import pipeline

from complex_transformers import build_tokenizer
from complex_transformers.models import family_class, model_families
from families import BAG, FAMILIES
from refusals import refused

TEXTS = ["the cat sat on the mat", "a dog ran", "the small dog sat on a big old mat near the cat"]
NAMES = ("animal", "thing", "neither")
TASKS = {
    "feature-extraction": "AutoModel",
    "fill-mask": "AutoModelForMaskedLM",
    "text-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
}
# A family with a processor reads more than a text.
CLASSIFIERS = [
    name
    for name, classes in model_families().items()
    if TASKS["text-classification"] in classes and "AutoProcessor" not in classes
]


@pytest.fixture
def saved(tmp_path):
    """The pipeline of a task on a saved model of a family, and what the model says of a text."""

    def save(task, family="complex_order", **options):
        tokenizer = build_tokenizer(TEXTS)
        words = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        sizes = {**FAMILIES[family].sizes, **({**BAG, **words} if family == "complex_mlp" else words)}
        config = family_class(family, "AutoConfig")(**sizes, id2label=dict(enumerate(NAMES)))
        torch.manual_seed(0)
        model = family_class(family, TASKS[task])(config).eval()
        model.save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)

        def answer(text):
            with torch.no_grad():
                return model(**tokenizer(text, return_tensors="pt"))[0][0]

        return pipeline(task, model=str(tmp_path), **options), answer

    return save


def same(a, b):
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        if isinstance(one, list):
            same(one, other)
        else:
            assert {k: v for k, v in one.items() if k != "score"} == {k: v for k, v in other.items() if k != "score"}
            assert one["score"] == pytest.approx(other["score"], abs=1e-5)


@pytest.mark.parametrize("family", CLASSIFIERS)
def test_text_classification(saved, family):
    classify, logits = saved("text-classification", family, top_k=None)
    for text, answer in zip(TEXTS, classify(TEXTS, batch_size=3), strict=True):  # texts of different lengths
        scores = {row["label"]: row["score"] for row in answer}
        assert [scores[name] for name in NAMES] == pytest.approx(logits(text).softmax(-1).tolist(), abs=1e-5)
        alone = classify(text)
        same(alone[0] if isinstance(alone[0], list) else alone, answer)
    assert (logits(TEXTS[0]) - logits(TEXTS[1])).abs().max() > 1e-3  # not the answer of a model that ignores its input
    same(classify([TEXTS[0], ""], batch_size=2)[:1], classify(TEXTS[:1]))


def test_fill_mask(saved):
    fill, logits = saved("fill-mask")
    texts = ["the <mask> sat", "a big <mask> ran near the cat"]
    same(fill(texts, batch_size=2), [fill(text) for text in texts])
    best = fill(texts[0])[0]
    probabilities = logits(texts[0])[1].softmax(-1)
    assert best["score"] == pytest.approx(probabilities.max().item(), abs=1e-5)
    assert best["token"] == probabilities.argmax().item()
    assert best["sequence"] == f"the {best['token_str']} sat"
    assert {row["token_str"] for row in fill(texts[0], targets=["cat", "dog"])} == {"cat", "dog"}


def test_token_classification(saved):
    tag, logits = saved("token-classification", aggregation_strategy="none", ignore_labels=[])
    same(tag(TEXTS, batch_size=3), [tag(text) for text in TEXTS])
    rows = tag(TEXTS[0])
    assert [TEXTS[0][row["start"] : row["end"]] for row in rows] == TEXTS[0].split()
    assert [row["entity"] for row in rows] == [NAMES[i] for i in logits(TEXTS[0]).argmax(-1).tolist()]


def test_feature_extraction(saved):
    extract, states = saved("feature-extraction")
    features = extract(TEXTS[1])
    torch.testing.assert_close(torch.tensor(features[0]), states(TEXTS[1]), atol=1e-5, rtol=1e-5)
    assert json.loads(json.dumps(features)) == features  # real halves, not Python complex numbers
    batched = extract(TEXTS, batch_size=3)
    torch.testing.assert_close(torch.tensor(batched[1][0])[:3], states(TEXTS[1]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("task", [task for task in TASKS if task != "fill-mask"])
def test_nothing_but_empty_text_is_a_clear_error(saved, task):
    refused("Leave out empty texts", saved(task)[0], "")
