# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Classifiers and translators with phase-coherent attention beside the same networks with softmax."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.reporting import markdown_table

from experiments.grids import coherent, fair
from experiments.grids.rates import best_rate
from experiments.tables.runs import MISSING, figures, find_runs, mean_std
from experiments.tables.verdicts import verdict

__all__ = ["TABLES", "coherent_table", "translation_table"]

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


TRANSLATORS = {
    "complex_order": ("complex-order", "complex"),
    "sinusoidal_position-real": ("sinusoidal positions", "real"),
}
MEASURES = {"test BLEU": ("test/bleu", False), "validation loss": ("validation/loss", True)}


def translation_table(results: Path) -> str:
    """Tabulate BLEU, loss and learning rate of translators with both attentions, and the verdicts."""
    found = find_runs(results / "multi30k-coherent.jsonl", coherent.TRANSLATED)
    rows = []
    for name, label in TRANSLATORS.items():
        both = [found[each] for each in (f"{name}-coherent", name) if each in found]
        if len(both) < 2:
            continue
        cells = [
            f"{verdict(*scores, lower)}: {' against '.join(mean_std(each, 2) for each in scores)}"
            for place, lower in MEASURES.values()
            for scores in [[figures(runs, place) for runs in both]]
        ]
        choice = results / f"{coherent.CHOICE.name}.jsonl"
        rates = " and ".join(f"{best_rate(choice, each, coherent.RATES):g}" for each in (f"{name}-coherent", name))
        rows.append([*label, f"{both[0][0]['parameters']:,}", *cells, rates])
    return (
        markdown_table(["embedding", "network", "parameters", *MEASURES, "learning rates"], rows) if rows else MISSING
    )


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/concepts/attention-scores.md": {"coherent": coherent_table, "coherent-translation": translation_table}
}
