# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The notebooks: their cells run in order, what they show is what they do, their links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from example_runs import EXAMPLES

FIRST = EXAMPLES / "first-network" / "first_complex_network.ipynb"
NOTEBOOKS = [FIRST, *sorted((EXAMPLES / "notebooks").glob("*.ipynb"))]
SCORES = re.compile(r"weights   test accuracy (.*)")
EACH = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(notebook: Path, kind: str) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def printed(notebook: Path, folder: Path) -> tuple[str, str]:
    """What the cells print, run in order in a process of their own, and what the notebook shows."""
    code = cells_of(notebook, "code")
    script = folder / "cells.py"
    script.write_text("\n\n".join("".join(cell["source"]) for cell in code), encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, "".join(
        "".join(output["text"]) for cell in code for output in cell["outputs"] if "text" in output
    )


@pytest.mark.slow
def test_the_first_network(tmp_path: Path) -> None:
    said, shown = printed(FIRST, tmp_path)
    lines, expected = (
        [line for line in text.splitlines() if "[{" not in line and not SCORES.search(line)] for text in (said, shown)
    )
    assert lines == expected
    accuracies = [float(value) for found in SCORES.findall(said) for value in found.split(",")]
    assert len(accuracies) == 9
    assert min(accuracies) > 0.94
    assert "'label': 'a 0', 'score': 0.9" in said or "'label': 'a 0', 'score': 1.0" in said


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS[1:], ids=lambda path: path.stem)
def test_cells_print_what_the_notebook_shows(notebook: Path, tmp_path: Path) -> None:
    """But for fractions, which another machine rounds otherwise; what they must be the cells say by True and False."""
    said, shown = (re.sub(r"\d+\.\d+", "#", text) for text in printed(notebook, tmp_path))
    assert said.splitlines() == shown.splitlines()
    assert len(said.splitlines()) > 4
    assert "False" not in said.replace("bias=False", "")


@EACH
def test_links_lead_somewhere(notebook: Path) -> None:
    text = "".join("".join(cell["source"]) for cell in cells_of(notebook, "markdown"))
    links = re.findall(r"\]\(([^)#]+)", text)
    assert len(links) >= 3
    assert [link for link in links if not (notebook.parent / link).exists()] == []


@EACH
def test_nothing_of_a_machine_is_kept(notebook: Path) -> None:
    code = cells_of(notebook, "code")
    assert all(cell.get("metadata") == {} for cell in code)
    assert not re.search(r"/home/|/tmp/|/usr/|warning", json.dumps(code), re.IGNORECASE)
    assert len(code) >= 5
    silent = [cell for cell in code if not cell["outputs"]]
    assert len(silent) <= 1
