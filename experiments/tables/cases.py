# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the measurements of ``benchmarks.bench``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bench import BENCH, CASES
from benchmarks.gpu.contest import PEAK
from benchmarks.race import race_cells, race_text, worded
from benchmarks.reporting import DOCS, ROOT, markdown_table, read_lines

from experiments.paper.epoch import FIGURE2

__all__ = ["TABLES"]

MEASURED = {**CASES, "paper-figure2": FIGURE2}


def case_table(results: Path, name: str) -> str:
    """Return the table of one case."""
    found = {line["row"]: line for line in read_lines(results / BENCH.name)}
    if name not in found:
        raise ValueError(f"{BENCH.name} has no case {name}. Run python -m benchmarks.bench --case {name}.")
    return MEASURED[name].table(found[name])


def missed_table(results: Path) -> str:
    """List every comparison of ``docs/benchmarks.md`` that misses its goal."""
    lines = {line["row"]: line for line in read_lines(results / BENCH.name)}
    rows = [
        [name, comparison, ratio, f"{found['bar']:.3g}"]
        for name, case in CASES.items()
        if case.page == DOCS / "benchmarks.md"
        for found in lines.get(name, {}).get("rows", ())
        if found.get("met") is False
        for comparison, _, _, ratio, _ in [race_cells(found)]
    ]
    return worded(markdown_table(["case", "goal missed here", "ratio (quartiles)", "goal"], rows))


def gpu_tables(results: Path) -> str:
    """Return the tables of all cases measured on a GPU."""
    lines = read_lines(results / "bench-gpu.jsonl")
    if not lines:
        return "Not measured on a GPU yet."
    return "\n\n".join(map(gpu_table, lines))


def gpu_table(line: dict[str, Any]) -> str:
    """Return the table of a case: time and peak memory."""
    columns = ["", "ours", "reference", "ratio (quartiles)", "limit", "peak memory", "reference", "ratio", "limit"]
    peaks = {(r["group"], r["ours"], r["reference"]): race_cells(r)[1:] for r in line["rows"] if is_peak(r)}
    rows = []
    for found in line["rows"]:
        if not is_peak(found):
            memory = peaks.get((f"{found['group']}{PEAK}", found["ours"], found["reference"]), [""] * 4)  # CPU
            ours, theirs, ratio, bar = memory
            rows.append([*race_cells(found), ours, theirs, ratio.partition(" ")[0], bar])  # memory has no quartiles
    return race_text(line, columns, rows)


def is_peak(found: dict[str, Any]) -> bool:
    """Return whether a row is about peak memory."""
    return found["group"].endswith(PEAK)


TABLES: dict[str, dict[str, Callable[[Path], str]]] = defaultdict(dict)
for _name, _case in MEASURED.items():
    _page = str(_case.page.relative_to(ROOT))
    TABLES[_page][_case.part or f"bench-{_name}"] = partial(case_table, name=_name)
TABLES["docs/benchmarks.md"]["missed"] = missed_table
TABLES["docs/benchmarks-gpu.md"]["bench-gpu"] = gpu_tables
