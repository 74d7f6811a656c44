# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentence classifiers with phase-coherent attention beside the same networks with softmax."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.reporting import markdown_table

from experiments.grids import coherent, fair
from experiments.tables.runs import MISSING, figures, find_runs, mean_std
from experiments.tables.verdicts import verdict

__all__ = ["TABLES", "coherent_table"]

LABELS = {
    ("complex-order", False): ("complex-order", "complex"),
    ("complex-vanilla", False): ("complex-vanilla, no positions", "complex"),
    ("TPE", False): ("sinusoidal positions", "real, equal width"),
    ("TPE", True): ("sinusoidal positions", "real, equal parameters"),
}
DATA = {"trec": "TREC", "mr": "MR", "sst2": "SST-2"}


def coherent_table(results: Path) -> str:
    """Tabulate the test accuracy with cosine and sigmoid, and the verdict beside softmax."""
    ours = find_runs(results / "fair-coherent.jsonl", coherent.ROWS)
    softmax = find_runs(results / "fair.jsonl", coherent.ROWS)

    def cell(row: str) -> str:
        if row not in ours or row not in softmax:
            return ""
        scores = [figures(found[row], "test_accuracy") for found in (ours, softmax)]
        both = " against ".join(mean_std(each, 1, 100) for each in scores)
        return f"{verdict(*scores)}: {both}"

    rows = [
        [*label, *(cell(fair.Row(data, "Transformer", *shown).name) for data in DATA)]
        for shown, label in LABELS.items()
    ]
    return markdown_table(["embedding", "network", *DATA.values()], rows) if ours else MISSING


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/concepts/attention-scores.md": {"coherent": coherent_table}
}
