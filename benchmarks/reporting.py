# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all measurements share: facts about the machine, files of results, tables in pages of the documentation."""

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
# What many lines of a file have in common stands once, in a line of its own before them.
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
    """What a figure depends on besides the code; nothing that names a person or a place."""
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
    """One sentence under a table."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"{facts['processor']} ({facts['vector_instructions']}), {facts['threads']} thread(s) of {facts['cores']} "
        f"cores, Python {facts['python']}, {versions}."
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The runs of a file of results, one a line, each with what it shares with others.

    A line that was cut short by a stop is left out.
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
    """Add a run, named by its ``row`` and ``seed``, to a file of results, or replace it there."""
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
    whole = path.with_suffix(".new")  # a stop leaves the old file or the new one
    whole.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    whole.replace(path)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose other columns are figures."""
    alignment = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, alignment, *rows])


def write_part(page: str, name: str, text: str) -> str:
    """A page with ``text`` between ``<!-- name:start -->`` and ``<!-- name:end -->``."""
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    before, rest = page.split(start, 1)
    return f"{before}{start}\n{text.strip()}\n{end}{rest.split(end, 1)[1]}"
