# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Write the TREC table of the README from the results of ``trec.sh``: python examples/text-classification/table.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

README = Path(__file__).with_name("README.md")
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "trec"
ROWS = ("complex_order", "complex_vanilla", "word", "learned_position", "sinusoidal_position")


def percent(values: dict[str, float]) -> str:
    """Mean and standard deviation over the seeds."""
    return f"{100 * values['mean']:.1f} ± {100 * values['std']:.1f}"


def row(embedding: str, field: str, result: dict[str, Any] | None) -> str:
    """One line of the table; a row that has not been run says so."""
    if result is None:
        return f"| `{embedding}` | {field} | not measured yet | | | | |"
    runs = result["runs"]
    test = " ".join(f"{100 * run['test_accuracy']:.1f}" for run in runs)
    return (
        f"| `{embedding}` | {field} | {percent(result['validation_accuracy'])} | {percent(result['test_accuracy'])} "
        f"| {test} | {result['parameters'] / 1e6:.2f} M | {result['seconds'] / len(runs):.0f} s |"
    )


def main() -> None:
    """Read every result there is and replace the table between its markers."""
    lines = [
        "| embedding | field | validation | test | test, seed by seed | parameters | training |",
        "|---|---|---|---|---|---|---|",
    ]
    for embedding in ROWS:
        for field, suffix in (("complex", ""), ("real", "-real")):
            path = RESULTS / f"{embedding}{suffix}.json"
            lines.append(row(embedding, field, json.loads(path.read_text()) if path.exists() else None))
    text = README.read_text(encoding="utf-8")
    table = "<!-- trec:start -->\n" + "\n".join(lines) + "\n<!-- trec:end -->"
    text, count = re.subn(r"<!-- trec:start -->.*<!-- trec:end -->", lambda _: table, text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{README} must hold the markers trec:start and trec:end once")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
