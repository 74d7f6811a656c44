# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of exported models, measured by ``benchmarks.export``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.export import EXPORT
from benchmarks.reporting import machine_line, markdown_table, read_lines

__all__ = ["TABLES"]

KINDS = {
    "pytorch": "PyTorch",
    "pytorch_folded": "PyTorch, folded",
    "onnx": "ONNX",
    "onnx_int8": "ONNX, int8",
}


def latency_table(results: Path) -> str:
    """Tabulate time, ratio to PyTorch, file size and difference for each model and backend."""
    rows, lines = [], read_lines(results / EXPORT.name)
    for line in lines:
        size, length = line["batch"]
        what = f"`{line['class']}`, {line['parameters'] / 1e6:.2g} M, {size} x {length}"
        for kind, name in KINDS.items():
            if kind not in line["milliseconds"]:
                continue
            graph, share = line["graphs"].get(kind), line["ratio"][kind]
            rows.append(
                [
                    what if kind == "pytorch" else "",
                    name,
                    f"{line['milliseconds'][kind]:.3g} ms",
                    "" if kind == "pytorch" else f"{share['median']:.2f} ({share['low']:.2f} to {share['high']:.2f})",
                    f"{graph['bytes'] / 1e6:.1f} MB" if graph else "",
                    f"{graph['largest_difference'] / line['largest_output']:.0e}" if graph else "",
                    f"{100 * graph['same_answers']:.1f} %" if graph else "",
                ]
            )
    header = [
        "model, parameters, batch x length",
        "backend",
        "time per batch",
        "/ PyTorch",
        "file size",
        "relative difference",
        "same predictions",
    ]
    return f"{markdown_table(header, rows)}\n\n{machine_line(lines[-1]['machine'])}"


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {"docs/export.md": {"export": latency_table}}
