# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Contestants that run in turns, and what came of it: lines of a table with ratios and bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.timing import Quartiles, Step, ratio, time_rounds

__all__ = ["Comparison", "Outcome", "race", "row"]


@dataclass(frozen=True)
class Comparison:
    """Two contestants and the largest ratio of them that is good enough (None: for information)."""

    ours: str
    reference: str
    bar: float | None = None


@dataclass
class Outcome:
    """What a case found."""

    rows: list[dict[str, Any]]
    notes: list[str]


def row(group: str, comparison: Comparison, ours: list[float], reference: list[float], unit: str) -> dict[str, Any]:
    """One line of a table: both medians, their ratio, and whether it is good enough."""
    quotient = ratio(ours, reference)
    return {
        "group": group,
        "ours": comparison.ours,
        "reference": comparison.reference,
        "unit": unit,
        "ours_value": Quartiles.of(ours).to_dict(),
        "reference_value": Quartiles.of(reference).to_dict(),
        "ratio": quotient.to_dict(),
        "bar": comparison.bar,
        "met": None if comparison.bar is None else quotient.median <= comparison.bar,
    }


def race(
    group: str, contestants: Mapping[str, Step], comparisons: Sequence[Comparison], rounds: int
) -> list[dict[str, Any]]:
    """The lines of a table of contestants that run in turns, in milliseconds."""
    seconds = time_rounds(contestants, rounds)
    milliseconds = {name: [1e3 * s for s in values] for name, values in seconds.items()}
    rows = [row(group, c, milliseconds[c.ours], milliseconds[c.reference], "ms") for c in comparisons]
    for found in rows:
        print(f"  {group}: {found['ours']} / {found['reference']} = {found['ratio']['median']:.3f}", flush=True)
    return rows
