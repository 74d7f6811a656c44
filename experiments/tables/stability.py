# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of diverged runs by setting."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from benchmarks.reporting import machine_line, markdown_table, read_lines

from experiments.grids.stability import settings

__all__ = ["TABLES", "stability_table"]


def stability_table(results: Path) -> str:
    """Tabulate divergence, losses and gradients of every setting that was run."""
    runs = read_lines(results / "stability.jsonl")
    by_row = defaultdict(list)
    for run in runs:
        by_row[run["row"]].append(run)
    rows: list[list[str]] = []
    group = ""
    for setting in settings():
        if not (mine := by_row[setting.name]):
            continue
        if setting.group != group:
            group = setting.group
            rows.append([f"**{group}**", "", "", "", "", ""])
        diverged = sum(run["diverged"] is not None for run in mine)
        idle = sum(run["did_not_learn"] for run in mine)
        final = sorted(run["final_loss"] for run in mine if run["final_loss"] is not None)
        loss = f"{statistics.median(final):.3f} ({final[0]:.3f} to {final[-1]:.3f})" if final else "none"
        gradient = statistics.median(run["largest_gradient_norm"] for run in mine)
        rows.append(
            [
                setting.label + (" (default)" if setting.is_default() else ""),
                str(len(mine)),
                str(diverged),
                str(idle),
                loss,
                f"{gradient:.3g}",
            ]
        )
    table = markdown_table(
        ["setting", "runs", "diverged", "did not learn", "final loss: median (range)", "largest gradient norm"], rows
    )
    failures = sum(run["diverged"] is not None for run in runs)
    summary = f"{len(runs)} runs, {failures} of them diverged. {machine_line(runs[0]['machine'])}"
    return f"{table}\n\n{summary}"


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {"docs/stability.md": {"stability": stability_table}}
