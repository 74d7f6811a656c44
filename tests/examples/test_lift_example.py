# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_runs import assert_refused
from transformers import BertConfig, BertForTokenClassification, BertModel, LlamaConfig, LlamaForCausalLM

from complex_transformers import build_tokenizer

SENTENCE = "the dog bit the man and the man bit the dog"
SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
EVALUATED = ["--segment", "16", "--eval_tokens", "40"]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Callable[..., Path]:
    """Saves a network with a tokenizer, beside a text of its words."""
    (tmp_path / "text.txt").write_text(f"{SENTENCE} " * 9, encoding="utf-8")

    def save(network: Any, config: Any, **options: Any) -> Path:
        tokenizer = build_tokenizer([SENTENCE])
        network(config(vocab_size=len(tokenizer), **SIZES, **options)).save_pretrained(tmp_path / "real")
        tokenizer.save_pretrained(tmp_path / "real")
        return tmp_path / "real"

    return save


def test_a_folder_is_lifted_rounded_saved_and_evaluated(
    run: Callable[..., Any], checkpoint: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = checkpoint(LlamaForCausalLM, LlamaConfig, eos_token_id=None, initializer_range=0.3)
    options = ["--eval_file", tmp_path / "text.txt", *EVALUATED, "--prompt", "the dog", "--new_tokens", "4"]
    options += ["--stages", "1", "3", "--license", "mit"]
    results = run("lift/run_lift.py", "--model", source, *options)
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == results
    networks = results["networks"]
    roundings = ["1-bits-nearest", "1-bits-calibrated", "3-bits-nearest", "3-bits-calibrated"]
    assert list(networks) == ["original", "lifted", *roundings]
    original, lifted = networks["original"], networks["lifted"]
    assert lifted["largest_difference"] < 1e-5
    assert original["largest_difference"] == 0.0
    assert lifted["perplexity"] == pytest.approx(original["perplexity"], rel=1e-5)
    assert results["same_text"]
    assert lifted["text"] == original["text"]
    for name in roundings:
        assert networks[name]["largest_difference"] > 1e-3
        assert networks[name]["perplexity"] != original["perplexity"]
        assert networks[name]["bytes"] == (tmp_path / "out" / name / "model.safetensors").stat().st_size
        assert (tmp_path / "out" / name / "tokenizer.json").is_file()
        assert "license: mit" in (tmp_path / "out" / name / "README.md").read_text()
    differences = [networks[name]["largest_difference"] for name in ("1-bits-nearest", "3-bits-nearest")]
    assert differences[0] > differences[1]
    assert networks["1-bits-nearest"]["perplexity"] != networks["1-bits-calibrated"]["perplexity"]
    assert len(results["conjugate_share"]) == 7
    assert (tmp_path / "out" / "model" / "tokenizer.json").is_file()
    printed = capfd.readouterr().out
    assert "same_text: True" in printed
    assert f"| 3-bits-nearest | {networks['3-bits-nearest']['perplexity']:,.2f} | " in printed


@pytest.mark.parametrize("network", [BertModel, BertForTokenClassification])
def test_an_encoder_is_compared_by_what_it_gives(
    run: Callable[..., Any], checkpoint: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], network: Any
) -> None:
    source = checkpoint(network, BertConfig, max_position_embeddings=12)
    options = ["--eval_file", tmp_path / "text.txt", *EVALUATED, "--stages", "2", "--granularity", "tensor"]
    options += ["--calibration_tokens", "0"]
    networks = run("lift/run_lift.py", "--model", source, *options)["networks"]
    assert list(networks) == ["original", "lifted", "2-bits-nearest"]
    assert networks["lifted"]["largest_difference"] < 1e-5 < networks["2-bits-nearest"]["largest_difference"]
    assert (
        json.loads((tmp_path / "out" / "2-bits-nearest" / "config.json").read_text())["quantization_config"][
            "granularity"
        ]
        == "tensor"
    )
    assert "| lifted | - | " in capfd.readouterr().out


def test_roundings_that_cannot_be(run: Callable[..., Any], checkpoint: Any, tmp_path: Path) -> None:
    source = checkpoint(LlamaForCausalLM, LlamaConfig)
    command = ["lift/run_lift.py", "--model", source, "--eval_file", tmp_path / "text.txt"]
    empty = tmp_path / "empty.txt"
    empty.write_text(" \n", encoding="utf-8")
    assert_refused(
        run,
        ([*command, "--stages", "4"], "stages must be 1, 2 or 3, got 4"),
        ([*command, "--stages", "1", "--granularity", "column"], "granularity must be one of"),
        ([*command, "--stages", "1", "--calibration_file", tmp_path / "none.txt"], "No such file.*none.txt"),
        (
            [*command, "--calibration_file", tmp_path / "text.txt"],
            "--calibration_file must be left out without --stages",
        ),
        ([*command, "--eval_tokens", "1"], "--eval_tokens must be at least 2, got 1"),
        ([*command, "--segment", "0"], "--segment must be at least 2, got 0"),
        ([*command, "--calibration_tokens", "-1"], "--calibration_tokens must be at least 0, got -1"),
        (["lift/run_lift.py", "--model", source, "--eval_file", empty], "--eval_file must contain text, .*empty.txt"),
        error=(ValueError, FileNotFoundError),
    )
    assert not (tmp_path / "out").exists()
    assert_refused(
        run, ([*command, "--stages", "1"], "--eval_tokens must leave some for calibration.* --calibration_file")
    )
