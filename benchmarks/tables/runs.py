# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the tables of training runs share: the seeds of one network, mean and deviation, cells."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.reporting import read_lines

__all__ = ["MISSING", "parameters", "read_runs", "seeds", "spread", "training_time"]

MISSING = "not measured yet"
Runs = list[dict[str, Any]]


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


def seeds(runs: Runs) -> str:
    """The seeds."""
    return " ".join(str(run["seed"]) for run in runs)


def spread(values: Iterable[float], digits: int, scale: float = 1.0) -> str:
    """Mean and standard deviation, times ``scale``; one value has no deviation."""
    values = [scale * value for value in values]
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{deviation}"


def parameters(runs: Runs) -> str:
    """Millions of parameters."""
    return f"{runs[0]['parameters'] / 1e6:.2f} M"


def training_time(runs: Runs) -> str:
    """Median seconds of the runs that were not stopped in between: one may have shared the machine."""
    seconds = [run["seconds"] for run in runs if not run["resumed"]]
    return f"{statistics.median(seconds):,.0f} s" if seconds else "stopped and resumed"
