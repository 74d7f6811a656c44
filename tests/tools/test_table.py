# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/tools.md: a row for each package, with everything that was tried with it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.tool("pytest", "passes")
@pytest.mark.parametrize("value", [1, 2])
def test_passes(value): pass

@pytest.mark.tool("pytest", "fails once")
@pytest.mark.parametrize("value", [1, 2])
def test_fails(value): assert value == 1

@pytest.mark.tool("pytest", "known fault")
@pytest.mark.xfail(reason="not supported", strict=True)
def test_known(): assert False

@pytest.mark.tool("no-such-package serve", "missing")
def test_missing(): pytest.importorskip("no_such_package", reason="no wheel")

def test_unmarked(): pass
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_rows_are_the_outcomes(tmp_path, workers):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = tool: marker\n")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- tools:start -->\nold\n<!-- tools:end -->\nafter\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "--write-table", str(page), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert page.read_text().splitlines() == [
        "before",
        "<!-- tools:start -->",
        "| library | version | works | other results |",
        "|---|---|---|---|",
        "| no-such-package serve | not installed |  | missing: not tested: no wheel |",
        f"| pytest | {pytest.__version__} | passes | fails once: fails<br>known fault: does not work: not supported |",
        "<!-- tools:end -->",
        "after",
    ]
