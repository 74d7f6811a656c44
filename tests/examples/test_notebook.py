# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The tutorial notebook: its cells run in order, what it shows is what it does, its links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from example_runs import EXAMPLES

NOTEBOOK = EXAMPLES / "first-network" / "first_complex_network.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]
SCORES = re.compile(r"weights   test accuracy (.*)")


@pytest.mark.full
def test_cells_run_and_print_what_the_notebook_shows(tmp_path: Path) -> None:
    script = tmp_path / "cells.py"
    script.write_text("\n\n".join("".join(cell["source"]) for cell in CODE), encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = "".join("".join(output["text"]) for cell in CODE for output in cell["outputs"] if "text" in output)
    lines, expected = (
        [line for line in text.splitlines() if "[{" not in line and not SCORES.search(line)]
        for text in (done.stdout, shown)
    )
    assert lines == expected
    accuracies = [float(value) for found in SCORES.findall(done.stdout) for value in found.split(",")]
    assert len(accuracies) == 9
    assert min(accuracies) > 0.94
    assert "'label': 'a 0', 'score': 0.9" in done.stdout or "'label': 'a 0', 'score': 1.0" in done.stdout


def test_links_lead_somewhere() -> None:
    text = "".join("".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\(([^)#]+)", text)
    assert len(links) >= 5
    assert [link for link in links if not (NOTEBOOK.parent / link).exists()] == []


def test_nothing_of_a_machine_is_kept() -> None:
    assert all(cell.get("metadata") == {} for cell in CELLS)
    assert not re.search(r"/home/|/tmp/|/usr/|warning", json.dumps(CODE), re.IGNORECASE)
    assert [bool(cell["outputs"]) for cell in CODE] == [True, True, True, True, True, True, True]
