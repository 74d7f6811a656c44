# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of positions and attention on diagnostic tasks, at and beyond the training length."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.reporting import machine_line, markdown_table, read_lines

from experiments.diagnostics import Task
from experiments.grids.long_range import ATTENTION, FIELDS, RATES, ROWS, TASKS
from experiments.tables.runs import MISSING, Runs, find_runs, mean_std

__all__ = ["TABLES", "accuracy_table", "edge_rows"]

FACTORS = ("trained length", "x 2", "x 4", "x 8", "x 16")
LABELS = {"complex": "complex", "real": "real, equal width", "real-equal-parameters": "real, equal parameters"}


def accuracy_table(results: Path) -> str:
    """Tabulate the accuracy per labelled token of every row that was run, at every length."""
    found = find_runs(results / "long-range.jsonl", ROWS)
    if not found:
        return MISSING
    rows: list[list[str]] = []
    for task in TASKS:
        cells = [
            [attention, LABELS[field], *_cells(runs, TASKS[task])]
            for attention in ATTENTION
            for field in FIELDS
            if (runs := found.get(f"{task},{attention},{field}"))
        ]
        rows += [[f"**{task}**", *[""] * (len(FACTORS) + 3)], *cells] if cells else []
    header = ["task, positions and attention", "field", "parameters", *FACTORS, "training"]
    machine = machine_line(next(iter(found.values()))[0]["machine"])
    edge, chosen = edge_rows(results)
    note = f"{edge} of {chosen} rows chose the smallest or the largest learning rate."
    return f"{markdown_table(header, rows)}\n\nAccuracy in %, mean ± standard deviation over seeds. {machine} {note}"


def _cells(runs: Runs, task: Task) -> list[str]:
    """Return parameters, the accuracy at every length, and the seconds of the fastest run."""
    scores = [[run["test"][str(length)]["accuracy"] for run in runs] for length in task.test_lengths]
    accuracies = [mean_std(each, 1, 100) for each in scores] + [""] * (len(FACTORS) - len(scores))
    return [f"{runs[0]['parameters']:,}", *accuracies, f"{min(run['seconds'] for run in runs):.0f} s"]


def edge_rows(results: Path) -> tuple[int, int]:
    """Return how many rows have their best learning rate at an end of the range, and how many have tried all."""
    losses = {line["row"]: line["validation"]["loss"] for line in read_lines(results / "long-range-choice.jsonl")}
    tried = [[losses[name] for rate in RATES if (name := f"{row},{rate}") in losses] for row in ROWS]
    complete = [each for each in tried if len(each) == len(RATES)]
    return sum(min(each) in (each[0], each[-1]) for each in complete), len(complete)


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {"docs/long-range.md": {"long-range": accuracy_table}}
