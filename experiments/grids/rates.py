# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows with the learning rate that was best in another grid."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.reporting import read_lines

from experiments.grid import Commands, Functions, Place

__all__ = ["ChosenRate", "ChosenRateCommands", "best_rate", "mean_losses"]


def mean_losses(path: Path) -> dict[str, float]:
    """Return the mean validation loss over the seeds of every row of a result file."""
    losses: dict[str, list[float]] = {}
    for line in read_lines(path):
        losses.setdefault(line["row"], []).append(line["validation"]["loss"])
    return {row: statistics.fmean(each) for row, each in losses.items()}


def best_rate(path: Path, row: str, rates: Sequence[float]) -> float:
    """Return the learning rate of least mean validation loss in a result file; the first one wins a tie.

    Raises:
        ValueError: some learning rates were not run.
    """
    losses = mean_losses(path)
    tried = {rate: losses[f"{row},{rate}"] for rate in rates if f"{row},{rate}" in losses}
    if len(tried) < len(rates):
        raise ValueError(f'{row} has no learning rate yet. Run python -m experiments.run {path.stem} "{row},*".')
    return min(tried, key=lambda rate: tried[rate])


@dataclass(frozen=True)
class ChosenRate(Functions):
    """Rows trained with the best learning rate of another grid.

    Rows have a method ``cell(learning_rate)``; ``settings`` of a cell contain ``learning_rate``. A row that is in
    ``chosen_with`` takes the learning rate of another row; one in ``other_rates`` chooses from those, not ``rates``.
    """

    choice: str = ""
    rates: Sequence[float] = ()
    other_rates: Mapping[str, Sequence[float]] = field(default_factory=dict)
    chosen_with: Mapping[str, str] = field(default_factory=dict)

    def check(self, row: str, found: Mapping[str, Any]) -> None:
        if found["settings"] != self._plain_settings(row, found["settings"]["learning_rate"]):
            raise ValueError(f"{row} was measured with other settings. Remove its lines, or pass another --results.")

    def run(self, row: str, seed: int, place: Place) -> dict[str, Any] | None:
        if place.dry_run:
            return None
        rate = self.best(row, place)
        return {"settings": self._plain_settings(row, rate), **self.function(self.rows[row].cell(rate), seed)}

    def _plain_settings(self, row: str, rate: float) -> dict[str, Any]:
        return json.loads(json.dumps(self.settings(self.rows[row].cell(rate))))

    def best(self, row: str, place: Place) -> float:
        """Return the best learning rate of a row.

        Raises:
            ValueError: some learning rates were not run.
        """
        chosen = self.chosen_with.get(row, row)
        rates = self.other_rates.get(chosen, self.rates)
        return best_rate(place.results / f"{self.choice}.jsonl", chosen, rates)


@dataclass(frozen=True)
class ChosenRateCommands(Commands):
    """Rows whose option ``--learning_rate`` had the least mean validation loss in another grid."""

    choice: str = ""
    rates: Sequence[float] = ()

    def command(self, row: str, seed: int, place: Place) -> list[str]:
        rate = best_rate(place.results / f"{self.choice}.jsonl", row, self.rates)
        return [*super().command(row, seed, place), "--learning_rate", str(rate)]
