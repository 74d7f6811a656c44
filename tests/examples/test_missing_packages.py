# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors about packages that are not installed name the commands that install them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from example_runs import load_example

from complex_transformers.conversion.onnx_graph import open_graph, quantize_graph
from complex_transformers.data.extras import names_extras

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({packages!r}))
from complex_transformers import *
"""


@pytest.mark.parametrize(
    ("script", "package", "message"),
    [
        ("drop-in/lora.py", "peft", 'LoRA needs PEFT. Install it: pip install "complex_transformers[train,peft]"'),
        ("syntax-translation/train_parser.py", "spacy", 'or pip install -e ".[train,syntax]" in a clone.'),
        (
            "phonetic-transcription/make_espeak_corpus.py",
            "soundfile",
            'soundfile. Install it: pip install "complex_transformers[synthesis]"',
        ),
    ],
)
def test_scripts(script: str, package: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for name in [name for name in sys.modules if name.startswith("complex_transformers.recipes.commands.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=re.escape(message)):
        load_example(script)


def test_graphs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("onnxruntime", "onnxruntime.quantization"):
        monkeypatch.setitem(sys.modules, package, None)
    for call in (lambda: open_graph("model.onnx"), lambda: quantize_graph("a.onnx", tmp_path / "b.onnx")):
        with pytest.raises(ImportError, match=r'need onnxruntime[\w.]*\. Install it: .*pip install -e "\.\[onnx\]"'):
            call()


def test_public_names() -> None:
    def missing(name: str) -> None:
        try:
            raise ModuleNotFoundError("No module named 'accelerate.utils'", name="accelerate.utils")
        except ModuleNotFoundError as error:  # as Transformers hides it
            raise ModuleNotFoundError("Could not import module 'Trainer'") from error

    def broken(name: str) -> None:
        raise ImportError("a circular import", name="complex_transformers.models")

    message = (
        'ComplexTrainer needs accelerate. Install it: pip install "complex_transformers[train]", or '
        'pip install -e ".[train]" in a clone.'
    )
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        names_extras(missing)("ComplexTrainer")
    with pytest.raises(ImportError, match=r"^a circular import$"):
        names_extras(broken)("ComplexTrainer")


@pytest.mark.parametrize(
    ("package", "message"),
    [
        pytest.param(
            "PIL",
            'ComplexImageProcessor needs PIL. Install it: pip install "complex_transformers[vision]"',
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "accelerate",
            'needs accelerate. Install it: pip install "complex_transformers[train]"',
            marks=pytest.mark.full,
        ),
        pytest.param(
            "scipy",
            'words as quantum states need scipy. Install it: pip install "complex_transformers[semantics]"',
            marks=pytest.mark.slow,
        ),
    ],
)
def test_everything_is_imported(package: str, message: str) -> None:
    command = [sys.executable, "-c", WITHOUT.format(packages=[package])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert message in done.stderr.splitlines()[-1]
