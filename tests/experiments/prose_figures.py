# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures of result files, for the tests of sentences."""

from __future__ import annotations

import statistics
from functools import cache
from typing import Any

from benchmarks.reporting import RESULTS, read_lines
from experiments.tables.runs import figures


@cache
def runs(grid: str, row: str) -> tuple[dict[str, Any], ...]:
    """Return the runs of a row."""
    return tuple(run for run in read_lines(RESULTS / f"{grid}.jsonl") if run["row"] == row)


def values(grid: str, row: str, place: str, scale: float = 1.0) -> list[float]:
    return [scale * value for value in figures(list(runs(grid, row)), place)]


def mean(grid: str, row: str, place: str, scale: float = 1.0) -> float:
    return statistics.fmean(values(grid, row, place, scale))


def lower(grid: str, place: str, one: str, other: str) -> float:
    """Return by how many percent the mean of a row is below another."""
    return 100 * (1 - mean(grid, one, place) / mean(grid, other, place))


def bleu(row: str, grid: str = "synconmt") -> float:
    return mean(grid, row, "test/bleu")
