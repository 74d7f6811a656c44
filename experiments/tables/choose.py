# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex and real networks compared: the tables of ``docs/comparisons.md``."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.reporting import markdown_table, read_lines

from experiments.grids.fair import DATASETS, FINAL_SEEDS
from experiments.grids.thesis import FIELDS
from experiments.paper.protocol import EMBEDDINGS, PAPER_NETWORKS
from experiments.tables.babi import (
    summary_table as memory_table,
)
from experiments.tables.runs import MISSING, SIZE, Runs, find_runs, mean_std, run_table, score, seeds
from experiments.thesis.protocol import ACTIVATIONS

__all__ = ["TABLES", "TASKS", "Task"]

COMPLEX, WIDTH, EQUAL = "complex", "real, equal width", "real, equal parameters"


@dataclass(frozen=True)
class Task:
    """A data set, how it is scored, and the networks of a grid that are compared on it."""

    grid: str
    measure: str
    place: str
    rows: dict[str, tuple[str, str]]
    digits: int = 1
    scale: float = 1.0
    lower_is_better: bool = False

    def table(self, results: Path) -> str:
        """Write a row for each network that was run: score with its standard deviation, seeds, parameters, time."""
        found = find_runs(results / f"{self.grid}.jsonl", self.rows)
        columns = {self.measure: score(self.place, self.digits, self.scale), "seeds": seeds, **SIZE}
        return run_table(["network", "comparison"], columns, self.rows, found) if found else MISSING


_STREAMS = {
    "complex_order": ("complex-order", COMPLEX),
    "complex_vanilla": ("complex-vanilla", COMPLEX),
    "real": ("plain embedding", WIDTH),
    "real-equal-parameters": ("plain embedding", EQUAL),
}
_CAUSAL = {
    "rotary": ("rotary", COMPLEX),
    "rotary_word": ("rotary, frequencies per token", COMPLEX),
    "complex_order": ("ComplexOrder embedding", COMPLEX),
    "complex_order-slow": ("ComplexOrder embedding, initial frequencies / 100", COMPLEX),
    "real": ("rotary (Llama)", WIDTH),
    "real-equal-parameters": ("rotary (Llama)", EQUAL),
}
_RECURRENT = {
    "LM-C": ("LSTM", COMPLEX),
    "causal-Z": ("LSTM on a causal Z-transform of real embeddings", COMPLEX),
    "LM-R": ("LSTM", WIDTH),
    "LM-R-equal-parameters": ("LSTM", EQUAL),
    "LRU": ("linear recurrence", COMPLEX),
    "LRU-real": ("linear recurrence", WIDTH),
    "LRU-real-equal-parameters": ("linear recurrence", EQUAL),
}
_SPEECH = {
    "fully_spectral": ("Fully Spectral, complex bins", COMPLEX),
    "fully_spectral-modulus": ("Fully Spectral, moduli", COMPLEX),
    "spectral_scaled": ("Spectral-Scaled", COMPLEX),
    "real": ("log-mel", WIDTH),
}


def _causal(data: str, measure: str, place: str, digits: int) -> Task:
    return Task(
        "causal",
        measure,
        place,
        {f"{data},{row}": labels for row, labels in _CAUSAL.items()},
        digits,
        lower_is_better=True,
    )


TASKS = {
    "text8": Task("long-text8", "bits per character", "test/bits_per_token", _STREAMS, 3, lower_is_better=True),
    "wikitext-2": Task("long-wikitext-2", "perplexity per word", "test/perplexity", _STREAMS, lower_is_better=True),
    "causal-text8": _causal("text8", "bits per character", "test/bits_per_token", 3),
    "recurrent": Task(
        "thesis-language-models", "perplexity per word", "test/perplexity", _RECURRENT, lower_is_better=True
    ),
    "causal-wikitext-2": _causal("wikitext-2", "perplexity per token", "test/perplexity", 1),
    "translation": Task(
        "multi30k-en-de",
        "BLEU",
        "test/bleu",
        {
            "complex_order": ("complex-order", COMPLEX),
            "complex_vanilla": ("complex-vanilla", COMPLEX),
            "sinusoidal_position-real": ("TPE", WIDTH),
            "sinusoidal_position-equal-parameters": ("TPE", EQUAL),
            "learned_position-real": ("PE", WIDTH),
            "learned_position-equal-parameters": ("PE", EQUAL),
        },
    ),
    "synconmt": Task(
        "synconmt",
        "BLEU",
        "test/bleu",
        {
            "synconmt-b-printed": ("SynCoNMT-B, as printed: no gates, heads `modulus`", COMPLEX),
            "synconmt-b": ("SynCoNMT-B, gates `modulus`, heads `modulus`", COMPLEX),
            "synconmt-b-concat": ("SynCoNMT-B, gates `real_part`, heads `concat`", COMPLEX),
            "synconmt-b-own-relations": ("SynCoNMT-B, also own relations fed back", COMPLEX),
            "synconmt-b-alpha": ("SynCoNMT-B, also alpha 0.9", COMPLEX),
            "synconmt-b-projected": ("SynCoNMT-B, the same with gates `projected`", COMPLEX),
            "bahdanau": ("Bahdanau, without relations", WIDTH),
            "bahdanau-equal-parameters": ("Bahdanau, without relations", EQUAL),
            "bahdanau-relations": ("Bahdanau, with relations, settings of the best complex network", WIDTH),
            "synconmt-l-printed": ("SynCoNMT-L, as printed: no gates, heads `modulus`", COMPLEX),
            "synconmt-l": ("SynCoNMT-L, gates `modulus`, heads `modulus`", COMPLEX),
            "synconmt-l-concat": ("SynCoNMT-L, gates `real_part`, heads `concat`", COMPLEX),
            "synconmt-l-alpha": ("SynCoNMT-L, `real_part`, `concat`, own relations fed back, alpha 0.9", COMPLEX),
            "synconmt-l-projected": ("SynCoNMT-L, the same with gates `projected`", COMPLEX),
            "synconmt-l-lstm": ("SynCoNMT-L with LSTMs, gates `real_part`, otherwise the same", COMPLEX),
            "synconmt-l-lstm-projected": ("SynCoNMT-L with LSTMs, gates `projected`", COMPLEX),
            "luong": ("Luong, without relations", WIDTH),
            "luong-equal-parameters": ("Luong, without relations", EQUAL),
            "luong-relations": ("Luong, with relations, settings of the best complex network", WIDTH),
        },
    ),
    "digits": Task("fsdd", "accuracy", "test/accuracy", _SPEECH, scale=100),
    "digit-strings": Task(
        "digit-strings", "label error rate", "test/label_error_rate", _SPEECH, scale=100, lower_is_better=True
    ),
}


