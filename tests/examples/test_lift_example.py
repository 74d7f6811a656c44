# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import LlamaConfig, LlamaForCausalLM

from complex_transformers import build_tokenizer

SENTENCE = "the dog bit the man and the man bit the dog"


def test_a_folder_is_lifted_saved_and_evaluated(
    run: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tokenizer = build_tokenizer([SENTENCE])
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), eos_token_id=None, **sizes))
    model.save_pretrained(tmp_path / "real")
    tokenizer.save_pretrained(tmp_path / "real")
    (tmp_path / "text.txt").write_text(f"{SENTENCE} " * 9, encoding="utf-8")
    options = ["--eval_file", tmp_path / "text.txt", "--segment", "16", "--eval_tokens", "40", "--prompt", "the dog"]
    results = run("lift/run_lift.py", "--model", tmp_path / "real", *options)
    assert results["largest_difference"] < 1e-5
    assert results["perplexity"]["lifted"] == pytest.approx(results["perplexity"]["original"], rel=1e-5)
    assert results["same_text"]
    assert len(results["conjugate_share"]) == 7
    assert (tmp_path / "out" / "model" / "tokenizer.json").is_file()
    assert "same_text: True" in capfd.readouterr().out
