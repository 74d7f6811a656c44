# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Shared by tables of training runs: a row is the seeds of one network, a column a function of its runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from benchmarks.reporting import machine_line, markdown_table, read_lines

__all__ = [
    "MISSING",
    "SIZE",
    "Column",
    "each",
    "figures",
    "find_runs",
    "holm",
    "machines",
    "mean_std",
    "parameters",
    "read_runs",
    "run_table",
    "score",
    "seeds",
]

MISSING = "not measured yet"
Runs = list[dict[str, Any]]
Column = Callable[[Runs], str]


def read_runs(path: Path, row: str) -> Runs:
    """Read the runs of one network, ordered by seed.

    Raises:
        ValueError: the runs differ in parameters or steps.
    """
    runs = [run for run in read_lines(path) if run["row"] == row]
    for key in ("parameters", "steps"):
        if len(values := {run[key] for run in runs if key in run}) > 1:
            raise ValueError(f"{path.stem}, {row}: all seeds must have equal {key}, got {sorted(values)}")
    return sorted(runs, key=lambda run: run["seed"])


def find_runs(path: Path, names: Iterable[str]) -> dict[str, Runs]:
    """Return the networks that were run, with their runs."""
    return {name: runs for name in names if (runs := read_runs(path, name))}


def machines(found: Mapping[str, Runs]) -> str:
    """Return the sentences that describe the machines; those that differ in vector instructions only share one."""
    grouped: dict[str, tuple[dict[str, Any], set[str]]] = {}
    for facts in (run["machine"] for runs in found.values() for run in runs):
        _, instructions = grouped.setdefault(machine_line({**facts, "vector_instructions": ""}), (facts, set()))
        instructions.add(facts["vector_instructions"])
    return " ".join(
        machine_line({**facts, "vector_instructions": " or ".join(sorted(instructions))})
        for facts, instructions in grouped.values()
    )


def run_table(
    labels: Sequence[str], columns: Mapping[str, Column], rows: Mapping[str, Sequence[str]], found: Mapping[str, Runs]
) -> str:
    """Format a row for each network with runs: its labels, then every column."""
    cells = [[*rows[name], *(column(runs) for column in columns.values())] for name, runs in found.items()]
    return markdown_table([*labels, *columns], cells)


def seeds(runs: Runs) -> str:
    """Return the seeds."""
    return " ".join(str(run["seed"]) for run in runs)


def mean_std(values: Iterable[float], digits: int, scale: float = 1.0) -> str:
    """Format mean and standard deviation, times ``scale``; the mean only for a single value."""
    values = [scale * value for value in values]
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{deviation}"


def holm(p_values: Sequence[float], level: float = 0.05) -> list[bool]:
    """Return which tests remain significant with the correction of Holm (1979), in the order of ``p_values``."""
    ranked = sorted(range(len(p_values)), key=lambda index: p_values[index])
    failed = [rank for rank, index in enumerate(ranked) if p_values[index] >= level / (len(p_values) - rank)]
    kept = set(ranked[: min(failed, default=len(ranked))])
    return [index in kept for index in range(len(p_values))]


def figures(runs: Runs, place: str) -> list[Any]:
    """Return a figure of every seed, found by its path such as ``test/accuracy``; None where a run has none."""
    return [reduce(lambda found, key: found.get(key), place.split("/"), run) for run in runs]


def score(place: str, digits: int = 1, scale: float = 100) -> Column:
    """Return a column of mean and standard deviation of a value such as ``test/accuracy``; empty if missing."""

    def cell(runs: Runs) -> str:
        values = figures(runs, place)
        return "" if None in values else mean_std(values, digits, scale)

    return cell


def each(place: str, digits: int = 1, scale: float = 100) -> Column:
    """Return a column with the value of every seed."""
    return lambda runs: " ".join(f"{scale * value:.{digits}f}" for value in figures(runs, place))


def parameters(runs: Runs) -> str:
    """Return the parameters in millions."""
    return f"{runs[0]['parameters'] / 1e6:.2f} M"


def training_time(runs: Runs) -> str:
    """Return the seconds of the fastest uninterrupted run: slower ones may have shared the machine."""
    seconds = [run["seconds"] for run in runs if not run["resumed"]]
    return f"{min(seconds):,.0f} s" if seconds else "stopped and resumed"


SIZE: dict[str, Column] = {"parameters": parameters, "training": training_time}
