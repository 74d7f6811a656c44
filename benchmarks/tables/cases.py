# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of what ``benchmarks.bench`` has measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.bench import BENCH, CASES
from benchmarks.race import race_table
from benchmarks.reporting import ROOT, read_lines

__all__ = ["TABLES"]


def case_table(results: Path, name: str) -> str:
    """The table of one case."""
    found = {line["row"]: line for line in read_lines(results / BENCH.name)}
    if name not in found:
        raise ValueError(f"{BENCH.name} has no {name}: run python -m benchmarks.bench --case {name}")
    return CASES[name].table(found[name])


def gpu_tables(results: Path) -> str:
    """The tables of all cases that a GPU has measured."""
    lines = read_lines(results / "bench-gpu.jsonl")
    if not lines:
        return "No GPU has measured them yet."
    return "\n\n".join(race_table(line) for line in lines)


TABLES: dict[str, dict[str, Callable[[Path], str]]] = defaultdict(dict)
for _name, _case in CASES.items():
    _page = str(_case.page.relative_to(ROOT))
    TABLES[_page][_case.part or f"bench-{_name}"] = partial(case_table, name=_name)
TABLES["docs/benchmarks.md"]["bench-gpu"] = gpu_tables
