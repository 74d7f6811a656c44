# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The three algorithms of a complex dense layer, by rows and width: the basis of ``nn.functional.linear``."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.cases.linear import REAL, check_paths, steps
from benchmarks.race import Outcome
from benchmarks.reporting import machine_line, markdown_table
from benchmarks.timing import ratio, time_rounds

__all__ = ["case", "table"]

ROWS = (1, 16, 64, 128, 256, 1024, 4096)
WIDTHS = (256, 512, 1024, 2048)


def case(rounds: int) -> Outcome:
    """Three ways to compute ComplexLinear against nn.Linear of the same stored width."""
    for width in WIDTHS[:2]:
        check_paths(width, 24)
    rows: list[dict[str, Any]] = []
    for training in (False, True):
        for width in WIDTHS:
            for count in ROWS:
                seconds = time_rounds(steps(width, count, training), rounds, min_seconds=0.01)
                rows.append(
                    {
                        "training": training,
                        "width": width,
                        "rows": count,
                        "milliseconds": {n: 1e3 * statistics.median(v) for n, v in seconds.items()},
                        "ratio_to_real": {n: ratio(v, seconds[REAL]).to_dict() for n, v in seconds.items()},
                    }
                )
                print({n: round(r["median"], 2) for n, r in rows[-1]["ratio_to_real"].items()}, width, count, training)
    return Outcome(rows)


def table(data: dict[str, Any]) -> str:
    """Write two tables with three ratios per cell, the smallest in bold."""
    names = ("three products", "block", "sub-layers")
    widths = sorted({row["width"] for row in data["rows"]})
    counts = sorted({row["rows"] for row in data["rows"]})
    text = []
    for training in (False, True):
        rows = []
        for count in counts:
            cells = [str(count)]
            for width in widths:
                (row,) = [
                    r for r in data["rows"] if (r["training"], r["width"], r["rows"]) == (training, width, count)
                ]
                ratios = {name: row["ratio_to_real"][name]["median"] for name in names}
                best = min(ratios.values())
                cells.append(" / ".join(f"**{v:.2f}**" if v == best else f"{v:.2f}" for v in ratios.values()))
            rows.append(cells)
        title = "Training step (forward + backward)" if training else "Forward only"
        text.append(f"**{title}**\n\n" + markdown_table(["rows", *(f"width {w}" for w in widths)], rows))
    text.append(
        f"Medians of {data['rounds']} interleaved rounds. {machine_line(data['machine'])}{data.get('note', '')}"
    )
    return "\n\n".join(text)
