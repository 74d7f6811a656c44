# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A lifted checkpoint of few bits beside HQQ on the original."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.reporting import machine_line, markdown_table, read_lines

__all__ = ["TABLES", "bits_table"]


def bits_table(results: Path) -> str:
    """Perplexities by bits; rows that were not run are left out."""
    lines = read_lines(results / "lift-bits.jsonl")
    rows = [
        [what(line["settings"]), f"{line['bits']:.2f}", f"{line['perplexity']:,.1f}", f"{line['seconds']:.0f} s"]
        for line in sorted(lines, key=lambda line: (-line["bits"], line["perplexity"]))
    ]
    table = markdown_table(["layers", "bits of a weight", "perplexity", "processor time"], rows)
    return f"{table}\n\n{machine_line(lines[-1]['machine'])}"


def what(settings: dict[str, Any]) -> str:
    """How the layers of a row are rounded."""
    if settings["hqq_group"] is not None:
        return f"original, HQQ, 2 bits, groups of {settings['hqq_group']}"
    if settings["stages"] is None:
        return "original, float32"
    rounding = "calibrated" if settings["calibrated"] else "nearest"
    stages = f"{settings['stages']} stage{'s' * (settings['stages'] > 1)}"
    return f"lifted, {rounding}, {stages}, scales of the {settings['granularity']}"


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {"docs/quantization.md": {"lift-bits": bits_table}}
