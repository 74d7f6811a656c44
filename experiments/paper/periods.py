# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Hints of the ComplexOrder slides: average period, part of speech, and distance to the local root.

Frequencies are trained on a data set; parts of speech and parses are those of the English Web Treebank.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from scipy.stats import spearmanr

from complex_transformers.analysis import frequency_table
from complex_transformers.data.syntax import read_conllu
from experiments.paper.data import data_folder
from experiments.paper.figures import AT_LEAST, frequent_words
from experiments.paper.protocol import Cell, build_model, encoded, train_cell

__all__ = ["TREEBANK", "WordUse", "local_roots", "period_run", "relate", "word_uses"]

TREEBANK = "syntax/en_ewt-train.conllu.gz"
# Relations of clauses in Universal Dependencies; a verb that is coordinated also starts one.
CLAUSES = ("root", "csubj", "ccomp", "xcomp", "advcl", "acl", "parataxis")
USES, WORDS = 5, 5  # minimum uses of a word in the treebank, minimum words of a part of speech


@dataclass(frozen=True)
class WordUse:
    """Most frequent part of speech of a word, and its mean position and mean distance relative to its local root."""

    tag: str
    position: float  # negative before the local root, positive after it
    distance: float


def is_local_root(relation: str, tag: str) -> bool:
    """Return whether a word is the head of a clause."""
    kind = relation.partition(":")[0]
    return kind in CLAUSES or (kind == "conj" and tag == "VERB")


def local_roots(heads: Sequence[int], relations: Sequence[str], tags: Sequence[str]) -> list[int]:
    """Return the head of the clause of each word, counted from 1: the nearest one at or above the word."""
    roots = []
    for word in range(1, len(heads) + 1):
        while heads[word - 1] and not is_local_root(relations[word - 1], tags[word - 1]):
            word = heads[word - 1]
        roots.append(word)
    return roots


def word_uses(sentences: Iterable[Mapping[str, Any]]) -> dict[str, WordUse]:
    """Return the lower-cased words that occur at least ``USES`` times, with the means over their occurrences."""
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    places: dict[str, list[int]] = defaultdict(list)
    for found in sentences:
        roots = local_roots(found["heads"], found["relations"], found["upos"])
        for place, (token, tag, root) in enumerate(zip(found["tokens"], found["upos"], roots, strict=True), 1):
            tags[token.lower()][tag] += 1
            places[token.lower()].append(place - root)
    return {
        word: WordUse(tags[word].most_common(1)[0][0], statistics.fmean(at), statistics.fmean(map(abs, at)))
        for word, at in places.items()
        if len(at) >= USES
    }


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's rank correlation."""
    return float(spearmanr(one, other).statistic)


def given(both: float, one: float, other: float) -> float:
    """Return a partial correlation from the correlation of two variables and of each with the third."""
    return (both - one * other) / math.sqrt((1 - one**2) * (1 - other**2))


def relate(deltas: Mapping[str, float], uses: Mapping[str, WordUse], counts: Mapping[str, int]) -> dict[str, float]:
    """Return Spearman's correlation of delta with count, position and distance, and the last two given the count.

    The count is how often a word occurs in the training texts: rare words are trained less.
    """
    words = [word for word in deltas if word in uses]
    delta, count = [deltas[word] for word in words], [float(counts[word]) for word in words]
    found = {"count": spearman(delta, count)}
    for name in ("position", "distance"):
        values = [getattr(uses[word], name) for word in words]
        found[name] = spearman(delta, values)
        found[f"{name}_given_count"] = given(found[name], found["count"], spearman(values, count))
    return found


def by_tag(periods: Mapping[str, float], uses: Mapping[str, WordUse]) -> dict[str, dict[str, float]]:
    """Return number of words and mean period of every part of speech with at least ``WORDS`` words."""
    groups: dict[str, list[float]] = defaultdict(list)
    for word, period in periods.items():
        if word in uses:
            groups[uses[word].tag].append(period)
    return {
        tag: {"words": len(found), "period": round(statistics.fmean(found), 3)}
        for tag, found in sorted(groups.items())
        if len(found) >= WORDS
    }


def period_run(cell: Cell) -> dict[str, Any]:
    """Train a cell and relate the mean absolute frequency of its frequent words to the treebank."""
    parts, tokenizer, labels = encoded(cell.dataset, cell.fold)
    torch.manual_seed(cell.seed)
    start, _ = build_model(cell, tokenizer.get_vocab(), len(labels))
    trainer, result = train_cell(cell)
    uses = word_uses(read_conllu(data_folder() / TREEBANK))
    words = frequent_words(cell.dataset, AT_LEAST)
    ids = parts["train"]["input_ids"]
    counts = Counter(tokenizer.convert_ids_to_tokens([i for sentence in ids for i in sentence]))
    before, after = (frequency_table(model, tokenizer, words) for model in (start, trainer.model))
    deltas = {row.word: row.frequency for row in after}
    return {
        **{name: result[name] for name in ("validation_accuracy", "best_epoch", "seconds", "machine")},
        "mean_length": round(statistics.fmean(map(len, ids)), 2),
        "words": len(words),
        "in_treebank": sum(word in uses for word in words),
        "initial_period": round(statistics.fmean(row.period for row in before), 3),
        "period": round(statistics.fmean(row.period for row in after), 3),
        "spearman": {name: round(value, 4) for name, value in relate(deltas, uses, counts).items()},
        "tags": by_tag({row.word: row.period for row in after}, uses),
    }
