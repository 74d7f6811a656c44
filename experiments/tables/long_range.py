# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of networks on generated tasks, at and beyond the training length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

from benchmarks.reporting import markdown_table

from experiments.diagnostics import Cell, Task
from experiments.grids import long_range, state_tracking
from experiments.grids.long_range import Row
from experiments.grids.rates import mean_losses
from experiments.tables.runs import MISSING, Runs, figures, find_runs, machines, mean_std
from experiments.tables.verdicts import judged, verdict

__all__ = [
    "TABLES",
    "accuracy_by_length",
    "accuracy_table",
    "claims_table",
    "edge_rows",
    "fields_table",
    "state_table",
]

PCT_TASKS = ("copy", "needle", "listops")
LABELS = {"complex": "complex", "real": "real, equal width", "real-equal-parameters": "real, equal parameters"}


def accuracy_table(results: Path) -> str:
    """Tabulate the accuracy of positions and attention at every length."""
    names = {
        f"{attention},{field}": (attention, LABELS[field])
        for attention in long_range.ATTENTION
        for field in long_range.FIELDS
    }
    lengths = ("trained length", "x 2", "x 4", "x 8", "x 16")
    header = ["task, positions and attention", "field", "parameters", *lengths, "training"]
    return accuracy_by_length(results, "long-range", long_range.ROWS, names, header, long_range.RATES)


def state_table(results: Path) -> str:
    """Tabulate the accuracy of networks that track a state at every length."""
    names = {name: (name,) for name in state_tracking.NETWORKS}
    header = ["task, network", "parameters", *map(str, state_tracking.TASKS["parity"].test_lengths), "training"]
    return accuracy_by_length(results, "state-tracking", state_tracking.ROWS, names, header, state_tracking.RATES)


def limits_table(results: Path) -> str:
    """Tabulate the accuracy of Mamba-3 at every length when one part is changed."""
    names = {row.split(",", 1)[1]: (row.split(",", 1)[1],) for row in state_tracking.LIMITS}
    header = ["task, change", "parameters", *map(str, state_tracking.TASKS["parity"].test_lengths), "training"]
    return accuracy_by_length(results, "state-tracking-limits", state_tracking.LIMITS, names, header, ())


def fields_table(results: Path) -> str:
    """Compare complex networks with real ones at the trained length."""
    found = find_runs(results / "long-range.jsonl", long_range.ROWS)
    rows = []
    for task, positions in product(long_range.TASKS, ("rotary", "polar")):
        ours, *theirs = (found.get(f"{task},{positions},{field}") for field in LABELS)
        if ours and all(theirs):
            place = f"test/{long_range.TASKS[task].test_lengths[0]}/accuracy"
            scores = [figures(runs, place) for runs in (ours, *map(list, filter(None, theirs)))]
            shown = [mean_std(each, 1, 100) for each in scores]
            wide, equal = (f"{verdict(scores[0], scores[i])} ({shown[i]})" for i in (1, 2))
            rows.append([task, positions, shown[0], equal, wide])
    header = ["task", "positions", "complex", "real, equal parameters", "real, equal width"]
    return markdown_table(header, rows) if rows else MISSING


# Claim -> the network, its baseline, the tasks. PCT is cosine scores with sigmoid weights.
CLAIMS = {
    "PCT is better than complex softmax": ("rotary-sigmoid,complex", "rotary,complex", PCT_TASKS),
    "PCT is better than real softmax with equal parameters": (
        "rotary-sigmoid,complex",
        "rotary,real-equal-parameters",
        PCT_TASKS,
    ),
    "real PCT is better than real softmax": ("rotary-sigmoid,real", "rotary,real", PCT_TASKS),
    "complex PCT is better than real PCT with equal parameters": (
        "rotary-sigmoid,complex",
        "rotary-sigmoid,real-equal-parameters",
        PCT_TASKS,
    ),
    **{
        f"PoPE is better than RoPE, {label}": (f"polar,{field}", f"rotary,{field}", ("indirect-indexing",))
        for field, label in LABELS.items()
    },
}


def claims_table(results: Path) -> str:
    """Judge the claims of the papers, at the trained length and beyond it."""
    found = find_runs(results / "long-range.jsonl", long_range.ROWS)
    if not found:
        return MISSING
    rows = []
    for claim, (ours, theirs, tasks) in CLAIMS.items():
        pairs = [
            (task, found[first], found[second])
            for task in tasks
            if (first := f"{task},{ours}") in found and (second := f"{task},{theirs}") in found
        ]
        one_seed = any(len(runs) < 2 for _, *both in pairs for runs in both)
        verdicts = [_verdicts(first, second, long_range.TASKS[task]) for task, first, second in pairs]
        trained, longer = [each[0] for each in verdicts], [each for some in verdicts for each in some[1:]]
        rows.append([claim, ", ".join(tasks), judged(trained, one_seed), judged(longer, one_seed)])
    return markdown_table(["claim", "tasks", "trained length", "longer sequences"], rows)


def _verdicts(ours: Runs, theirs: Runs, task: Task) -> list[str]:
    """Compare the accuracy of two networks at every length."""
    places = [f"test/{length}/accuracy" for length in task.test_lengths]
    return [verdict(figures(ours, place), figures(theirs, place)) for place in places]


def accuracy_by_length(
    results: Path,
    grid: str,
    rows: Mapping[str, Row] | Mapping[str, Cell],
    names: Mapping[str, Sequence[str]],
    header: Sequence[str],
    rates: Sequence[float],
) -> str:
    """Tabulate the accuracy per labelled token of the rows ``task,name`` that were run, at every length."""
    found = find_runs(results / f"{grid}.jsonl", rows)
    if not found:
        return MISSING
    lines: list[list[str]] = []
    for task in dict.fromkeys(row.split(",", 1)[0] for row in rows):
        cells = [
            [*cells, *_cells(found[row], rows[row].task, len(header) - len(cells) - 2)]
            for name, cells in names.items()
            if (row := f"{task},{name}") in found
        ]
        lines += [[f"**{task}**", *[""] * (len(header) - 1)], *cells] if cells else []
    edge, chosen = edge_rows(results, grid, rows, rates)
    note = f" {edge} of {chosen} rows chose the smallest or the largest learning rate." if rates else ""
    table = markdown_table(header, lines)
    return f"{table}\n\nAccuracy in %, mean ± standard deviation over seeds. {machines(found)}{note}"


def _cells(runs: Runs, task: Task, columns: int) -> list[str]:
    """Return parameters, the accuracy at every length, and the seconds of the fastest run."""
    scores = [[run["test"][str(length)]["accuracy"] for run in runs] for length in task.test_lengths]
    accuracies = [mean_std(each, 1, 100) for each in scores] + [""] * (columns - len(scores))
    return [f"{runs[0]['parameters']:,}", *accuracies, f"{min(run['seconds'] for run in runs):.0f} s"]


def edge_rows(results: Path, grid: str, rows: Iterable[str], rates: Sequence[float]) -> tuple[int, int]:
    """Return how many rows have their best learning rate at an end of the range, and how many have tried all."""
    losses = mean_losses(results / f"{grid}-choice.jsonl")
    tried = [[losses[name] for rate in rates if (name := f"{row},{rate}") in losses] for row in rows]
    complete = [each for each in tried if each and len(each) == len(rates)]
    return sum(min(each) in (each[0], each[-1]) for each in complete), len(complete)


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/long-range.md": {
        "long-range-fields": fields_table,
        "long-range": accuracy_table,
        "long-range-claims": claims_table,
    },
    "docs/state-tracking.md": {"state-tracking": state_table, "state-tracking-limits": limits_table},
}
