# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The wheel, installed in an empty environment, has its data files and its console command, and trains a model."""

from __future__ import annotations

import csv
import json
import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/complex_transformers"
CARDS = sorted((PACKAGE / "models/base/model_cards").glob("*.md"))
KERNELS = sorted((PACKAGE / "kernels/native").glob("*.[ch]*"))


def call(folder: Path, *command: str | Path) -> str:
    """Return the output of a command that sees neither the clone nor the working folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, without network, from a copy, since a build leaves files beside the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "src", folder / "clone/src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, folder / "clone")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", folder)
    call(folder, sys.executable, "-m", "pip", "wheel", *options, folder / "clone")
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of a new environment with the wheel, which finds the dependencies where the tests do."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    bin_folder = folder / ("Scripts" if os.name == "nt" else "bin")
    options = ("--no-deps", "--no-index", "--no-compile", "--quiet")
    pip = (sys.executable, "-m", "pip", "--python", bin_folder / "python", "install")
    call(folder, *pip, *options, wheel)  # first, as pip would otherwise take the package of the tests for this one
    (packages,) = folder.rglob("site-packages")
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    return bin_folder


def test_data_files_are_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    typed = ("py.typed", "__init__.pyi", "recipes/__init__.pyi")
    for path in (*(PACKAGE / name for name in typed), *CARDS, *KERNELS):
        assert f"complex_transformers/{path.relative_to(PACKAGE)}" in names
    assert CARDS
    assert KERNELS
    assert {name.split("/")[0].split("-")[0] for name in names} == {"complex_transformers"}


def test_the_command_of_the_wheel(programs: Path, tmp_path: Path) -> None:
    code = "import complex_transformers as c; print(c.__file__); c.ComplexOrderModel"
    imported = Path(call(tmp_path, programs / "python", "-c", code).strip())
    assert imported.is_relative_to(programs.parent)
    command = programs / "complex-transformers"
    assert "quantize" in call(tmp_path, command, "--help")
    assert "--train_file" in call(tmp_path, command, "run", "classification", "--help")
    with (tmp_path / "train.csv").open("w", newline="") as file:
        rows = [(f"a {word} film {number}", word) for word in ("fine", "poor") for number in range(10)]
        csv.writer(file).writerows([("text", "label"), *rows])
    options = "--train_file train.csv --hidden_size 8 --num_attention_heads 1 --max_steps 1 --output_dir out"
    call(tmp_path, command, "run", "classification", *options.split())
    results = json.loads((tmp_path / "out/results.json").read_text())
    assert results["command"] == f"complex-transformers run classification {options}"
    assert "ComplexOrderForSequenceClassification" in (tmp_path / "out/README.md").read_text()
