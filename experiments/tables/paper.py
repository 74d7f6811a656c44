# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The tables of ``docs/paper.md``: mean and standard deviation over seeds, significance, and the paper's value."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reporting import markdown_table, read_lines
from scipy.stats import wilcoxon

from experiments.grids import GRIDS
from experiments.grids.fair import FINAL_SEEDS
from experiments.grids.paper import GCN_TABLE, PERIODS, TABLE2, TABLE4, TABLE5, TABLE6, WIDTHS, Published
from experiments.paper.protocol import EMBEDDINGS, NETWORKS
from experiments.tables.runs import MISSING, figures, find_runs, holm, mean_std, read_runs
from experiments.tables.verdicts import verdict

__all__ = ["TABLES", "accuracy_table", "signed_rank", "whole_rows"]

# Which row complex-order is significantly better (or worse) than; the marks of the paper, in the order of EMBEDDINGS.
MARKS = dict(zip(EMBEDDINGS, ("§", "†", "‡", "*"), strict=False))
LEVEL = 0.05
PARTS_OF_SPEECH = ("ADJ", "ADV", "NOUN", "PROPN", "PRON", "VERB", "AUX", "ADP", "DET", "SCONJ", "NUM", "PUNCT")
COMPLEX_ORDER = "complex_order"  # row of the grids of Tables 5 and 6

FIELDS = {embedding: field for embedding, (_, field) in EMBEDDINGS.items()}

Result = dict[str, Any]
Groups = dict[tuple[str, ...], list[Result]]


def percent(values: Sequence[float]) -> str:
    """Return mean and standard deviation over seeds, in percent."""
    return mean_std(values, 1, 100)


def _hits(results: Iterable[Result]) -> np.ndarray:
    """Return the share of seeds with a correct answer for each test text, fold by fold."""
    by_fold: dict[int, list[np.ndarray]] = defaultdict(list)
    for result in results:
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(result["correct"]), np.uint8))
        by_fold[result["cell"]["fold"]].append(bits[: result["rows"]["test"]].astype(int))
    return np.concatenate([np.mean(by_fold[fold], axis=0) for fold in sorted(by_fold)])


def signed_rank(ours: Sequence[Result], other: Sequence[Result]) -> tuple[float, int]:
    """Return p of the two-sided Wilcoxon signed-rank test over test texts, and the sign of the difference.

    The value of a text is the share of seeds with a correct answer; texts without a difference are dropped.
    """
    difference = _hits(ours) - _hits(other)
    if not difference.any():
        return 1.0, 0
    return float(wilcoxon(difference, method="asymptotic").pvalue), int(np.sign(difference.sum()))


def _group(results: Iterable[Result], *fields: str) -> Groups:
    groups: Groups = defaultdict(list)
    for result in sorted(results, key=lambda result: (result["row"], result["seed"])):
        groups[tuple(str(result["cell"][field]) for field in fields)].append(result)
    return dict(groups)


def _marks(groups: Groups, dataset: str, network: str) -> str:
    """Return marks of the rows that complex-order outperforms; in brackets, of those that outperform it."""
    ours = groups[dataset, network, "complex-order"]
    better, worse = "", ""
    for embedding, mark in MARKS.items():
        other = groups.get((dataset, network, embedding))
        if other and len(other) == len(ours):
            p, sign = signed_rank(ours, other)
            better += mark if p < LEVEL and sign > 0 else ""
            worse += mark if p < LEVEL and sign < 0 else ""
    return (f" {better}" if better else "") + (f" (worse: {worse})" if worse else "")


def table2(results: Iterable[Result], networks: Sequence[str], paper: dict[str, dict[str, dict[str, float]]]) -> str:
    """Tabulate networks x embeddings x data sets; the paper's value is in brackets."""
    return accuracy_table(_group(results, "dataset", "network", "embedding"), networks, FIELDS, paper)


