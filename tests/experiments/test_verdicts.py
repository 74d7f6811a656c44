# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The computed verdicts of ``docs/choose.md``."""

from __future__ import annotations

import statistics

import pytest
from benchmarks.reporting import RESULTS, ROOT
from experiments.tables.choose import COMPLEX, EQUAL, WIDTH
from experiments.tables.runs import find_runs
from experiments.tables.verdicts import Pair, best_on_validation, mean_over_sets, verdict


@pytest.mark.parametrize(
    ("scores", "baseline", "lower_is_better", "expected"),
    [
        ([80.0, 82.0], [79.0, 80.5], False, "on par"),  # 1.25 apart, standard deviations 1.41 and 1.06
        ([80.0, 82.0], [79.0, 79.0], False, "better"),
        ([80.0, 82.0], [83.0], False, "worse"),
        ([2.1, 2.1], [2.2, 2.2], True, "better"),
        ([2.3], [2.2], True, "worse"),
        ([2.2], [2.2], True, "on par"),
    ],
)
def test_a_difference_within_a_standard_deviation_is_on_par(scores, baseline, lower_is_better, expected):
    assert verdict(scores, baseline, lower_is_better) == expected


def test_rows_show_scores_verdicts_and_seeds():
    pair = Pair("LSTM", "BLEU", {COMPLEX: [30.0, 32.0], WIDTH: [20.0]})
    assert pair.row() == ["LSTM", "BLEU", "31.0 ± 1.4", "", "better (20.0)", "2 / 0 / 1"]


def test_rows_are_chosen_on_validation_and_averaged_seed_by_seed():
    runs = [[{"validation": 1.0, "test": 5.0}], [{"validation": 2.0, "test": 4.0}]]
    assert best_on_validation(runs, lambda found: [run["validation"] for run in found]) == runs[1]
    assert best_on_validation(runs, lambda found: [run["validation"] for run in found], True) == runs[0]
    sets = [{COMPLEX: [1.0, 2.0], EQUAL: [1.0, 1.0]}, {COMPLEX: [3.0, 6.0]}]
    assert mean_over_sets(sets) == {COMPLEX: [2.0, 4.0]}


@pytest.mark.parametrize("page", ["README.md", "docs/choose.md"])
def test_prose_has_the_figures_of_the_networks_with_relations(page):
    text = (ROOT / page).read_text(encoding="utf-8").partition("<!-- verdicts:end -->")
    rows = ("synconmt-l-projected", "luong-relations", "synconmt-b-projected", "bahdanau-relations")
    found = find_runs(RESULTS / "synconmt.jsonl", rows)
    means = {row: statistics.fmean(run["test"]["bleu"] for run in found[row]) for row in rows}
    assert {row for row, mean in means.items() if f"{mean:.1f}" in (text[2] or text[0])} == {*rows}
