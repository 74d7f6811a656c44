# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The word-order data set: disjoint splits, and no label that a bag of words could give away."""

import os
from collections import Counter
from pathlib import Path

import pytest

from complex_transformers.recipes import word_order_dataset
from complex_transformers.recipes.datasets.word_order import docstring_sentences

pytest.importorskip("datasets")


@pytest.fixture(scope="module", params=["asyncio", pytest.param("", marks=pytest.mark.slow)])
def splits(request):
    """The data set of the docstrings of one package, and of the whole standard library."""
    library = Path(os.__file__).parent / request.param
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(os, "__file__", str(library / "os.py"))
        yield word_order_dataset(seed=0)


def bag(text):
    return tuple(sorted(text.split()))


def test_splits_share_no_bag_of_words(splits):
    bags = {name: {bag(text) for text in split["text"]} for name, split in splits.items()}
    assert set(bags) == {"train", "validation", "test"}
    assert not bags["train"] & bags["validation"]
    assert not bags["train"] & bags["test"]
    assert not bags["validation"] & bags["test"]


def test_every_bag_occurs_once_with_each_label(splits):
    for split in splits.values():
        labels = {}
        for text, label in zip(split["text"], split["label"], strict=True):
            labels.setdefault(bag(text), []).append(label)
        assert all(sorted(values) == [0, 1] for values in labels.values())
        # A shuffled sentence is another order of the words, so no text has both labels.
        assert max(Counter(split["text"]).values()) == 1


def test_sentences_in_order_are_those_of_the_docstrings(splits):
    sentences = docstring_sentences()
    assert "return a copy of the dictionary" not in sentences  # five words
    assert len(set(sentences)) == len(sentences)
    sentences = set(sentences)
    for split in splits.values():
        in_order = [text for text, label in zip(split["text"], split["label"], strict=True) if label == 1]
        assert set(in_order) <= sentences
        shuffled = [text for text, label in zip(split["text"], split["label"], strict=True) if label == 0]
        assert sum(text in sentences for text in shuffled) <= len(shuffled) * 0.001


def test_sizes_and_names(splits):
    rows = {name: len(split) for name, split in splits.items()}
    assert rows["validation"] == rows["test"]
    assert rows["train"] / sum(rows.values()) == pytest.approx(0.8, abs=0.01)
    assert sum(rows.values()) > (4000 if "asyncio" not in os.__file__ else 200)  # of any Python version
    assert splits["train"].features["label"].names == ["shuffled", "in order"]
    assert all(6 <= len(text.split()) <= 20 for text in splits["test"]["text"])


def test_a_seed_gives_one_data_set(splits):
    small = word_order_dataset(max_sentences=50, seed=3)
    again = word_order_dataset(max_sentences=50, seed=3)
    assert {name: split.to_dict() for name, split in small.items()} == {
        name: split.to_dict() for name, split in again.items()
    }
    assert word_order_dataset(max_sentences=50, seed=4)["test"]["text"] != small["test"]["text"]
    assert {name: len(split) for name, split in small.items()} == {"train": 80, "validation": 10, "test": 10}