def fair_table(results: Path) -> str:
    """Write Table 2 with real rows of equal parameters, and the setting chosen for each data set."""
    whole = whole_rows(results / "fair.jsonl")
    equal = {f"{embedding},equal": field for embedding, field in FIELDS.items() if field == "real"}
    networks = [name for name in NETWORKS if any(key[1] == name for key in whole)]
    return accuracy_table(whole, networks, FIELDS | equal, TABLE2 | {"GCN": GCN_TABLE}) if whole else MISSING


def whole_rows(path: Path) -> Groups:
    """Return the rows of a tuned grid that have all seeds, by data set, network and embedding."""
    groups: Groups = defaultdict(list)
    for line in read_lines(path):
        dataset, network, label = line["row"].split(",", 2)
        groups[dataset, network, label].append(line)
    return {key: runs for key, runs in groups.items() if len(runs) == len(FINAL_SEEDS)}


def accuracy_table(
    groups: Groups, networks: Sequence[str], labels: dict[str, str], paper: dict[str, dict[str, dict[str, float]]]
) -> str:
    """Tabulate networks x embeddings x data sets; values of ``paper`` are in square brackets."""
    datasets = [name for name in ("mr", "subj", "sst2", "trec") if any(key[0] == name for key in groups)]
    rows = []
    for network in networks:
        best = {
            dataset: max(
                (statistics.mean(r["test_accuracy"] for r in groups[dataset, network, e]), e)
                for e in labels
                if (dataset, network, e) in groups
            )[1]
            for dataset in datasets
            if any(key[:2] == (dataset, network) for key in groups)
        }
        for embedding, field in labels.items():
            if embedding not in EMBEDDINGS and not any((d, network, embedding) in groups for d in datasets):
                continue
            cells, parameters, seeds = [], "", 0
            for dataset in datasets:
                cell = groups.get((dataset, network, embedding))
                if not cell:
                    cells.append("not measured")
                    continue
                ours = percent([result["test_accuracy"] for result in cell])
                ours = f"**{ours}**" if best[dataset] == embedding else ours
                marks = _marks(groups, dataset, network) if embedding == "complex-order" else ""
                printed = paper[network].get(embedding, {}).get(dataset)
                chosen = f" #{cell[0]['choice'] + 1}" if "choice" in cell[0] else ""
                cells.append(f"{ours}{marks}{chosen}" + ("" if printed is None else f" [{100 * printed:.1f}]"))
                parameters, seeds = f"{cell[0]['parameters'] / 1e6:.2f} M", len(cell)
            name = f"{network}, {embedding.replace(',equal', ', equal parameters')} ({field})"
            rows.append(
                [name + (f" {MARKS[embedding]}" if embedding in MARKS else ""), *cells, parameters, str(seeds)]
            )
    header = [
        "network, embedding (field)",
        *(name.upper() for name in datasets),
        "parameters (last data set)",
        "seeds (last data set)",
    ]
    return markdown_table(header, rows)


def table4(results: Iterable[Result]) -> str:
    """Tabulate the sharing schemes of the Transformer's embedding and projections."""
    groups = _group(results, "dataset", "embedding", "options")
    blocks = []
    for dataset in sorted({key[0] for key in groups}):
        rows = []
        for scheme in TABLE4:
            parts = "" if scheme.embedding == "TPE" else ("yes" if scheme.share_parts else "no")
            cell = groups.get((dataset, scheme.embedding, str([list(option) for option in scheme.options])))
            figures = ["not measured", "", ""]
            if cell:
                figures = [percent([result[f"{part}_accuracy"] for result in cell]) for part in ("test", "validation")]
                figures = [f"{cell[0]['parameters'] / 1e6:.3f} M", *figures]
            rows.append([scheme.name, parts, *figures, f"{100 * scheme.accuracy:.1f}"])
        header = ["scheme", "Re W = Im W", "parameters", f"{dataset.upper()} test", "validation", "paper (SST)"]
        blocks.append(markdown_table(header, rows))
    return "\n\n".join(blocks)


