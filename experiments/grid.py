# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a grid is: rows that are options of a script or arguments of a function, and where results are kept."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from string import Template
from typing import Any

import torch
from benchmarks.reporting import RESULTS, ROOT

__all__ = ["Commands", "Functions", "Grid", "Need", "Place"]

# Logs of single epochs and files beside the model are no results: they stay in outputs/.
LEFT_OUT = ("epochs", "evaluations", "predictions", "runs")


@dataclass(frozen=True)
class Place:
    """Where results and models lie, what is added to every command, and whether commands are only printed."""

    results: Path = RESULTS
    options: str = ""
    dry_run: bool = False

    def model(self, grid: str, row: str, seed: int) -> str:
        """The folder of a run, from the root of the repository where it lies in it."""
        folder = ROOT / "outputs" if self.results == RESULTS else self.results
        path = folder / grid / f"{row}-seed-{seed}"
        return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)

    def call(self, words: Sequence[str]) -> None:
        """Run a command from the root of the repository; a script or a module by this Python."""
        python = words[0].endswith(".py") or words[0] == "-m"
        print(shlex.join(["python", *words] if python else words), flush=True)
        if not self.dry_run:
            subprocess.run([sys.executable, *words] if python else words, cwd=ROOT, check=True)


@dataclass(frozen=True)
class Grid:
    """A table: its rows by name, and the seeds of each, unless the command line says otherwise."""

    name: str
    rows: Mapping[str, Any]
    seeds: Sequence[int] = (0,)

    def choose(self, patterns: Sequence[str]) -> list[str]:
        """Rows that match one of the patterns, every row without one.

        Raises:
            ValueError: a pattern matches no row.
        """
        for pattern in patterns:
            if not any(fnmatchcase(row, pattern) for row in self.rows):
                raise ValueError(f"no row {pattern} in {self.name}; there are: {'; '.join(self.rows)}")
        return [row for row in self.rows if any(fnmatchcase(row, pattern) for pattern in patterns or ["*"])]

    def describe(self, row: str) -> str:
        """What a row is."""
        return row

    def check(self, row: str, found: Mapping[str, Any]) -> None:
        """Raise when a result does not belong to what the row is now."""

    def run(self, row: str, seed: int, place: Place) -> dict[str, Any] | None:
        """The result of a run; none where commands are only printed."""
        raise NotImplementedError


@dataclass(frozen=True)
class Need:
    """A folder that commands read: another command makes it, unless the file ``proof`` is there."""

    folder: str
    proof: str
    command: str


@dataclass(frozen=True)
class Commands(Grid):
    """Rows that are options of a script.

    ``$DATA`` stands for the data folder, ``$SEED`` for the seed, ``$CPU`` for whether there is no accelerator, which
    a script wants to hear before it computes in bfloat16 on a CPU. ``@GRID/ROW`` is the model of another row and the
    same seed; rows that begin with one of their own grid run last.
    """

    script: str = ""
    common: str = ""
    seed_options: str = "--disable_tqdm true --seed $SEED --resume_from_checkpoint last"
    needs: Sequence[Need] = ()

    def choose(self, patterns: Sequence[str]) -> list[str]:
        return sorted(super().choose(patterns), key=lambda row: f"@{self.name}/" in self.rows[row])

    def words(self, text: str, seed: int) -> list[str]:
        """Words of a command line with what their names stand for."""
        data = os.environ.get("COMPLEX_TRANSFORMERS_DATA", "../shared/data")
        values = {"DATA": data, "SEED": str(seed), "CPU": str(not torch.cuda.is_available())}
        return [Template(word).substitute(values) for word in shlex.split(text)]

    def command(self, row: str, seed: int, place: Place) -> list[str]:
        """The command line of a run."""

        def begun(match: re.Match[str]) -> str:
            model = place.model(match[1], match[2], seed)
            if not place.dry_run and not (ROOT / model).is_dir():
                raise FileNotFoundError(
                    f"{row} begins with {model}, which is not there: run {match[2]} of {match[1]} first, with "
                    "--results FOLDER where it has a result"
                )
            return model

        options = re.sub(r"@([^/ ]+)/(\S+)", begun, self.rows[row])
        text = f"{self.script} {self.common} {options} {self.seed_options}"
        words = [*self.words(text, seed), "--output_dir", place.model(self.name, row, seed)]
        return [*words, *shlex.split(place.options)]

    def describe(self, row: str) -> str:
        command = self.command(row, self.seeds[0], Place(dry_run=True))
        return f"{row}: {shlex.join(['python', *command])}"

    def provide(self, words: Sequence[str], needs: Sequence[Need], place: Place) -> None:
        """Make what a command reads, where it is missing."""
        for index, need in enumerate(needs):
            if any(need.folder in word for word in words) and not (ROOT / need.folder / need.proof).exists():
                command = self.words(need.command, 0)
                self.provide(command, needs[:index], place)
                if not place.dry_run:
                    (ROOT / need.folder).parent.mkdir(parents=True, exist_ok=True)
                place.call(command)

    def run(self, row: str, seed: int, place: Place) -> dict[str, Any] | None:
        command = self.command(row, seed, place)
        self.provide(command, self.needs, place)
        place.call(command)
        if place.dry_run:
            return None
        result = json.loads((ROOT / place.model(self.name, row, seed) / "results.json").read_text(encoding="utf-8"))
        result |= dict(*result.get("runs", ()))  # a script of several seeds, called with one
        return {name: value for name, value in result.items() if name not in LEFT_OUT}


@dataclass(frozen=True)
class Functions(Grid):
    """Rows that are arguments of ``function(value, seed)``; ``settings(value)`` is what a result depends on, too."""

    function: Callable[[Any, int], dict[str, Any]] = lambda value, seed: {}
    settings: Callable[[Any], dict[str, Any]] = lambda value: {}

    def _settings(self, row: str) -> dict[str, Any]:
        return json.loads(json.dumps(self.settings(self.rows[row])))

    def check(self, row: str, found: Mapping[str, Any]) -> None:
        if found.get("settings", {}) != self._settings(row):
            raise ValueError(f"{row} was measured under other settings: remove its lines, or give other --results")

    def run(self, row: str, seed: int, place: Place) -> dict[str, Any] | None:
        if place.options:
            raise ValueError(f"the rows of {self.name} are no commands: they take no --options")
        if place.dry_run:
            return None
        settings = self._settings(row)
        return {**({"settings": settings} if settings else {}), **self.function(self.rows[row], seed)}
