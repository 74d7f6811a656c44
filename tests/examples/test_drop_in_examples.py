# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_runs import make_rows, write


@pytest.mark.full
def test_bert_with_complex_order(run: Callable[..., Any]) -> None:
    results = run(
        "drop-in/train_bert_with_complex_order.py",
        *("--hidden_size", "16", "--num_hidden_layers", "1", "--max_sentences", "100", "--num_train_epochs", "1"),
    )
    assert results["BertWithoutPositions"] == pytest.approx(0.5)  # both orders of a sentence get the same answer
    assert set(results) == {"BertWithoutPositions", "BertWithComplexOrder"}


@pytest.mark.full
def test_lora_is_saved_loaded_and_merged(run: Callable[..., Any]) -> None:
    pytest.importorskip("peft")
    results = run("drop-in/lora.py", "--max_steps", "4", "--max_sentences", "100")
    assert results["adapted - base"] > 1e-3
    assert results["loaded - adapted"] == 0.0
    assert results["merged - adapted"] < 1e-5


@pytest.mark.slow  # `make quickstart` runs it whole, and tests/test_runs.py trains by the same Trainer
def test_quickstart(run: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    texts = write(tmp_path / "train.csv", make_rows(60, seed=1))
    sizes = ["--hidden_size", "16", "--num_hidden_layers", "1", "--num_train_epochs", "1"]
    run("quickstart/quickstart.py", "--train_file", texts, *sizes, "--sentences", "a fine film")
    out, err = capfd.readouterr()
    assert "without positions" in out
    assert out.splitlines()[-1].endswith("a fine film")  # as another process says
    assert "it/s" not in out + err  # no bar, whoever draws it
    assert (tmp_path / "out" / "model" / "README.md").is_file()
    assert (tmp_path / "out" / "waves.png").is_file()