def wins(results: Iterable[Result]) -> str:
    """Count the rows where complex-order has the largest mean."""
    groups = _group(results, "dataset", "network", "embedding")
    means = {key: statistics.mean(result["test_accuracy"] for result in cell) for key, cell in groups.items()}
    columns = {key[:2] for key in means if all((*key[:2], embedding) in means for embedding in EMBEDDINGS)}
    won = [column for column in columns if max(EMBEDDINGS, key=lambda e: means[(*column, e)]) == "complex-order"]
    largest = f"complex-order has the largest mean in {len(won)} of {len(columns)} pairs of a network and a data set."
    return f"{largest} {comparisons(groups, sorted(columns))}"


def comparisons(groups: Groups, columns: Sequence[tuple[str, ...]]) -> str:
    """Count the significant tests of complex-order against the other embeddings, alone and with Holm's correction."""
    others = [embedding for embedding in EMBEDDINGS if embedding != "complex-order"]
    pairs = [(groups[*column, "complex-order"], groups[*column, other]) for column in columns for other in others]
    tests = [signed_rank(*pair) for pair in pairs]
    alone = Counter(sign for p, sign in tests if p < LEVEL)
    remains = holm([p for p, _ in tests], LEVEL)
    kept = Counter(sign for (_, sign), remaining in zip(tests, remains, strict=True) if remaining)
    return (
        f"It is significantly better in {alone[1]} and worse in {alone[-1]} of {len(tests)} tests against another "
        f"embedding, with Holm's correction in {kept[1]} and {kept[-1]}."
    )


def table7(results: Path) -> str:
    """Tabulate the words with the largest and the smallest mean absolute frequency."""
    (found,) = read_lines(results / "paper-table7.jsonl")
    words, summary = found["words"], found["periods"]
    half = len(words) // 2
    rows = [
        ["greatest, falling", " ".join(word for word, _ in words[:half])],
        ["smallest, rising", " ".join(word for word, _ in reversed(words[half:]))],
    ]
    quartiles = ", ".join(f"{name} {value:.1f}" for name, value in summary.items() if name != "below_two")
    ends = f"delta of these words: {words[0][1]:.4f} to {words[-1][1]:.4f} rad per position"
    return f"{markdown_table(['frequencies', 'words'], rows)}\n\nPeriods: {quartiles}; {ends}."


def trained_rows(results: Path) -> list[list[str]]:
    """Return data set, network, TPE with fixed and with trained frequencies, the verdict on the latter, and seeds."""
    grid = GRIDS["paper-trained-tpe"]
    rows = []
    for row, runs in find_runs(results / f"{grid.name}.jsonl", grid.rows).items():
        cell = grid.rows[row]
        fixed = read_runs(results / "paper-table2.jsonl", replace(cell, options=()).row)
        scores = [figures(found, "test_accuracy") for found in (runs, fixed)]
        seeds = f"{len(fixed)}, {len(runs)}"
        compared = verdict(*scores) if len(runs) > 1 else ""
        rows.append([cell.dataset.upper(), cell.network, percent(scores[1]), percent(scores[0]), compared, seeds])
    return rows


def trained_table(results: Path) -> str:
    """Tabulate TPE with fixed and with trained frequencies."""
    rows = trained_rows(results)
    header = ["data set", "network", "fixed", "trained", "trained against fixed", "seeds (fixed, trained)"]
    return markdown_table(header, rows) if rows else MISSING


PERIOD_NAMES = dict(
    zip(
        [cell.row for cell in PERIODS],
        ("TREC", "SST-2", "SST-2, frequencies trained faster", "SST-2, frequencies from N(0, 1)"),
        strict=True,
    )
)


