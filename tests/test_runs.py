# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a run writes: nothing of the machine it ran on, every figure of its evaluations."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from complex_transformers import ComplexFastTextConfig, ComplexFastTextForSequenceClassification
from complex_transformers.training.run import command_line, portable, rounded, run_record, save_model, write_results


def test_no_path_of_this_machine_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = tmp_path / "elsewhere" / "data"
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("COMPLEX_TRANSFORMERS_DATA", str(data))
    assert portable(str(work / "a" / "b.txt")) == str(Path("a/b.txt"))
    assert portable(data / "train.gz") == "$COMPLEX_TRANSFORMERS_DATA/train.gz"
    assert portable("/home/someone/corpus.txt") == "corpus.txt"
    assert portable(f"--train_file={data}/x") == "--train_file=$COMPLEX_TRANSFORMERS_DATA/x"
    given = {"files": [str(data / "x"), "relative/y"], "rate": 0.1, "none": None, "word": "en"}
    assert portable(given) == {
        "files": ["$COMPLEX_TRANSFORMERS_DATA/x", "relative/y"],
        "rate": 0.1,
        "none": None,
        "word": "en",
    }
    monkeypatch.setattr("sys.argv", ["examples/run.py", "--prompt", "two words", str(work / "out")])
    assert command_line() == "python examples/run.py --prompt 'two words' out"
    monkeypatch.delenv("COMPLEX_TRANSFORMERS_DATA")
    assert portable(str(data / "x")) == "x"


def test_a_record_has_every_evaluation_and_the_best() -> None:
    model = ComplexFastTextForSequenceClassification(ComplexFastTextConfig(vocab_size=10, hidden_size=4))
    logs = [
        {"loss": 3.0, "epoch": 1.0, "step": 5},
        {"eval_loss": 2.123456, "eval_runtime": 9.0, "epoch": 1.0, "step": 5},
        {"eval_loss": 1.5, "eval_bleu": 7.0, "eval_samples_per_second": 1.0, "epoch": 2.0, "step": 10},
    ]
    trainer = SimpleNamespace(
        model=model,
        args=SimpleNamespace(seed=3, device="cpu"),
        state=SimpleNamespace(log_history=logs, best_global_step=10, global_step=12),
    )
    record = run_record(trainer, 1.26, True)  # type: ignore[arg-type]
    assert record["evaluations"] == [
        {"loss": 2.1235, "epoch": 1.0, "step": 5},
        {"loss": 1.5, "bleu": 7.0, "epoch": 2.0, "step": 10},
    ]
    assert (record["best_epoch"], record["steps"], record["seed"], record["seconds"]) == (2.0, 12, 3, 1.3)
    assert record["resumed"] is True
    assert record["train_loss"] == 3.0
    assert record["parameters"] == model.num_parameters()
    assert record["config"]["model_type"] == "complex_fasttext"
    assert rounded({"a": 1 / 3, "b": "x", "c": 2}, 2) == {"a": 0.33, "b": "x", "c": 2}
    json.dumps(record)


def test_model_card_and_results_are_saved(tmp_path: Path) -> None:
    model = ComplexFastTextForSequenceClassification(ComplexFastTextConfig(vocab_size=10, hidden_size=4))
    saved: list[Path] = []
    processing = SimpleNamespace(save_pretrained=saved.append)
    save_model(tmp_path / "m", model, processing, training_data="`x`", metrics={"accuracy": 0.5})
    assert saved == [tmp_path / "m"]
    assert "| accuracy | 0.5000 |" in (tmp_path / "m" / "README.md").read_text()
    assert "use_cache" not in json.loads((tmp_path / "m" / "config.json").read_text())
    write_results(tmp_path / "new" / "r.json", {"a": 1})
    assert json.loads((tmp_path / "new" / "r.json").read_text()) == {"a": 1}
