# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Short tables beside the verdicts on claims: of the thesis, and of SynCoNMT."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.reporting import markdown_table, read_lines

from experiments.grids.thesis import DEPTHS
from experiments.tables.runs import MISSING, Runs, figures, find_runs, mean_std

__all__ = ["TABLES"]

HEADS = {  # network and head -> end of the row's name
    ("complex", "squared moduli"): "complex",
    ("complex", "linear (`concat`)"): "complex,concat",
    ("real", "linear"): "real",
}
DATA = {"mnist": "MNIST", "r52": "R52", "cifar10-cut": "CIFAR-10 (subset)"}
TRAINED = {"relu": "`split_relu`", "|z|": "`modulus`"}
TRANSFORMS = {  # transform -> rows with the units of LM-C, and with twice the units
    "none": ("LM-C-real-words", "LM-C-real-words-twice-the-units"),
    "Z-transform of the features": ("Z", "Z-twice-the-units"),
    "Fourier transform of the features (no parameters)": ("Fourier-features", ""),
    "Fourier transform along the sequence (sees future tokens)": ("Fourier-sequence", ""),
}
SYNCONMT = {"SynCoNMT-B": ("synconmt-b-projected", "bahdanau"), "SynCoNMT-L": ("synconmt-l-projected", "luong")}
DIFFERENCES = {  # difference -> the two rows, with `ours` and `real` for the rows of a decoder
    "best SynCoNMT - real network without relations, equal parameters": ("{ours}", "{real}-equal-parameters"),
    "best SynCoNMT - real network without relations, equal stored width": ("{ours}", "{real}"),
    "best SynCoNMT - real network with relations (one seed)": ("{ours}", "{real}-relations"),
    "real network with relations - without relations, equal parameters": (
        "{real}-relations",
        "{real}-equal-parameters",
    ),
}
PRINTED = ("the paper: SynCoNMT - real network", "+1.61", "+0.75")  # averages on English to German
SETTINGS = {
    'as printed in the paper: `rnn_type="rnn"`, `lm_readout="modulus"`': "synconmt-b-printed",
    '`gate="modulus"`, `lm_readout="modulus"`': "synconmt-b",
    '`gate="real_part"`, `lm_readout="concat"`': "synconmt-b-concat",
    (
        'recommended: the default `gate="projected"` and `concat`, `relation_feedback="mixed"`, `alpha=0.9`, callback '
        "`RelationSchedule()`"
    ): "synconmt-b-projected",
    'the same with `attention_type="luong"`': "synconmt-l-projected",
}


def mean(runs: Runs, place: str) -> float:
    """Return the mean of a figure over the seeds."""
    return statistics.fmean(figures(runs, place))


def dense(results: Path) -> Mapping[str, Runs]:
    """Return the dense networks of the thesis by row."""
    found: dict[str, Runs] = defaultdict(list)
    for run in read_lines(results / "thesis-mlp.jsonl"):
        found[run["row"]].append(run)
    return found


def heads_table(results: Path) -> str:
    """Tabulate accuracy on MNIST without an activation, by head and depth, for claim A-3."""
    found = dense(results)
    rows = []
    for labels, ending in HEADS.items():
        runs = [found.get(f"mnist,1,identity,{k},{ending}", []) for k in DEPTHS]
        rows.append([*labels, *(mean_std(figures(cell, "test"), 1, 100) if cell else "" for cell in runs)])
    return markdown_table(["network", "head", *(f"k = {k}" for k in DEPTHS)], rows)


def gaps_table(results: Path) -> str:
    """Tabulate training accuracy, and its difference from test accuracy, as means over the depths, for claim A-6."""
    found = dense(results)
    rows = []
    for (data, name), (key, activation) in ((one, two) for one in DATA.items() for two in TRAINED.items()):
        cells = [[found[f"{data},1,{key},{k},{field}"] for k in DEPTHS] for field in ("complex", "real")]
        if all(all(depths) for depths in cells):
            gaps = [f"{over_depths(depths, 'train') - over_depths(depths, 'test'):.1f}" for depths in cells]
            rows.append([f"{name}, {activation}", *gaps, *(f"{over_depths(depths, 'train'):.1f}" for depths in cells)])
    header = ["data, activation", "complex", "real", "complex, training accuracy", "real, training accuracy"]
    return markdown_table(header, rows) if rows else MISSING


def over_depths(cells: Sequence[Runs], place: str) -> float:
    """Return the mean over the depths of an accuracy, in percent."""
    return 100 * statistics.fmean(mean(runs, place) for runs in cells)


def transforms_table(results: Path) -> str:
    """Tabulate test perplexity with and without a transform of the embeddings, for claim B-3."""
    found = find_runs(results / "thesis-language-models.jsonl", [row for rows in TRANSFORMS.values() for row in rows])
    rows = [
        [name, *(perplexity(found[row]) if row in found else "" for row in columns)]
        for name, columns in TRANSFORMS.items()
    ]
    return markdown_table(["transform", "the units of LM-C", "twice the units"], rows)


def perplexity(runs: Runs) -> str:
    """Return mean and standard deviation of e^loss, which is no perplexity if future tokens are seen."""
    return mean_std((math.exp(loss) for loss in figures(runs, "test/loss")), 1)


def differences_table(results: Path) -> str:
    """Tabulate differences in test BLEU between SynCoNMT and its real networks."""
    rows = [
        [name, *(difference(results, pair, *of) for of in SYNCONMT.values())] for name, pair in DIFFERENCES.items()
    ]
    return markdown_table(["difference in test BLEU", *SYNCONMT], [*rows, list(PRINTED)])


def difference(results: Path, pair: tuple[str, str], ours: str, real: str) -> str:
    """Return the difference of two rows in mean test BLEU."""
    names = [name.format(ours=ours, real=real) for name in pair]
    found = find_runs(results / "synconmt.jsonl", names)
    return f"{bleu(found[names[0]]) - bleu(found[names[1]]):+.1f}" if len(found) == len(names) else ""


def bleu(runs: Runs) -> float:
    """Return mean test BLEU."""
    return mean(runs, "test/bleu")


def settings_table(results: Path) -> str:
    """Tabulate test BLEU by settings of SynCoNMT."""
    found = find_runs(results / "synconmt.jsonl", SETTINGS.values())
    rows = [[name, f"{bleu(found[row]):.1f}" if row in found else "not measured"] for name, row in SETTINGS.items()]
    return markdown_table(["settings", "BLEU"], rows)


TABLES: dict[str, dict[str, Callable[[Path], Any]]] = {
    "docs/thesis.md": {
        "thesis-heads": heads_table,
        "thesis-gaps": gaps_table,
        "thesis-transforms": transforms_table,
    },
    "docs/models/synconmt.md": {"synconmt-settings": settings_table},
    "examples/syntax-translation/README.md": {"synconmt-differences": differences_table},
}
