# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Grids of runs: rows are options of a script or arguments of a function; results are JSON lines."""

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

# Logs of single epochs and files beside the model are not results; they stay in outputs/.
LEFT_OUT = ("epochs", "evaluations", "predictions", "runs")


@dataclass(frozen=True)
class Place:
    """Folder of results and models, options added to every command, and whether to print commands only."""

    results: Path = RESULTS
    options: str = ""
    dry_run: bool = False

    def model(self, grid: str, row: str, seed: int) -> str:
        """Return the folder of a run, relative to the repository root if it is inside."""
        folder = ROOT / "outputs" if self.results == RESULTS else self.results
        path = folder / grid / f"{row}-seed-{seed}"
        return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)

    def call(self, words: Sequence[str]) -> None:
        """Run a command from the repository root; scripts and modules run with this Python."""
        python = words[0].endswith(".py") or words[0] == "-m"
        print(shlex.join(["python", *words] if python else words), flush=True)
        if not self.dry_run:
            subprocess.run([sys.executable, *words] if python else words, cwd=ROOT, check=True)


@dataclass(frozen=True)
class Grid:
    """A table: its rows by name, and the default seeds of each."""

    name: str
    rows: Mapping[str, Any]
    seeds: Sequence[int] = (0,)

    def choose(self, patterns: Sequence[str]) -> list[str]:
        """Return the rows that match one of the patterns; without patterns, every row.

        Raises:
            ValueError: a pattern matches no row.
        """
        for pattern in patterns:
            if not any(fnmatchcase(row, pattern) for row in self.rows):
                raise ValueError(f"ROW must match a row of {self.name}, got {pattern}. Rows: {'; '.join(self.rows)}")
        return [row for row in self.rows if any(fnmatchcase(row, pattern) for pattern in patterns or ["*"])]

    def describe(self, row: str) -> str:
        """Return the description of a row for ``--list``."""
        return row

    def check(self, row: str, found: Mapping[str, Any]) -> None:
        """Raise ValueError if a result was measured with other settings than the row has now."""

    def run(self, row: str, seed: int, place: Place) -> dict[str, Any] | None:
        """Return the result of a run; None if commands are only printed."""
        raise NotImplementedError


@dataclass(frozen=True)
class Need:
    """An input folder, and the command that creates it if the file ``proof`` is missing."""

    folder: str
    proof: str
    command: str


@dataclass(frozen=True)
class Commands(Grid):
    """A grid whose rows are options of a script.

    ``$DATA`` is replaced by the data folder, ``$SEED`` by the seed, ``$CPU`` by true without an accelerator, which
    a script needs before it computes in bfloat16 on a CPU. ``@GRID/ROW`` is the model of another row with the
    same seed; rows that start from a model of their own grid run last.
    """

    script: str = ""
    common: str = ""
    seed_options: str = "--disable_tqdm true --seed $SEED --resume_from_checkpoint last"
    needs: Sequence[Need] = ()

    def choose(self, patterns: Sequence[str]) -> list[str]:
        return sorted(super().choose(patterns), key=lambda row: f"@{self.name}/" in self.rows[row])

    def words(self, text: str, seed: int) -> list[str]:
        """Split a command line and replace its variables."""
        data = os.environ.get("COMPLEX_TRANSFORMERS_DATA", "../shared/data")
        values = {"DATA": data, "SEED": str(seed), "CPU": str(not torch.cuda.is_available())}
        return [Template(word).substitute(values) for word in shlex.split(text)]

    def command(self, row: str, seed: int, place: Place) -> list[str]:
        """Return the command line of a run."""

        def begun(match: re.Match[str]) -> str:
            model = place.model(match[1], match[2], seed)
            if not place.dry_run and not (ROOT / model).is_dir():
                raise FileNotFoundError(
                    f"{row} starts from {model}, which does not exist. Run {match[2]} of {match[1]} first, with "
                    "--results FOLDER if it already has a result."
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
        """Create the missing inputs of a command."""
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
        result |= dict(*result.get("runs", ()))  # a script for several seeds, called with one
        return {name: value for name, value in result.items() if name not in LEFT_OUT}


@dataclass(frozen=True)
class Functions(Grid):
    """A grid whose rows are arguments of ``function(value, seed)``; results also depend on ``settings(value)``."""

    function: Callable[[Any, int], dict[str, Any]] = lambda value, seed: {}
    settings: Callable[[Any], dict[str, Any]] = lambda value: {}

    def _settings(self, row: str) -> dict[str, Any]:
        return json.loads(json.dumps(self.settings(self.rows[row])))

    def check(self, row: str, found: Mapping[str, Any]) -> None:
        if found.get("settings", {}) != self._settings(row):
            raise ValueError(f"{row} was measured with other settings. Remove its lines, or pass another --results.")

    def run(self, row: str, seed: int, place: Place) -> dict[str, Any] | None:
        if place.options:
            raise ValueError(f"--options must be empty for {self.name}, whose rows are not commands.")
        if place.dry_run:
            return None
        settings = self._settings(row)
        return {**({"settings": settings} if settings else {}), **self.function(self.rows[row], seed)}