def periods_table(results: Path) -> str:
    """Tabulate average periods, and the correlations of a word's frequency with its count and its distances."""
    found = find_runs(results / "paper-periods.jsonl", PERIOD_NAMES)
    columns = ("count", "position", "position_given_count", "distance", "distance_given_count")
    rows = [
        [
            PERIOD_NAMES[row],
            f"{runs[0]['mean_length']:.1f}",
            f"{runs[0]['initial_period']:.1f}",
            mean_std(figures(runs, "period"), 1),
            *(mean_std(figures(runs, f"spearman/{name}"), 2) for name in columns),
            percent(figures(runs, "validation_accuracy")),
            str(len(runs)),
        ]
        for row, runs in found.items()
    ]
    header = ["run", "words of a text", "initial period", "trained period", "count", "position"]
    header += ["position given count", "distance", "distance given count", "validation", "seeds"]
    return markdown_table(header, rows) if rows else MISSING


def tags_table(results: Path) -> str:
    """Tabulate the average period of every part of speech that all runs have, and its number of words."""
    found = find_runs(results / "paper-periods.jsonl", PERIOD_NAMES)
    shared = [tag for tag in PARTS_OF_SPEECH if found and all(tag in runs[0]["tags"] for runs in found.values())]
    rows = [
        [
            tag,
            *(
                f"{mean_std(figures(runs, f'tags/{tag}/period'), 1)} ({runs[0]['tags'][tag]['words']})"
                for runs in found.values()
            ),
        ]
        for tag in shared
    ]
    return markdown_table(["part of speech", *(PERIOD_NAMES[row] for row in found)], rows) if rows else MISSING


def published_table(results: Path, table: Published) -> str:
    """Tabulate the rows of a published table, ours beside them, and the verdict on complex-order against each."""
    ours = find_runs(results / f"{table.grid}.jsonl", [COMPLEX_ORDER]).get(COMPLEX_ORDER, [])
    rows = []
    for name, printed, grid, row in table.rows:
        runs = find_runs(results / f"{grid}.jsonl", [row]).get(row, []) if grid else []
        scores = [figures(found, table.place) for found in (ours, runs)]
        own = row == COMPLEX_ORDER and grid == table.grid
        compared = verdict(*scores, table.lower_is_better) if all(scores) and not own else ""
        here = mean_std(scores[1], table.digits) if runs else "not repeated"
        rows.append([name, printed, f"`{grid} {row}`" if runs else "", here, str(len(runs) or ""), compared])
    header = ["row", f"paper, {table.unit}", "run", f"here, {table.unit}", "seeds", "complex-order against it"]
    return markdown_table(header, rows)


def widths_table(results: Path) -> str:
    """Tabulate validation accuracy of FastText on MR between a real row of Table 2 and complex-order."""
    grid = GRIDS["paper-widths"]
    rows = {"real, width 100": "mr,FastText,none"}
    rows |= dict(zip(WIDTHS, grid.rows, strict=True)) | {"complex-order": "mr,FastText,complex-order"}
    cells = []
    for name, row in rows.items():
        runs = read_runs(results / f"{'paper-widths' if row in grid.rows else 'paper-table2'}.jsonl", row)
        accuracy = percent(figures(runs, "validation_accuracy")) if runs else MISSING
        cells.append([name, accuracy, str(len(runs) or "")])
    return markdown_table(["FastText on MR, validation", "accuracy", "seeds"], cells)


def _accuracies(results: Path) -> list[Result]:
    return [*read_lines(results / "paper-table2.jsonl"), *read_lines(results / "paper-table2-folds.jsonl")]


def _table2(results: Path) -> str:
    found = _accuracies(results)
    return f"{table2(found, [name for name in NETWORKS if name in TABLE2], TABLE2)}\n\n{wins(found)}"


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/paper.md": {
        "table2": _table2,
        "gcn": lambda results: table2(_accuracies(results), ["GCN"], {"GCN": GCN_TABLE}),
        "fair": fair_table,
        "table4": lambda results: table4(read_lines(results / "paper-table4.jsonl")),
        "widths": widths_table,
        "table5": partial(published_table, table=TABLE5),
        "table6": partial(published_table, table=TABLE6),
        "table7": table7,
        "trained-tpe": trained_table,
        "periods": periods_table,
        "parts-of-speech": tags_table,
    }
}
