# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of text: questions, language models, translation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.reporting import markdown_table

from experiments.grids import (
    text as grids,
)
from experiments.tables.runs import (
    MISSING,
    SIZE,
    Runs,
    each,
    find_runs,
    mean_std,
    parameters,
    run_table,
    score,
    seeds,
)

__all__ = ["TABLES", "multi30k_table", "stream_table", "synconmt_length_table", "synconmt_table", "trec_table"]

FIELDS = (("complex", ""), ("real", "-real"))
TREC = ("complex_order", "complex_vanilla", "word", "learned_position", "sinusoidal_position")
MULTI30K = ("complex_order", "complex_vanilla", "sinusoidal_position", "learned_position")
SYNCONMT = {  # name of a run -> network, number field, inputs and outputs
    "synconmt-b-printed": ("SynCoNMT-B, as printed: no gates, heads `modulus`", "complex", "words, relations"),
    "synconmt-b": ("SynCoNMT-B, gates `modulus`, heads `modulus`", "complex", "words, relations"),
    "synconmt-b-gates": ("SynCoNMT-B, gates `real_part`", "complex", "words, relations"),
    "synconmt-b-scaled": ("SynCoNMT-B, gates `real_part`, heads `scaled_modulus`", "complex", "words, relations"),
    "synconmt-b-concat": ("SynCoNMT-B, gates `real_part`, heads `concat`", "complex", "words, relations"),
    "synconmt-b-own-relations": (
        "SynCoNMT-B, `real_part`, `concat`, own relations fed back",
        "complex",
        "words, relations",
    ),
    "synconmt-b-alpha": ("SynCoNMT-B, `real_part`, `concat`, own relations, alpha 0.9", "complex", "words, relations"),
    "synconmt-b-projected": ("the same with gates `projected`", "complex", "words, relations"),
    "bahdanau": ("Bahdanau, equal stored width", "real", "words"),
    "bahdanau-equal-parameters": ("Bahdanau, equal parameters", "real", "words"),
    "bahdanau-relations": ("Bahdanau, own relations, alpha 0.9, equal stored width", "real", "words, relations"),
    "bahdanau-rnn": ("Bahdanau, no gates, equal stored width", "real", "words"),
    "bahdanau-rnn-relations": ("Bahdanau, no gates, relations, equal stored width", "real", "words, relations"),
    "synconmt-l-printed": ("SynCoNMT-L, as printed: no gates, heads `modulus`", "complex", "words, relations"),
    "synconmt-l": ("SynCoNMT-L, gates `modulus`, heads `modulus`", "complex", "words, relations"),
    "synconmt-l-concat": ("SynCoNMT-L, gates `real_part`, heads `concat`", "complex", "words, relations"),
    "synconmt-l-own-relations": (
        "SynCoNMT-L, `real_part`, `concat`, own relations fed back",
        "complex",
        "words, relations",
    ),
    "synconmt-l-alpha": ("SynCoNMT-L, `real_part`, `concat`, own relations, alpha 0.9", "complex", "words, relations"),
    "synconmt-l-projected": ("the same with gates `projected`", "complex", "words, relations"),
    "synconmt-l-modulus": ("the same with gates `modulus`", "complex", "words, relations"),
    "synconmt-l-lstm": ("SynCoNMT-L with LSTMs, `real_part`, otherwise the same", "complex", "words, relations"),
    "synconmt-l-lstm-projected": ("the same with gates `projected`", "complex", "words, relations"),
    "luong": ("Luong, equal stored width", "real", "words"),
    "luong-equal-parameters": ("Luong, equal parameters", "real", "words"),
    "luong-relations": ("Luong, own relations, alpha 0.9, equal stored width", "real", "words, relations"),
    "luong-rnn": ("Luong, no gates, equal stored width", "real", "words"),
    "luong-rnn-relations": ("Luong, no gates, relations, equal stored width", "real", "words, relations"),
}
SYNCONMT_DECODERS = {  # title of a table -> how the names of its runs start
    "SynCoNMT-B and Bahdanau": ("synconmt-b", "bahdanau"),
    "SynCoNMT-L and Luong": ("synconmt-l", "luong"),
}
TREC_COLUMNS = {
    "validation": score("validation_accuracy"),
    "test": score("test_accuracy"),
    "test, per seed": each("test_accuracy"),
    "parameters": parameters,
    "training": lambda runs: f"{statistics.mean(run['seconds'] for run in runs):.0f} s",
}
TRANSLATION = {
    "seeds": seeds,
    "validation BLEU": score("validation/bleu", 2, 1),
    "test BLEU": score("test/bleu", 2, 1),
    "test, per seed": each("test/bleu", 2, 1),
    "test chrF": score("test/chrf", 2, 1),
}
ACCURACIES = {  # networks without relations have no relation accuracy
    "word accuracy": score("test_accuracy/word_accuracy"),
    "relation accuracy": score("test_accuracy/relation_accuracy"),
    "joint accuracy": score("test_accuracy/both_accuracy"),
}


