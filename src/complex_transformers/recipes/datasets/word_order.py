# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The built-in word-order data set: is a sentence in order, or are its words shuffled?

The sentences are docstrings of Python's standard library, which every machine has. Each occurs once in order and once
shuffled in the same split. Both have the same words, so a model without order information stays at 50 %.
"""

from __future__ import annotations

import ast
import os
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...data.extras import require_datasets

if TYPE_CHECKING:
    from datasets import DatasetDict

__all__ = ["docstring_sentences", "word_order_dataset"]

LABELS = ("shuffled", "in order")

_SKIPPED_FOLDERS = {"test", "tests", "site-packages", "dist-packages", "idlelib", "lib2to3", "__pycache__"}
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")


def docstring_sentences(min_words: int = 6, max_words: int = 20) -> list[str]:
    """Return the distinct lower-case sentences of the standard library's docstrings, words only, in a fixed order."""
    root = Path(os.__file__).parent
    sentences: dict[str, None] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - _SKIPPED_FOLDERS)
        for name in sorted(files):
            if name.endswith(".py"):
                for sentence in _sentences_of_file(Path(folder) / name):
                    words = _WORD.findall(sentence.lower())
                    if min_words <= len(words) <= max_words:
                        sentences[" ".join(words)] = None
    return list(sentences)


def _sentences_of_file(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return []  # a few files of the library are broken on purpose
    sentences: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node) or ""
            for paragraph in re.split(r"\n\s*\n", text):
                # Prose only: code, tables and argument lists have brackets, signs or prompts.
                if not re.search(r">>>|[|=<>{}\[\]_\\]", paragraph):
                    sentences += re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split()))
    return sentences


def _shuffled(words: list[str], generator: random.Random) -> list[str]:
    while True:
        order = generator.sample(words, len(words))
        if order != words:
            return order


def word_order_dataset(max_sentences: int | None = None, seed: int = 0) -> DatasetDict:
    """Build the splits train, validation and test (80/10/10 of the sentences).

    Columns ``text`` and ``label`` (0 shuffled, 1 in order). Splits share no sentence and no bag of words.

    Args:
        max_sentences: use at most this many; None for all (about 10,000, depending on the Python version).
        seed: seed of the splits and of the shuffles.
    """
    datasets = require_datasets("this data set needs datasets")
    generator = random.Random(seed)
    # One sentence for each bag of words, so that no permutation of a test sentence is seen in training.
    bags = {tuple(sorted(s.split())): s for s in docstring_sentences() if len(set(s.split())) > 1}
    sentences = sorted(bags.values())
    generator.shuffle(sentences)
    sentences = sentences[:max_sentences]
    held_out = len(sentences) // 10
    sentences_of = {
        "test": sentences[:held_out],
        "validation": sentences[held_out : 2 * held_out],
        "train": sentences[2 * held_out :],
    }
    label = datasets.ClassLabel(names=list(LABELS))
    features = datasets.Features({"text": datasets.Value("string"), "label": label})
    splits = {}
    for name in ("train", "validation", "test"):
        words = [sentence.split() for sentence in sentences_of[name]]
        texts = [" ".join(w) for w in words] + [" ".join(_shuffled(w, generator)) for w in words]
        labels = [1] * len(words) + [0] * len(words)
        splits[name] = datasets.Dataset.from_dict({"text": texts, "label": labels}, features=features)
    return datasets.DatasetDict(splits)
