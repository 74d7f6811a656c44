# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Shared by all measurements: facts about the machine, result files, tables in the documentation."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

__all__ = [
    "DOCS",
    "RESULTS",
    "ROOT",
    "add_line",
    "machine_facts",
    "machine_line",
    "markdown_table",
    "read_lines",
    "write_part",
]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "experiments" / "results"
DOCS = ROOT / "docs"
# Fields that many lines of a file share are written once, in a line of their own before them.
SHARED = ("settings", "machine")


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    names = re.findall(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return names[0].strip() if names else platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def machine_facts(*packages: str) -> dict[str, Any]:
    """Return the hardware and software that a measurement depends on; nothing that identifies a person or a host."""
    versions = {name: _version(name) for name in ("torch", "transformers", "complex_transformers", *packages)}
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version for name, version in versions.items() if version is not None},
    }


def machine_line(facts: dict[str, Any]) -> str:
    """Return the sentence under a table that describes the machine."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"{facts['processor']} ({facts['vector_instructions']}), {facts['threads']} thread(s) of {facts['cores']} "
        f"cores, Python {facts['python']}, {versions}."
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the runs of a result file, one per line, with the shared fields added to each.

    A line truncated by an interruption is left out.
    """
    shared: dict[str, Any] = {}
    runs = []
    for text in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if "row" in line:
            runs.append({**shared, **line})
        else:
            shared = line
    return runs


def add_line(path: Path, run: dict[str, Any]) -> None:
    """Add a run, identified by ``row`` and ``seed``, to a result file, or replace it there."""
    runs = {(line["row"], line.get("seed")): line for line in read_lines(path)}
    runs[run["row"], run.get("seed")] = run
    lines, before = [], {}
    for line in runs.values():
        shared = {name: line[name] for name in SHARED if name in line}
        if shared != before:
            lines.append(shared)
            before = shared
        lines.append({name: value for name, value in line.items() if name not in SHARED})
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".new")  # an interruption leaves the old file or the new one
    whole.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    whole.replace(path)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table; the first column is left-aligned, all others right-aligned."""
    alignment = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, alignment, *rows])


def write_part(page: str, name: str, text: str) -> str:
    """Return the page with ``text`` between ``<!-- name:start -->`` and ``<!-- name:end -->``."""
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    before, rest = page.split(start, 1)
    return f"{before}{start}\n{text.strip()}\n{end}{rest.split(end, 1)[1]}"
