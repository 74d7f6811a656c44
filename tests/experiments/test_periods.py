# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Hints of the ComplexOrder slides: local roots of parses, parts of speech, and correlations with the frequency."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reporting import add_line
from experiments.grids.paper import PERIODS
from experiments.paper.periods import WordUse, by_tag, local_roots, relate, word_uses
from experiments.tables import paper as render
from scipy.stats import spearmanr

# "She said that dogs bark loudly and cats sleep": clauses of said, bark and sleep.
SENTENCE = {
    "tokens": ["She", "said", "that", "dogs", "bark", "loudly", "and", "cats", "sleep"],
    "upos": ["PRON", "VERB", "SCONJ", "NOUN", "VERB", "ADV", "CCONJ", "NOUN", "VERB"],
    "heads": [2, 0, 5, 5, 2, 5, 9, 9, 5],
    "relations": ["nsubj", "root", "mark", "nsubj", "ccomp", "advmod", "cc", "nsubj", "conj"],
}


def test_a_word_belongs_to_the_nearest_clause_above_it() -> None:
    columns = (SENTENCE["heads"], SENTENCE["relations"], SENTENCE["upos"])
    assert local_roots(*columns) == [2, 2, 5, 5, 5, 5, 9, 9, 9]
    nouns = ["NOUN" if tag == "VERB" else tag for tag in SENTENCE["upos"]]
    assert local_roots(*columns[:2], nouns)[6:] == [5, 5, 5]  # a coordinated noun starts no clause
    assert local_roots([2, 0], ["acl:relcl", "root"], ["VERB", "NOUN"]) == [1, 2]


def test_uses_are_means_over_the_occurrences_of_a_word() -> None:
    other = {
        "tokens": ["dogs", "sleep"],
        "upos": ["NOUN", "VERB"],
        "heads": [2, 0],
        "relations": ["nsubj", "root"],
    }
    uses = word_uses([SENTENCE] * 4 + [other])
    assert uses["dogs"] == WordUse("NOUN", -1.0, 1.0)
    assert uses["sleep"] == WordUse("VERB", 0.0, 0.0)
    assert "she" not in uses  # four occurrences
    late = {**other, "tokens": ["sleep", "dogs"], "upos": ["VERB", "ADJ"], "heads": [0, 1]}
    late["relations"] = ["root", "obl"]
    assert word_uses([other, other, other, late, late])["dogs"] == WordUse("NOUN", -0.2, 1.0)


def test_a_correlation_through_the_count_vanishes_if_the_count_is_given() -> None:
    generator = np.random.default_rng(0)
    words = [f"w{i}" for i in range(400)]
    count, distance = generator.random(400), generator.random(400)
    uses = {word: WordUse("NOUN", 0.1 * i, d) for i, (word, d) in enumerate(zip(words, distance + count, strict=True))}
    counts = dict(zip(words, (1e4 * count).astype(int).tolist(), strict=True))
    deltas = dict(zip(words, count + 0.1 * generator.random(400), strict=True))
    found = relate({**deltas, "missing": 1.0}, uses, counts)
    assert found["distance"] == pytest.approx(spearmanr(list(deltas.values()), distance + count).statistic)
    assert found["distance"] > 0.6
    assert abs(found["distance_given_count"]) < 0.1
    assert relate(dict(zip(words, distance, strict=True)), uses, counts)["distance_given_count"] > 0.9


def test_small_parts_of_speech_are_left_out() -> None:
    uses = {**{f"n{i}": WordUse("NOUN", 0, 0) for i in range(5)}, "in": WordUse("ADP", 0, 0)}
    periods = {**{f"n{i}": 10.0 + i for i in range(5)}, "in": 3.0, "unknown": 1.0}
    assert by_tag(periods, uses) == {"NOUN": {"words": 5, "period": 12.0}}


def test_the_table_shows_means_over_seeds(tmp_path) -> None:
    assert render.periods_table(tmp_path) == "not measured yet"
    for seed, period in ((0, 50.0), (1, 52.0)):
        tags = {"ADJ": {"words": 9, "period": period}, "X": {"words": 5, "period": 1.0}}
        same = dict.fromkeys(("position", "distance", "position_given_count", "distance_given_count", "count"), 0.1)
        found = {"mean_length": 10.0, "words": 20, "in_treebank": 18, "initial_period": 51.0, "period": period}
        line = {"row": PERIODS[0].row, "seed": seed, "tags": tags, "spearman": same, "validation_accuracy": 0.8}
        add_line(tmp_path / "paper-periods.jsonl", {**line, **found})
    lines = render.periods_table(tmp_path).splitlines()
    assert lines[2].startswith("| TREC | 10.0 | 51.0 | 51.0 ± 1.4 |")
    assert "| ADJ | 51.0 ± 1.4 (9) |" in render.tags_table(tmp_path)
