# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the pages about the sources: every part of a source, and the time of every grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reporting import markdown_table, read_lines

from experiments.grid import Grid
from experiments.grids import GRIDS
from experiments.sources import complex_order, slides, synconmt, thesis_equations, thesis_runs, thesis_speech
from experiments.sources.rows import NOT_RUN, Part, Row, table

__all__ = ["SOURCES", "TABLES", "rows_of"]

# Page -> its parts, in the order of their headings.
SOURCES: dict[str, tuple[Part, ...]] = {
    "complex-order": complex_order.PAPER,
    "slides": slides.SLIDES,
    "thesis": (*thesis_equations.EQUATIONS, *thesis_runs.RUNS, thesis_speech.CHAPTER5, thesis_speech.DATA),
    "synconmt": synconmt.SYNCONMT,
}
TITLES = {"complex-order": "ComplexOrder", "slides": "Slides", "thesis": "Thesis", "synconmt": "SynCoNMT"}


def rows_of(source: str) -> list[Row]:
    """Return all rows of a source."""
    return [row for part in SOURCES[source] for row in part.rows]


def summary(results: Path) -> str:
    """Count the rows of each source: with code, with runs, and not repeated."""
    rows = [[f"[{TITLES[source]}]({source}.md)", *map(str, counts(rows_of(source), results))] for source in SOURCES]
    header = ["source", "rows", "with code", "with a command", "of these not run yet", "not repeated"]
    return markdown_table(header, rows)


def counts(rows: Iterable[Row], results: Path) -> tuple[int, ...]:
    """Return the numbers of rows by kind."""
    rows = list(rows)
    commands = [row for row in rows if row.command]
    waiting = sum(row.runs(results) == NOT_RUN for row in commands)
    return (
        len(rows),
        sum(bool(row.code) for row in rows),
        len(commands),
        waiting,
        sum(not row.repeated for row in rows),
    )


def times(results: Path) -> str:
    """Tabulate runs and recorded seconds of every grid, the longest run, and an estimate of the missing runs."""
    header = ["grid", "rows with results", "runs", "recorded hours", "longest run", "hours of missing runs, estimated"]
    rows = [time_row(grid, results) for grid in GRIDS.values()]
    total = f"{sum(map(recorded, (lines_of(grid, results) for grid in GRIDS.values()))) / 3600:.0f}"
    return markdown_table(header, [*rows, ["all", "", str(sum(int(row[2]) for row in rows)), total, "", ""]])


def lines_of(grid: Grid, results: Path) -> list[dict[str, Any]]:
    """Return the runs of a grid."""
    return read_lines(results / f"{grid.name}.jsonl")


def recorded(lines: Iterable[Mapping[str, Any]]) -> float:
    """Return the sum of the seconds that runs recorded."""
    return sum(line.get("seconds") or 0 for line in lines)


def time_row(grid: Grid, results: Path) -> list[str]:
    """Return the cells of one grid."""
    lines = lines_of(grid, results)
    seconds = [line["seconds"] for line in lines if line.get("seconds") is not None]
    rows = f"{len({line['row'] for line in lines})} of {len(grid.rows)}"
    if not seconds:
        return [f"`{grid.name}`", rows, str(len(lines)), "not recorded" if lines else "", "", ""]
    missing = len(planned(grid) - {(line["row"], line["seed"]) for line in lines})
    rest = f"{missing * sum(seconds) / len(seconds) / 3600:.1f}" if missing else "0"
    longest = f"{max(seconds):,.0f} s"
    return [f"`{grid.name}`", rows, str(len(lines)), f"{sum(seconds) / 3600:.1f}", longest, rest]


def planned(grid: Grid) -> set[tuple[str, int]]:
    """Return the rows of a grid with its default seeds."""
    return {(row, seed) for row in grid.rows for seed in grid.seeds}


def tables_of(source: str) -> Mapping[str, Callable[[Path], str]]:
    """Return the tables of a source by the marker of its part."""
    return {f"{source}-{number}": partial(table, part) for number, part in enumerate(SOURCES[source], start=1)}


TABLES: dict[str, dict[str, Any]] = {
    "docs/sources/index.md": {"sources": summary, "times": times},
    **{f"docs/sources/{source}.md": dict(tables_of(source)) for source in SOURCES},
}
