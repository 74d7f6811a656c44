# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every converter of the package has a script of its name in ``conversion/``."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path

import complex_transformers

PACKAGE = Path(complex_transformers.__file__).parent / "conversion"
SCRIPTS = Path(__file__).parents[2] / "conversion"


def test_every_converter_has_its_script() -> None:
    names = {path.stem for path in PACKAGE.glob("convert_*.py")}
    assert names == {path.stem for path in SCRIPTS.glob("*.py")}
    assert names
    for name in names:
        module = importlib.import_module(f"complex_transformers.conversion.{name}")
        assert runpy.run_path(str(SCRIPTS / f"{name}.py"))["main"] is module.main
