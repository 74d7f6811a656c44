# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of a GPU, at toy sizes on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.reporting import read_lines
from benchmarks.tables.cases import gpu_tables

from benchmarks import gpu


@pytest.mark.full
def test_a_tiny_run_becomes_a_table(tmp_path: Path) -> None:
    path = tmp_path / "bench-gpu.jsonl"
    gpu.main(["--tiny", "--case", "dense", "--results", str(path)])
    (line,) = read_lines(path)
    assert line["row"] == "gpu-dense"
    groups = {row["group"] for row in line["rows"]}
    assert groups == {"8 tokens, float32", "8 tokens, float32, compiled"}
    assert "8 tokens, float32: ComplexLinear / nn.Linear" in gpu_tables(tmp_path)
    assert gpu.SETTING.device == "cuda"  # as before


def test_without_results_the_page_says_so(tmp_path: Path) -> None:
    assert gpu_tables(tmp_path) == "No GPU has measured them yet."


@pytest.mark.parametrize("arguments", [["--tiny"], ["--rounds", "1"], ["--case", "sparse"]])
def test_refused_command_lines(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        gpu.main(arguments)
