# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A lifted checkpoint of few bits beside rules for real weights, without training and with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.reporting import machine_line, markdown_table, read_lines

from experiments.tables.runs import MISSING

__all__ = ["TABLES", "bits_table", "training_table"]


def bits_table(results: Path) -> str:
    """Perplexities by bits; rows that were not run are left out."""
    lines = read_lines(results / "lift-bits.jsonl")
    rows = [
        [
            what(line["settings"]),
            f"{line['bits']:.2f}",
            f"{line['megabytes']:.0f} MB",
            f"{line['perplexity']:,.1f}",
            f"{line['seconds']:.0f} s",
        ]
        for line in sorted(lines, key=lambda line: (-line["bits"], line["perplexity"]))
    ]
    header = ["layers", "bits of a weight", "all weights, computed", "perplexity", "processor time"]
    return _with_machine(header, rows, lines)


def training_table(results: Path) -> str:
    """Perplexities before and after the training with rounded weights."""
    lines = read_lines(results / "lift-training.jsonl")
    rows = [
        [
            what(line["settings"]),
            f"{line['bits']:.2f}",
            f"{line['before']:,.1f}",
            f"{line['perplexity']:,.1f}",
            f"{line['rate']:.0e}".replace("e-0", "e-"),
            f"{line['seconds'] / 60:.0f} min",
        ]
        for line in sorted(lines, key=lambda line: (line["bits"], line["row"]))
    ]
    header = ["layers", "bits of a weight", "perplexity before", "after", "learning rate", "processor time"]
    return _with_machine(header, rows, lines)


def _with_machine(header: list[str], rows: list[list[str]], lines: list[dict[str, Any]]) -> str:
    return f"{markdown_table(header, rows)}\n\n{machine_line(lines[-1]['machine'])}" if lines else MISSING


RULE_NAMES = {"residual_binary": "binary, 2 stages"}


def what(settings: dict[str, Any]) -> str:
    """How the layers of a row are rounded."""
    rule = settings["rule"]
    if rule in ("float", "lifted"):
        return f"{'original' if rule == 'float' else rule}, float32"
    if rule == "hqq":
        return f"original, HQQ, {settings['hqq_bits']} bits, groups of {settings['hqq_group']}"
    if rule != "units":
        return f"original, {RULE_NAMES.get(rule, rule)}, scales of the row"
    stages = f"{settings['stages']} stage{'s' * (settings['stages'] > 1)}"
    if "calibrated" not in settings:
        return f"lifted, {stages}, scales of the row"
    rounding = "calibrated" if settings["calibrated"] else "nearest"
    return f"lifted, {rounding}, {stages}, scales of the {settings['granularity']}"


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/quantization.md": {"lift-bits": bits_table, "lift-training": training_table}
}