def _in_both_fields(embeddings: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return name of a run -> its embedding and number field."""
    return {f"{name}{suffix}": (f"`{name}`", field) for name in embeddings for field, suffix in FIELDS}


def trec_table(results: Path) -> str:
    """Tabulate the accuracy of each embedding in both number fields; rows that were not run are marked."""
    rows = _in_both_fields(TREC)
    found = find_runs(results / "trec.jsonl", rows)
    missing = [MISSING, *[""] * (len(TREC_COLUMNS) - 1)]
    cells = {name: [column(runs) for column in TREC_COLUMNS.values()] for name, runs in found.items()}
    table = [[*labels, *cells.get(name, missing)] for name, labels in rows.items()]
    return markdown_table(["embedding", "number field", *TREC_COLUMNS], table)


def multi30k_table(results: Path, direction: str) -> str:
    """Tabulate BLEU and chrF of the networks that were run, and the sacreBLEU signatures."""
    equal = ("sinusoidal_position", "learned_position")
    rows = _in_both_fields(MULTI30K)
    rows |= {f"{name}-equal-parameters": (f"`{name}`", "real, equal parameters") for name in equal}
    found = find_runs(results / f"multi30k-{direction}.jsonl", rows)
    table = run_table(["embedding", "number field"], TRANSLATION | SIZE, rows, found)
    return f"{table}\n\n{_one_signature(found.values())}"


def synconmt_table(results: Path) -> str:
    """Tabulate BLEU, chrF and accuracies of SynCoNMT and its real twins that were run, a table for each decoder."""
    found = find_runs(results / "synconmt.jsonl", SYNCONMT)
    columns = TRANSLATION | ACCURACIES | SIZE
    labels = ["network", "number field", "inputs and outputs"]
    tables = _by_decoder(found, lambda runs: run_table(labels, columns, SYNCONMT, runs))
    return f"{tables}\n\n{_one_signature(found.values())}"


def synconmt_length_table(results: Path) -> str:
    """Tabulate test BLEU by the source length in words, with the number of sentences, a table for each decoder."""
    return _by_decoder(find_runs(results / "synconmt.jsonl", SYNCONMT), _length_table)


def _by_decoder(found: Mapping[str, Runs], write: Callable[[Mapping[str, Runs]], str]) -> str:
    """Write a table for each decoder of SynCoNMT, below its name."""
    parts = {
        title: {name: runs for name, runs in found.items() if name.startswith(names)}
        for title, names in SYNCONMT_DECODERS.items()
    }
    return "\n\n".join(f"{title}:\n\n{write(part)}" for title, part in parts.items() if part)


def _length_table(found: Mapping[str, Runs]) -> str:
    groups = next(iter(found.values()))[0]["bleu_by_length"]
    header = ["network", *(f"{group['shortest']} to {group['longest']} ({group['sentences']})" for group in groups)]
    rows = [
        [f"`{name}`", *(mean_std((run["bleu_by_length"][i]["bleu"] for run in runs), 2) for i in range(len(groups)))]
        for name, runs in found.items()
    ]
    return markdown_table(header, rows)


def _one_signature(networks: Iterable[Runs]) -> str:
    signatures = {(run["signatures"]["bleu"], run["signatures"]["chrf"]) for runs in networks for run in runs}
    if len(signatures) > 1:
        raise ValueError(f"all runs of a table must have one sacreBLEU signature, got {sorted(signatures)}")
    return "\n".join(f"BLEU: `{bleu}`; chrF: `{chrf}`." for bleu, chrf in signatures)


def stream_table(results: Path, data: str) -> str:
    """Tabulate stateful language models: bits per character, or perplexity per word."""
    words = data == "wikitext-2"
    figure, unit, digits = ("perplexity", "perplexity", 1) if words else ("bits_per_token", "bits per character", 3)
    columns = {
        "seeds": seeds,
        f"validation, {unit}": score(f"validation/{figure}", digits, 1),
        f"test, {unit}": score(f"test/{figure}", digits, 1),
        "parameters": parameters,
        "steps": lambda runs: f"{runs[0]['steps']:,}",
        "training": SIZE["training"],
    }
    found = find_runs(results / f"streams-{data}.jsonl", grids.STREAMS)
    return run_table(["network"], columns, {name: [f"`{name}`"] for name in found}, found)


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "examples/language-modeling/README.md": {
        f"streams {data}": partial(stream_table, data=data) for data in grids.STREAM_FILES
    },
    "examples/syntax-translation/README.md": {"synconmt": synconmt_table, "synconmt-length": synconmt_length_table},
    "examples/text-classification/README.md": {"trec": trec_table},
    "examples/translation/README.md": {"multi30k en-de": partial(multi30k_table, direction="en-de")},
}
