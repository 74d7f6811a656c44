# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all measurements share: facts about the machine, JSON files, tables written into pages of the documentation."""

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
    "machine_facts",
    "machine_line",
    "markdown_table",
    "read_json",
    "write_json",
    "write_part",
]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"


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


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write ``data`` readably, with a line break at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read what :func:`write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose other columns are figures."""
    alignment = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, alignment, *rows])


def write_part(page: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- name:start -->`` and ``<!-- name:end -->`` in a page, or append it."""
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    part = f"{start}\n{text.strip()}\n{end}"
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    if start in old and end in old:
        before, rest = old.split(start, 1)
        new = before + part + rest.split(end, 1)[1]
    else:
        new = f"{old.rstrip()}\n\n{part}\n".lstrip("\n")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(new, encoding="utf-8")
