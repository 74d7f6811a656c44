# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every example runs end to end on data written here, and says what is wrong with bad data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_runs import run_example


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Call an example's ``main`` with a command line, its caches and outputs below ``tmp_path``."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")

    return lambda path, *arguments: run_example(path, "--output_dir", tmp_path / "out", *arguments)
