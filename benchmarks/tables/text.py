# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of text: questions, language models, translation."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.grids import text as grids
from benchmarks.reporting import markdown_table
from benchmarks.tables.runs import MISSING, Runs, parameters, read_runs, seeds, spread, training_time

__all__ = ["TABLES", "multi30k_table", "stream_table", "synconmt_length_table", "synconmt_table", "trec_table"]

FIELDS = (("complex", ""), ("real", "-real"))
TRANSLATION_HEADER = ("seeds", "validation BLEU", "test BLEU", "test, seed by seed", "test chrF")
TREC = ("complex_order", "complex_vanilla", "word", "learned_position", "sinusoidal_position")
MULTI30K = ("complex_order", "complex_vanilla", "sinusoidal_position", "learned_position")
SYNCONMT = {  # name of a run -> network, field, what it reads and writes
    "synconmt-b": ("SynCoNMT-B", "complex", "words, relations"),
    "bahdanau": ("Bahdanau", "real", "words"),
    "bahdanau-relations": ("Bahdanau", "real", "words, relations"),
    "synconmt-l": ("SynCoNMT-L", "complex", "words, relations"),
    "luong": ("Luong", "real", "words"),
    "luong-relations": ("Luong", "real", "words, relations"),
}


def trec_table(results: Path) -> str:
    """Accuracy of each embedding in both fields; a row that has not been run says so."""
    rows = []
    for embedding in TREC:
        for field, suffix in FIELDS:
            runs = read_runs(results / "trec.jsonl", embedding + suffix)
            rows.append([f"`{embedding}`", field, *(_trec_cells(runs) if runs else [MISSING, "", "", "", ""])])
    return markdown_table(
        ["embedding", "field", "validation", "test", "test, seed by seed", "parameters", "training"], rows
    )


def _trec_cells(runs: Runs) -> list[str]:
    return [
        spread((run["validation_accuracy"] for run in runs), 1, 100),
        spread((run["test_accuracy"] for run in runs), 1, 100),
        " ".join(f"{100 * run['test_accuracy']:.1f}" for run in runs),
        parameters(runs),
        f"{statistics.mean(run['seconds'] for run in runs):.0f} s",
    ]


def multi30k_table(results: Path, direction: str) -> str:
    """BLEU and chrF of the networks that were run, and the signatures of the scores."""
    rows, signatures = [], set()
    for embedding in MULTI30K:
        for field, suffix in FIELDS:
            if runs := read_runs(results / f"multi30k-{direction}.jsonl", f"{embedding}{suffix}"):
                rows.append(
                    [f"`{embedding}`", field, *_translation_cells(runs), parameters(runs), training_time(runs)]
                )
                signatures |= _signatures(runs)
    header = ["embedding", "field", *TRANSLATION_HEADER, "parameters", "training"]
    return f"{markdown_table(header, rows)}\n\n{_one_signature(signatures)}"


def synconmt_table(results: Path) -> str:
    """BLEU, chrF and accuracies of SynCoNMT and its twins that were run."""
    rows, signatures = [], set()
    for name, words in SYNCONMT.items():
        if runs := read_runs(results / "synconmt.jsonl", name):
            signatures |= _signatures(runs)
            accuracies = [_accuracy(runs, f"{part}_accuracy") for part in ("word", "relation", "both")]
            rows.append([*words, *_translation_cells(runs), *accuracies, parameters(runs), training_time(runs)])
    header = ["network", "field", "reads and writes", *TRANSLATION_HEADER]
    header += ["words right", "relations right", "both right", "parameters", "training"]
    return f"{markdown_table(header, rows)}\n\n{_one_signature(signatures)}"


def synconmt_length_table(results: Path) -> str:
    """Test BLEU by the number of words of the source, and how many sentences have so many."""
    found = {name: runs for name in SYNCONMT if (runs := read_runs(results / "synconmt.jsonl", name))}
    groups = next(iter(found.values()))[0]["bleu_by_length"] if found else []
    header = ["network", *(f"{group['shortest']} to {group['longest']} ({group['sentences']})" for group in groups)]
    rows = [
        [f"`{name}`", *(spread((run["bleu_by_length"][i]["bleu"] for run in runs), 2) for i in range(len(groups)))]
        for name, runs in found.items()
    ]
    return markdown_table(header, rows)


def _translation_cells(runs: Runs) -> list[str]:
    return [
        seeds(runs),
        spread((run["validation"]["bleu"] for run in runs), 2),
        spread((run["test"]["bleu"] for run in runs), 2),
        " ".join(f"{run['test']['bleu']:.2f}" for run in runs),
        spread((run["test"]["chrf"] for run in runs), 2),
    ]


def _accuracy(runs: Runs, key: str) -> str:
    """Accuracy on the test part; networks of words alone have none of relations."""
    values = [run["test_accuracy"].get(key) for run in runs]
    return spread([value for value in values if value is not None], 1, 100) if None not in values else ""


def _signatures(runs: Runs) -> set[tuple[str, str]]:
    return {(run["signatures"]["bleu"], run["signatures"]["chrf"]) for run in runs}


def _one_signature(signatures: set[tuple[str, str]]) -> str:
    if len(signatures) > 1:
        raise ValueError(f"scores with unequal signatures do not fit one table: {sorted(signatures)}")
    return "\n".join(f"BLEU: `{bleu}`; chrF: `{chrf}`." for bleu, chrf in signatures)


def stream_table(results: Path, data: str) -> str:
    """Language models on a stream, a row for each network that was run: bits per character, or perplexity of words."""
    words = data == "wikitext-2"
    score, unit, digits = ("perplexity", "perplexity", 1) if words else ("bits_per_token", "bits per character", 3)
    rows = [
        [
            f"`{row}`",
            seeds(runs),
            *(spread((run[part][score] for run in runs), digits) for part in ("validation", "test")),
            parameters(runs),
            f"{runs[0]['steps']:,}",
            training_time(runs),
        ]
        for row in grids.STREAMS
        if (runs := read_runs(results / f"streams-{data}.jsonl", row))
    ]
    header = ["network", "seeds", f"validation, {unit}", f"test, {unit}", "parameters", "steps", "training"]
    return markdown_table(header, rows)


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "examples/language-modeling/README.md": {
        f"streams {data}": partial(stream_table, data=data) for data in grids.STREAM_FILES
    },
    "examples/syntax-translation/README.md": {"synconmt": synconmt_table, "synconmt-length": synconmt_length_table},
    "examples/text-classification/README.md": {"trec": trec_table},
    "examples/translation/README.md": {"multi30k en-de": partial(multi30k_table, direction="en-de")},
}
