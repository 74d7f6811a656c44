# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""pipeline(): each task on a saved folder, single and batched, with the model's own numbers."""

import json

import pytest
import torch
from transformers import AutoTokenizer, pipeline

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
    build_tokenizer,
)

TEXTS = ["the cat sat on the mat", "a dog ran", "the small dog sat on a big old mat near the cat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("pipelines")
    tokenizer = build_tokenizer(TEXTS)
    torch.manual_seed(0)
    for head in (
        ComplexOrderModel,
        ComplexOrderForMaskedLM,
        ComplexOrderForSequenceClassification,
        ComplexOrderForTokenClassification,
    ):
        config = ComplexOrderConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_attention_heads=2,
            intermediate_size=16,
            initializer_range=0.5,
            pad_token_id=tokenizer.pad_token_id,
            id2label={0: "animal", 1: "thing", 2: "neither"},
            label2id={"animal": 0, "thing": 1, "neither": 2},
        )
        head(config).save_pretrained(root / head.__name__)
        tokenizer.save_pretrained(root / head.__name__)
    return root


def logits(model_class, path, text):
    model = model_class.from_pretrained(path).eval()
    with torch.no_grad():
        return model(**AutoTokenizer.from_pretrained(path)(text, return_tensors="pt"))[0][0]


def same(a, b):
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        if isinstance(one, list):
            same(one, other)
        else:
            assert {k: v for k, v in one.items() if k != "score"} == {k: v for k, v in other.items() if k != "score"}
            assert one["score"] == pytest.approx(other["score"], abs=1e-5)


def test_text_classification(folder):
    path = folder / "ComplexOrderForSequenceClassification"
    classify = pipeline("text-classification", model=str(path), top_k=None)
    single = [classify(text) for text in TEXTS]
    same(classify(TEXTS, batch_size=3), [s[0] if isinstance(s[0], list) else s for s in single])
    expected = logits(ComplexOrderForSequenceClassification, path, TEXTS[1]).softmax(-1)
    scores = {row["label"]: row["score"] for row in classify(TEXTS[1:2])[0]}
    assert [scores[label] for label in ("animal", "thing", "neither")] == pytest.approx(expected.tolist(), abs=1e-5)
    assert max(expected) > 0.35  # not the uniform answer of a model that ignores its input


def test_fill_mask(folder):
    path = folder / "ComplexOrderForMaskedLM"
    fill = pipeline("fill-mask", model=str(path))
    texts = ["the <mask> sat", "a big <mask> ran near the cat"]
    same(fill(texts, batch_size=2), [fill(text) for text in texts])
    best = fill(texts[0])[0]
    probabilities = logits(ComplexOrderForMaskedLM, path, texts[0])[1].softmax(-1)
    assert best["score"] == pytest.approx(probabilities.max().item(), abs=1e-5)
    assert best["token"] == probabilities.argmax().item()
    assert best["sequence"] == f"the {best['token_str']} sat"
    assert {row["token_str"] for row in fill(texts[0], targets=["cat", "dog"])} == {"cat", "dog"}


def test_token_classification(folder):
    path = folder / "ComplexOrderForTokenClassification"
    tag = pipeline("token-classification", model=str(path), aggregation_strategy="none", ignore_labels=[])
    same(tag(TEXTS, batch_size=3), [tag(text) for text in TEXTS])
    rows = tag(TEXTS[0])
    assert [TEXTS[0][row["start"] : row["end"]] for row in rows] == TEXTS[0].split()
    expected = logits(ComplexOrderForTokenClassification, path, TEXTS[0])
    names = ("animal", "thing", "neither")
    assert [row["entity"] for row in rows] == [names[i] for i in expected.argmax(-1).tolist()]


def test_feature_extraction(folder):
    path = folder / "ComplexOrderModel"
    extract = pipeline("feature-extraction", model=str(path))
    expected = logits(ComplexOrderModel, path, TEXTS[1])
    features = extract(TEXTS[1])
    torch.testing.assert_close(torch.tensor(features[0]), expected, atol=1e-5, rtol=1e-5)
    assert json.loads(json.dumps(features)) == features  # real halves, not Python complex numbers
    batched = extract(TEXTS, batch_size=3)
    torch.testing.assert_close(torch.tensor(batched[1][0])[:3], expected, atol=1e-5, rtol=1e-5)


def test_an_empty_text_does_not_cost_its_batch(folder):
    ask = pipeline("text-classification", model=str(folder / "ComplexOrderForSequenceClassification"))
    with_empty, alone = ask([TEXTS[0], ""], batch_size=2), ask(TEXTS[0])
    assert with_empty[0]["label"] == alone[0]["label"]
    assert with_empty[0]["score"] == pytest.approx(alone[0]["score"], abs=1e-6)


@pytest.mark.parametrize(
    ("task", "head"),
    [
        ("text-classification", "ComplexOrderForSequenceClassification"),
        ("token-classification", "ComplexOrderForTokenClassification"),
        ("feature-extraction", "ComplexOrderModel"),
    ],
)
def test_nothing_but_empty_text_is_a_clear_error(folder, task, head):
    with pytest.raises(ValueError, match="leave out empty texts"):
        pipeline(task, model=str(folder / head))("")
