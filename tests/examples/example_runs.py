# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the examples share: small sizes, rows and files."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import datasets
import pytest
import transformers

EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = ["--hidden_size", "16", "--num_attention_heads", "2", "--intermediate_size", "32"]
ONE_EPOCH = ["--num_train_epochs", "1"]
# Learned filters of the bins, and the moduli of their outputs: what is left of the phase is that within a frame.
PHASE_WITHIN_FRAMES = ["--compression", "log", "--pooling", "average", "--bin_pool_size", "1"]
PHASE_WITHIN_FRAMES += ["--position_phase", "rotate"]
Rows = list[tuple[str, str]]


def load_example(path: str) -> ModuleType:
    """Return the module behind the script of an example; folders with a hyphen cannot be imported by name."""
    name = "example_" + Path(path).stem
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up here
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend((EXAMPLES / path).parent)  # as for a script
        spec.loader.exec_module(module)
    return sys.modules[module.main.__module__] if hasattr(module, "main") else module


def run_example(path: str, *arguments: Any) -> Any:
    """Call an example's ``main`` with a command line; it has turned off the bars that would fill a file."""
    datasets.enable_progress_bars()
    transformers.utils.logging.enable_progress_bar()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sys, "argv", [f"examples/{path}", *map(str, arguments)])
        result = load_example(path).main()
    own_bars_alone = path.endswith("train_parser.py")  # and those look for a terminal themselves
    assert own_bars_alone or datasets.are_progress_bars_disabled()
    assert own_bars_alone or not transformers.utils.logging.is_progress_bar_enabled()
    return result


def assert_refused(
    call: Callable[..., Any], *cases: tuple[Sequence[Any], str], error: type[Exception] = ValueError
) -> None:
    """Each command line is refused with its message."""
    for arguments, message in cases:
        with pytest.raises(error, match=message):  # noqa: PT012 - a loop has to say which case is not refused
            call(*arguments)
            pytest.fail(f"not refused: {message}")


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a csv file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def make_rows(number: int, seed: int) -> Rows:
    """Distinct texts with a label that their words give away; commas and a quote must survive the files."""
    generator = random.Random(seed)
    rows = []
    for index in range(number):
        label, word = generator.choice([("good", "fine"), ("bad", "poor")])
        rows.append((f'a {word} film, number {seed} {index} , "{generator.choice("abcdef")}', label))
    return rows


def write(path: Path, rows: Rows, columns: tuple[str, str] = ("text", "label")) -> Path:
    """Write rows in the format of the file's ending."""
    opener = gzip.open if path.suffix == ".gz" else open
    kind = path.name.removesuffix(".gz").rsplit(".", 1)[-1]
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if kind == "csv":
            csv.writer(file).writerows([columns, *rows])
        elif kind == "tsv":
            file.writelines("\t".join(row) + "\n" for row in [columns, *rows])
        else:
            file.writelines(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    return path
