# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of what ``benchmarks.bench`` has measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bench import BENCH, CASES
from benchmarks.gpu.contest import PEAK
from benchmarks.race import race_cells, race_text
from benchmarks.reporting import ROOT, read_lines

from experiments.paper.epoch import FIGURE2

__all__ = ["TABLES"]

MEASURED = {**CASES, "paper-figure2": FIGURE2}


def case_table(results: Path, name: str) -> str:
    """The table of one case."""
    found = {line["row"]: line for line in read_lines(results / BENCH.name)}
    if name not in found:
        raise ValueError(f"{BENCH.name} has no {name}: run python -m benchmarks.bench --case {name}")
    return MEASURED[name].table(found[name])


def gpu_tables(results: Path) -> str:
    """The tables of all cases that a GPU has measured."""
    lines = read_lines(results / "bench-gpu.jsonl")
    if not lines:
        return "No GPU has measured them yet."
    return "\n\n".join(map(gpu_table, lines))


def gpu_table(line: dict[str, Any]) -> str:
    """The table of a case: time and, beside it, peak memory."""
    columns = ["", "ours", "reference", "ratio (quartiles)", "at most", "peak memory", "reference", "ratio", "at most"]
    peaks = {(r["group"], r["ours"], r["reference"]): race_cells(r)[1:] for r in line["rows"] if is_peak(r)}
    rows = []
    for found in line["rows"]:
        if not is_peak(found):
            memory = peaks.get((f"{found['group']}{PEAK}", found["ours"], found["reference"]), [""] * 4)  # no GPU
            ours, theirs, ratio, bar = memory
            rows.append([*race_cells(found), ours, theirs, ratio.partition(" ")[0], bar])  # which has no quartiles
    return race_text(line, columns, rows)


def is_peak(found: dict[str, Any]) -> bool:
    """Whether a row is of memory."""
    return found["group"].endswith(PEAK)


TABLES: dict[str, dict[str, Callable[[Path], str]]] = defaultdict(dict)
for _name, _case in MEASURED.items():
    _page = str(_case.page.relative_to(ROOT))
    TABLES[_page][_case.part or f"bench-{_name}"] = partial(case_table, name=_name)
TABLES["docs/benchmarks-gpu.md"]["bench-gpu"] = gpu_tables
