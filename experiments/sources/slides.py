# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The slides of Wang et al. (ICLR 2020), *Encoding word order in complex embeddings*."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy.stats import t as student

from experiments.grids import GRIDS
from experiments.sources.complex_order import PAGE, PROSE, graph_network
from experiments.sources.rows import NOT_RUN, Part, Row
from experiments.tables.paper import LEVEL
from experiments.tables.runs import figures, find_runs, mean_std

__all__ = ["SLIDES"]

HINTS = "#slides-average-period-parts-of-speech-and-the-local-root"


def period_runs(results: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the runs of ``paper-periods``."""
    return find_runs(results / "paper-periods.jsonl", GRIDS["paper-periods"].rows)


def periods(results: Path) -> str:
    """Return the average period of each setting."""
    if not (found := period_runs(results)):
        return NOT_RUN
    means = ", ".join(mean_std(figures(runs, "period"), 1) for runs in found.values())
    return (
        f"not reproduced: {means} positions in {len(found)} settings; the initial frequencies and their learning rate "
        f"decide, not the length of a sentence ([table]({PAGE}{HINTS}))"
    )


def local_root(results: Path) -> str:
    """Return the largest correlation of a word's frequency with its place relative to the local root."""
    if not (found := period_runs(results)):
        return NOT_RUN
    tested = [
        (abs(value), run["in_treebank"])
        for runs in found.values()
        for run in runs
        for name, value in run["spearman"].items()
        if name != "count"
    ]
    return (
        "the slides have no figure. Tested as Spearman correlations of a word's frequency with its position and "
        f"distance: at most {max(tested)[0]:.2f}; {significant(tested)} of {len(tested)} reach p = 0.05, "
        f"not corrected ([table]({PAGE}{HINTS}))"
    )


def significant(tested: Sequence[tuple[float, int]]) -> int:
    """Count the correlations with p of at most 0.05, given with their number of words."""
    quantiles = [(r, words - 2, student.isf(LEVEL / 2, words - 2)) for r, words in tested]
    return sum(r >= t / (freedom + t**2) ** 0.5 for r, freedom, t in quantiles)


def adjectives(results: Path) -> str:
    """Return how far the average period of adjectives is from the average of all words."""
    if not (found := period_runs(results)):
        return NOT_RUN
    far = [
        abs(statistics.fmean(figures(runs, "tags/ADJ/period")) / statistics.fmean(figures(runs, "period")) - 1)
        for runs in found.values()
    ]
    return (
        f"not reproduced: the average period of adjectives is within {100 * max(far):.1f} % of the average of all "
        f"words ([table]({PAGE}{HINTS}))"
    )


SLIDES = (
    Part(
        "Slides",
        "slide",
        (
            Row("Experience, understanding words, hints", "introduction", result=PROSE),
            Row("Why word position is important", "some networks ignore the order of words", result=PROSE),
            Row("Position embedding", "solution 1: PE vanilla", "nn.WordPositionEmbedding"),
            Row(
                "TPE",
                "solution 2: trigonometric",
                "nn.WordPositionEmbedding",
                result="the matrix: [errata](../errata.md)",
            ),
            Row(
                "Problems of TPE",
                "trained sinusoids lose relative distances",
                "experiments/paper/trained_positions.py",
                "paper-trained-tpe",
                f"trained sinusoids: [table]({PAGE}#table-2-trained-sinusoids)",
            ),
            Row("Word vectors to word functions", "one word, many positions", "nn.ComplexOrderEmbedding"),
            Row("Desiderata, Properties 1 and 2", "as in the paper", "nn.ComplexOrderEmbedding"),
            Row("The proposed embedding", "Eq. 5 of the paper", "nn.ComplexOrderEmbedding"),
            Row("Link to TPE, last slide", "App. A of the paper", "tests/nn/test_embedding.py"),
            Row(
                "Example of proposed embedding",
                "three waves of a word",
                "analysis.plot_waves",
                "python -m experiments.paper figure1 --dataset trec",
                f"[drawn]({PAGE}#figure-1-waves)",
            ),
            Row(
                "Words as waves",
                "three words of a sentence",
                "analysis.plot_waves",
                "python -m experiments.paper figure1 --dataset trec",
                f"drawn for [other words]({PAGE}#figure-1-waves), of the vocabulary of TREC",
            ),
            Row("Talking is cheap", "listing of App. C", "nn.ComplexOrderEmbedding", result="[errata](../errata.md)"),
            Row(
                "Applications",
                "halves as a real vector of double size",
                "nn.ComplexOrderEmbedding",
                result='`readout="concat"` and [BERT on waves](../../examples/drop-in/README.md)',
            ),
            Row("Performance 1, 2", "Tables 2, 5 and 6 of the paper", result="[paper](complex-order.md)"),
            Row(
                "Parameter scale, Table 4",
                "the formulas of the sharing schemes",
                "nn.ComplexOrderEmbedding",
                'paper-table4 "trec,*"',
                "[schemes](../models/complex_order.md#embedding-schemes)",
            ),
            Row("Time cost", "Figure 2 of the paper", result="[paper](complex-order.md)"),
            Row("Case studies, Table 7", "Table 7 of the paper", result="[paper](complex-order.md)"),
            Row(
                "PE in GCN",
                "graph network with five embeddings",
                "ComplexTextGCNForSequenceClassification, nn.GraphConvolution",
                'paper-table2 "*,GCN,*"',
                f"[table]({PAGE}#slides-graph-network): on a window graph, since the data sets have no parses",
            ),
            Row(
                "PE in GCN",
                "positions are redundant where the network knows the structure",
                "",
                'paper-table2 "*,GCN,*"',
                graph_network,
            ),
            Row("Take-away messages", "", result=PROSE),
            Row(
                "Hint 1, Figure 3: periods of 14 to 17 positions",
                "length of a sentence",
                "experiments/paper/periods.py",
                "paper-periods",
                periods,
            ),
            Row(
                "Hint 2: distance to the local root",
                "a periodic indicator of the parse",
                "experiments/paper/periods.py",
                "paper-periods",
                local_root,
            ),
            Row(
                "Adjectives may be more flexible, Table 5",
                "frequency by part of speech",
                "experiments/paper/periods.py",
                "paper-periods",
                adjectives,
            ),
        ),
    ),
)
