# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A row of the tables of the sources: its names and commands are resolved, its figures come from the results."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import reduce
from pathlib import Path
from typing import Any

from benchmarks.reporting import ROOT, markdown_table, read_lines

from experiments.grid import Grid
from experiments.grids import GRIDS
from experiments.tables.runs import figures, find_runs, mean_std
from experiments.tables.verdicts import verdict

__all__ = ["NOT_RUN", "Part", "Row", "resolve", "table"]

NOT_RUN = "not run yet"
# Last name of a figure -> its digits and factor.
UNITS = {
    "bleu": (1, 1),
    "perplexity": (1, 1),
    "bits_per_token": (3, 1),
    "label_error_rate": (1, 100),
    "accuracy": (1, 100),
    "mean_rating": (3, 1),
    "test": (1, 100),
    "test_accuracy": (1, 100),
}
LOWER_IS_BETTER = ("perplexity", "bits_per_token", "label_error_rate")


@dataclass(frozen=True)
class Row:
    """A part of a source.

    Args:
        place: section, equations, table or figure.
        content: its content, in a few words.
        code: names of the package and files of the repository, separated by commas.
        command: a grid with row patterns, for ``python -m experiments.run``, or a whole command line.
        result: the answer. ``{grid|row|figure}`` is mean and standard deviation over the seeds, and
            ``{grid|row|other row|figure}`` also compares them.
    """

    place: str
    content: str
    code: str = ""
    command: str = ""
    result: str | Callable[[Path], str] = ""

    @property
    def names(self) -> list[str]:
        """The names and files in ``code``."""
        return [name.strip() for name in self.code.split(",") if name.strip()]

    @property
    def grid(self) -> Grid | None:
        """The grid of the command; None for other commands."""
        return GRIDS.get(shlex.split(self.command)[0]) if self.command else None

    def lines(self, results: Path) -> list[dict[str, Any]]:
        """Return the runs of the rows that the command names."""
        if self.grid is None:
            return []
        patterns = shlex.split(self.command)[1:] or ["*"]
        path = results / f"{self.grid.name}.jsonl"
        return [line for line in read_lines(path) if any(fnmatchcase(line["row"], p) for p in patterns)]

    def runs(self, results: Path) -> str:
        """Return rows and runs with a result, and their hours if every run recorded its time."""
        if self.grid is None:
            return ""
        lines, asked = self.lines(results), self.grid.choose(shlex.split(self.command)[1:])
        if not lines:
            return NOT_RUN
        done = len({line["row"] for line in lines})
        rows = f"{done} of {len(asked)} rows, " if done < len(asked) else ""
        return f"{rows}{len(lines)} {'run' if len(lines) == 1 else 'runs'}{hours(lines)}"

    def answer(self, results: Path) -> str:
        """Return the result with its figures."""
        text = self.result if isinstance(self.result, str) else self.result(results)
        return re.sub(r"\{([^{}]*)\}", lambda found: figure(results, found[1].split("|")), text)

    @property
    def repeated(self) -> bool:
        """Whether the result does not say that the part is not repeated."""
        return not isinstance(self.result, str) or not self.result.startswith("not repeated")


@dataclass(frozen=True)
class Part:
    """A table of a source, with the columns that its rows fill in."""

    name: str
    first: str
    rows: Sequence[Row] = field(default_factory=tuple)


def hours(lines: Sequence[dict[str, Any]]) -> str:
    """Return the sum of the recorded times; nothing if a run has none."""
    seconds = [line.get("seconds") for line in lines]
    return "" if None in seconds else f", {sum(seconds) / 3600:.1f} h"


def figure(results: Path, words: Sequence[str]) -> str:
    """Return mean and standard deviation of a row, or of two rows with the verdict on the first."""
    grid, *rows, place = words
    if grid not in GRIDS or {*rows} - {*GRIDS[grid].rows}:
        raise ValueError(f"figure must name a grid and its rows, got {'|'.join(words)}")
    digits, factor = UNITS[place.rpartition("/")[2]]
    found = find_runs(results / f"{grid}.jsonl", rows)
    if {*rows} - {*found}:
        return NOT_RUN
    scores = [[factor * value for value in figures(found[row], place)] for row in rows]
    text = " against ".join(mean_std(values, digits) for values in scores)
    if len(rows) == 1:
        return text
    if all(len(values) == 1 for values in scores):
        return f"{text} (one seed: no verdict)"
    return f"{text}: {verdict(*scores, lower_is_better=place.rpartition('/')[2] in LOWER_IS_BETTER)}"


def resolve(name: str) -> Any:
    """Return the file, or the object of the package or of torch, that a name stands for.

    Raises:
        LookupError: there is none.
    """
    if "/" in name:
        if (ROOT / name).exists():
            return ROOT / name
        raise LookupError(f"{name} must be a file of the repository")
    for path in (f"complex_transformers.{name}", name):
        for module, attributes in splits(path):
            try:
                return reduce(getattr, attributes, importlib.import_module(module))
            except (ImportError, AttributeError):
                continue
    raise LookupError(f"{name} must be a name of complex_transformers or torch, or a file")


def splits(path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the ways to cut a dotted path into a module and attributes, the longest module first."""
    words = path.split(".")
    for end in range(len(words), 0, -1):
        yield ".".join(words[:end]), words[end:]


def check_command(command: str) -> None:
    """Raise ValueError if a command names no grid, a pattern without rows, or a script that does not exist."""
    words = shlex.split(command)
    if words[0] != "python":
        if words[0] not in GRIDS:
            raise ValueError(f"command must start with a grid or python, got {command}")
        GRIDS[words[0]].choose(words[1:])
    elif words[1] == "-m":
        if importlib.util.find_spec(words[2]) is None:
            raise ValueError(f"command must name a module, got {command}")
    elif not (ROOT / words[1]).exists():
        raise ValueError(f"command must name a script, got {command}")


def table(part: Part, results: Path) -> str:
    """Write the table of a part without the columns that no row fills in."""
    columns: dict[str, Callable[[Row], str]] = {
        "content": lambda row: row.content,
        "code": lambda row: ", ".join(f"`{name}`" for name in row.names),
        "command": lambda row: f"`{row.command}`" if row.command else "",
        "runs": lambda row: row.runs(results),
        "result": lambda row: row.answer(results),
    }
    cells = {name: [column(row) for row in part.rows] for name, column in columns.items()}
    used = {name: values for name, values in cells.items() if any(values)}
    rows = [[row.place, *values] for row, *values in zip(part.rows, *used.values(), strict=True)]
    return markdown_table([part.first, *used], rows).replace("---:", "---", len(used))
