# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the tables of training runs share: a row is the seeds of one network, a column a function of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from benchmarks.reporting import markdown_table, read_lines

__all__ = [
    "MISSING",
    "SIZE",
    "Column",
    "each",
    "figures",
    "find_runs",
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
    """The results of one network, in the order of their seeds.

    Raises:
        ValueError: the runs are of unequal networks or lengths.
    """
    runs = [run for run in read_lines(path) if run["row"] == row]
    for key in ("parameters", "steps"):
        if len(values := {run[key] for run in runs if key in run}) > 1:
            raise ValueError(f"{path.stem}, {row}: seeds with unequal {key} do not fit one row: {sorted(values)}")
    return sorted(runs, key=lambda run: run["seed"])


def find_runs(path: Path, names: Iterable[str]) -> dict[str, Runs]:
    """The networks that were run, and their results."""
    return {name: runs for name in names if (runs := read_runs(path, name))}


def run_table(
    labels: Sequence[str], columns: Mapping[str, Column], rows: Mapping[str, Sequence[str]], found: Mapping[str, Runs]
) -> str:
    """A row for each network that was found: its labels, then every column."""
    cells = [[*rows[name], *(column(runs) for column in columns.values())] for name, runs in found.items()]
    return markdown_table([*labels, *columns], cells)


def seeds(runs: Runs) -> str:
    """The seeds."""
    return " ".join(str(run["seed"]) for run in runs)


def mean_std(values: Iterable[float], digits: int, scale: float = 1.0) -> str:
    """Mean and standard deviation, times ``scale``; one value has no deviation."""
    values = [scale * value for value in values]
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{deviation}"


def figures(runs: Runs, place: str) -> list[Any]:
    """Return a figure of every seed, found by its path such as ``test/accuracy``; None where a run has none."""
    return [reduce(lambda found, key: found.get(key), place.split("/"), run) for run in runs]


def score(place: str, digits: int = 1, scale: float = 100) -> Column:
    """Mean and deviation of a figure, ``test/accuracy`` or the like; empty where the runs have none."""

    def cell(runs: Runs) -> str:
        values = figures(runs, place)
        return "" if None in values else mean_std(values, digits, scale)

    return cell


def each(place: str, digits: int = 1, scale: float = 100) -> Column:
    """A figure of every seed."""
    return lambda runs: " ".join(f"{scale * value:.{digits}f}" for value in figures(runs, place))


def parameters(runs: Runs) -> str:
    """Millions of parameters."""
    return f"{runs[0]['parameters'] / 1e6:.2f} M"


def training_time(runs: Runs) -> str:
    """Seconds of the quickest run that was not stopped in between: others may have shared the machine."""
    seconds = [run["seconds"] for run in runs if not run["resumed"]]
    return f"{min(seconds):,.0f} s" if seconds else "stopped and resumed"


SIZE: dict[str, Column] = {"parameters": parameters, "training": training_time}
