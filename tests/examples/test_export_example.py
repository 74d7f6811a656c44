# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math
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
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqForConditionalGeneration,
    build_tokenizer,
)
from refusals import refused

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = [
    pytest.mark.skipif(not hasattr(torch.compiler, "is_exporting"), reason="this torch does not say that it exports"),
    pytest.mark.filterwarnings("ignore"),  # of the exporter
]
TEXTS = ["the dog bit the man", "the man bit the dog", "the dog", "a man and a dog and the man"]


@pytest.mark.full
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


@pytest.mark.slow
def test_what_differs_is_refused_and_folded_matrices_are_timed(run: Callable[..., Any], tmp_path: Path) -> None:
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = ComplexLlamaConfig(vocab_size=20, linear_type="widely_linear", **sizes)
    ComplexLlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    options = ["--model", tmp_path / "model", "--batch_size", "2", "--length", "6", "--rounds", "1"]
    results = run("export/export_onnx.py", *options)
    assert set(results["milliseconds"]) == {"pytorch", "pytorch_folded", "onnx"}
    with pytest.raises(ValueError, match=r"graph and model must agree within --tolerance 0.0e\+00, got"):
        run("export/export_onnx.py", *options, "--tolerance", "0")


@pytest.mark.slow
def test_graphs_with_a_cache_generate_the_same_tokens(run: Callable[..., Any], tmp_path: Path) -> None:
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    ComplexLlamaForCausalLM(ComplexLlamaConfig(vocab_size=20, **sizes)).save_pretrained(tmp_path / "model")
    options = ["--batch_size", "2", "--length", "6", "--rounds", "0", "--generation"]
    assert run("export/export_onnx.py", "--model", tmp_path / "model", *options)["same_tokens"] == 1.0
    assert (tmp_path / "out" / "generation" / "decode.onnx").is_file()


def test_medians_of_rounds() -> None:
    calls: list[str] = []
    steps = {name: lambda name=name: calls.append(name) for name in "ab"}
    assert set(load_example("export/export_onnx.py").median_times(steps, 3)) == {"a", "b"}
    assert "".join(calls) == "ab" * 4


@pytest.mark.full
def test_a_file_of_one_text_is_enough(run: Callable[..., Any], tmp_path: Path) -> None:
    from complex_transformers.conversion.onnx_graph import example_inputs, open_graph, outputs_of, run_graph

    tokenizer = build_tokenizer(TEXTS)
    config = ComplexFastTextConfig(vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_labels=3)
    model = ComplexFastTextForSequenceClassification(config).eval()
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "texts.txt").write_text(TEXTS[0], encoding="utf-8")
    options = ["--text_file", tmp_path / "texts.txt", "--rounds", "0"]
    assert run("export/export_onnx.py", "--model", tmp_path / "model", *options)["onnx"]["largest_difference"] < 1e-5
    given = example_inputs(model, 3, 5)
    found = run_graph(open_graph(tmp_path / "out" / "model.onnx"), given)["logits"]
    torch.testing.assert_close(found, outputs_of(model, given)["logits"])


def test_files_that_say_too_little(tmp_path: Path) -> None:
    script = load_example("export/export_onnx.py")
    file = tmp_path / "texts.txt"
    args = script.Arguments(model=str(tmp_path), text_file=str(file))
    fasttext = ComplexFastTextForSequenceClassification(
        ComplexFastTextConfig(vocab_size=9, hidden_size=8, intermediate_size=8)
    )
    file.write_text("\n  \n", encoding="utf-8")
    refused(rf"--text_file must contain one text per line, got the empty file {file}", script.batches, args, fasttext)
    file.write_text("the dog\n", encoding="utf-8")
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2}
    layers = {"encoder_layers": 1, "decoder_layers": 1, "decoder_start_token_id": 1}
    writer = ComplexSeq2SeqForConditionalGeneration(ComplexSeq2SeqConfig(vocab_size=9, **sizes, **layers))
    words = "--text_file must be left out for a model that also reads .*decoder_input_ids"
    refused(words, script.batches, args, writer)


def test_a_nan_is_not_within_the_tolerance() -> None:
    outputs = [{"logits": torch.zeros(2)}, {"logits": torch.tensor([0.0, torch.nan])}]
    difference = load_example("export/export_onnx.py").difference(outputs, [{"logits": torch.zeros(2)}] * 2)
    assert math.isnan(difference)