def classification_groups(results: Path) -> dict[tuple[str, str, str], list[tuple[str, Runs]]]:
    """Group runs by (data set, network, kind), with their embedding; only embeddings with all seeds."""
    groups: dict[tuple[str, str, str], list[tuple[str, Runs]]] = defaultdict(list)
    runs: dict[str, Runs] = defaultdict(list)
    for grid, networks in {"fair": PAPER_NETWORKS, "quantum": ("Quantum",)}.items():
        for line in read_lines(results / f"{grid}.jsonl"):
            if line["row"].split(",")[1] in networks:
                runs[line["row"]].append(line)
    for row, found in runs.items():
        dataset, network, embedding, *equal = row.split(",")
        kind = EQUAL if equal else COMPLEX if EMBEDDINGS[embedding][1] == "complex" else WIDTH
        if len(found) == len(FINAL_SEEDS):
            groups[dataset, network, kind].append((embedding, found))
    return groups


def classification_table(results: Path) -> str:
    """Tabulate the complex and the real rows that are best on validation, for each network and data set."""
    groups = classification_groups(results)
    kinds = (COMPLEX, WIDTH, EQUAL)
    rows = [
        [f"{dataset.upper()}, {network}", *(_best(groups.get((dataset, network, kind), [])) for kind in kinds)]
        for dataset in DATASETS
        for network in (*PAPER_NETWORKS, "Quantum")
        if any((dataset, network, kind) in groups for kind in kinds)
    ]
    return markdown_table(["data set, network", *kinds], rows) if rows else MISSING


def image_groups(results: Path) -> dict[tuple[str, str, str], list[tuple[str, Runs]]]:
    """Group image runs by (``mlp`` or ``cnn``, data set, number field), with activation and depth of each."""
    groups: dict[tuple[str, str, str], dict[str, Runs]] = defaultdict(lambda: defaultdict(list))
    for grid, layout in {"mlp": ["2"], "cnn": []}.items():
        for run in read_lines(results / f"thesis-{grid}.jsonl"):
            data, *own, activation, depth, field = run["row"].split(",")[: 4 + len(layout)]
            if own == layout and field in FIELDS and run["row"].endswith(field) and run["diverged"] is None:
                groups[grid, data, field][f"`{ACTIVATIONS[activation]}`, k = {depth}"].append(run)
    return {key: _whole(found) for key, found in groups.items()}


def image_table(results: Path) -> str:
    """Tabulate the dense (500,000 parameters) and convolutional networks that are best on validation."""
    groups = image_groups(results)
    rows = [
        [f"{name}, {network}", *(_best(groups[grid, data, field], "") for field in ("complex", "real"))]
        for grid, network in {"mlp": "dense", "cnn": "convolutions"}.items()
        for data, name in {"mnist": "MNIST", "r52": "R52", "cifar10-cut": "CIFAR-10 (cut)"}.items()
        if (grid, data, "complex") in groups
    ]
    return markdown_table(["data set, network", COMPLEX, EQUAL], rows) if rows else MISSING


def _whole(found: dict[str, Runs]) -> list[tuple[str, Runs]]:
    """Keep the rows that have all seeds."""
    most = max((len(runs) for runs in found.values()), default=0)
    return [(name, runs) for name, runs in found.items() if len(runs) == most]


def _best(found: list[tuple[str, Runs]], suffix: str = "_accuracy") -> str:
    if not found:
        return ""
    name, runs = max(found, key=lambda one: statistics.mean(run[f"validation{suffix}"] for run in one[1]))
    seconds = min(run["seconds"] for run in runs)
    accuracy = mean_std((run[f"test{suffix}"] for run in runs), 1, 100)
    return f"{accuracy} ({name}, {runs[0]['parameters'] / 1e6:.2f} M, {seconds:.0f} s)"


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/comparisons.md": {
        "classification": classification_table,
        **{name: task.table for name, task in TASKS.items()},
        "images": image_table,
        "memory": partial(memory_table, "en"),
    }
}
