# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Language models with states beside a complex Llama of equal parameters, at and beyond the trained length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.reporting import markdown_table, read_lines

from experiments.grids.positions import RATES
from experiments.grids.state_space import LLAMAS, ROWS
from experiments.positions import DATA
from experiments.tables.positions import LENGTHS, scores
from experiments.tables.runs import MISSING, Runs, find_runs, machines, mean_std
from experiments.tables.verdicts import verdict

__all__ = ["TABLES", "state_space_table"]

LABELS = {"llama": "Llama", "mamba": "Mamba-3", "lru": "linear recurrence (LRU)", "lstm": "LSTM"}
DIGITS = {"text8": 3, "wikitext-2": 1}


def state_space_table(results: Path, data: str) -> str:
    """Tabulate every network on one data set that was run, by range of positions."""
    found = find_runs(results / "state-space-text.jsonl", [row for row in ROWS if row.startswith(f"{data},")])
    if not found:
        return MISSING
    trained = find_runs(results / "positions.jsonl", LLAMAS.values())
    llamas = {row: trained[name] for row, name in LLAMAS.items() if row.startswith(f"{data},") and name in trained}
    found = llamas | found
    cells = [_cells(data, row, found) for row in found]
    ranges = [f"{LENGTHS[0] // 2 + 1:,} to {LENGTHS[0]:,} (trained)", *(f"to {last:,}" for last in LENGTHS[1:])]
    header = ["network", "field", "seeds", "parameters", "learning rate", *ranges, "beside its real twin", "training"]
    edge, chosen = edge_rows(results, data)
    note = f"{edge} of {chosen} networks chose the smallest or the largest learning rate."
    return f"{markdown_table(header, cells)}\n\nMean ± standard deviation over seeds. {machines(found)} {note}"


def _cells(data: str, row: str, found: Mapping[str, Runs]) -> list[str]:
    _, field, network = row.split(",")
    runs, twin = found[row], found.get(f"{data},real,{network}", [])
    by_length = [scores(data, runs, "as trained", last) for last in LENGTHS]
    judged = ""
    if field == "complex" and twin:
        judged = verdict(by_length[0], scores(data, twin, "as trained", LENGTHS[0]), lower_is_better=True)
    return [
        LABELS[network],
        field,
        str(len(runs)),
        f"{runs[0]['parameters']:,}",
        f"{runs[0]['settings']['learning_rate']:g}",
        *(mean_std(each, DIGITS[data]) for each in by_length),
        judged,
        f"{min(run['seconds'] for run in runs):,.0f} s",
    ]


def edge_rows(results: Path, data: str) -> tuple[int, int]:
    """Return how many rows have their best learning rate at an end of the range, and how many have tried all."""
    path = results / "state-space-text-choice.jsonl"
    losses = {line["row"]: line["validation"]["loss"] for line in read_lines(path)}
    names = [[f"{row},{rate}" for rate in RATES] for row in ROWS if row.startswith(f"{data},")]
    tried = [[losses[name] for name in each] for each in names if losses.keys() >= set(each)]
    return sum(min(each) in (each[0], each[-1]) for each in tried), len(tried)


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/models/complex_mamba.md": {f"state-space {data}": partial(state_space_table, data=data) for data in DATA}
}
