# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from example_runs import load_example

from complex_transformers import (
    ComplexFastTextConfig,
    ComplexFastTextForSequenceClassification,
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    build_tokenizer,
)

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = [
    pytest.mark.skipif(not hasattr(torch.compiler, "is_exporting"), reason="this torch does not say that it exports"),
    pytest.mark.filterwarnings("ignore"),  # of the exporter
]
TEXTS = ["the dog bit the man", "the man bit the dog", "the dog", "a man and a dog and the man"]


def test_a_folder_is_exported_rounded_checked_and_timed(
    run: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tokenizer = build_tokenizer(TEXTS)
    config = ComplexFastTextConfig(vocab_size=len(tokenizer), hidden_size=64, intermediate_size=64, num_labels=3)
    torch.manual_seed(0)
    ComplexFastTextForSequenceClassification(config).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    options = ["--text_file", tmp_path / "texts.txt", "--batch_size", "3", "--int8", "--rounds", "2"]
    results = run("export/export_onnx.py", "--model", tmp_path / "model", *options)
    assert results["onnx"]["largest_difference"] < 1e-5
    assert results["onnx"]["same_answers"] == 1.0
    assert 1e-5 < results["onnx_int8"]["largest_difference"] < 0.1
    assert set(results["milliseconds"]) == {"pytorch", "onnx", "onnx_int8"}
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == results
    assert (tmp_path / "out" / "model.int8.onnx").stat().st_size == results["onnx_int8"]["bytes"]
    assert "largest_difference" in capfd.readouterr().out


@pytest.mark.full
def test_what_differs_is_refused_and_folded_matrices_are_timed(run: Callable[..., Any], tmp_path: Path) -> None:
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = ComplexLlamaConfig(vocab_size=20, linear_type="widely_linear", **sizes)
    ComplexLlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    options = ["--model", tmp_path / "model", "--batch_size", "2", "--length", "6", "--rounds", "1"]
    results = run("export/export_onnx.py", *options)
    assert set(results["milliseconds"]) == {"pytorch", "pytorch_folded", "onnx"}
    with pytest.raises(ValueError, match=r"graph and model differ by .* more than --tolerance 0.0e\+00"):
        run("export/export_onnx.py", *options, "--tolerance", "0")


def test_medians_of_rounds() -> None:
    calls: list[str] = []
    steps = {name: lambda name=name: calls.append(name) for name in "ab"}
    assert set(load_example("export/export_onnx.py").median_times(steps, 3)) == {"a", "b"}
    assert "".join(calls) == "ab" * 4
