# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of kernel launches, counted by ``benchmarks.launches``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.launches import LAUNCHES, LIMIT
from benchmarks.reporting import markdown_table, read_lines

__all__ = ["TABLES"]


def table(results: Path) -> str:
    """Return the launches of a layer: the real twin, our formulas, our kernels."""
    lines = read_lines(results / LAUNCHES.name)
    columns = ["layer", "real twin", "formulas", "ratio", "kernels", f"ratio (goal {LIMIT})"]
    rows = []
    for line in lines:
        formulas, kernels = (f"{line[ours] / line['real']:.2f}" for ours in ("formulas", "kernels"))
        rows.append([line["row"], str(line["real"]), str(line["formulas"]), formulas, str(line["kernels"]), kernels])
    return markdown_table(columns, rows)


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {"docs/benchmarks-gpu.md": {"launches": table}}
