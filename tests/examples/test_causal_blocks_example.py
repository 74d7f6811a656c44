# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The script of complex Llamas: from scratch, as a stream, further, resumed; what it refuses."""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_runs import TINY, assert_refused
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from complex_transformers import ComplexRecurrentLMConfig, ComplexRecurrentLMForCausalLM
from complex_transformers.recipes import BlockDataArguments, BlockRunArguments, train_blocks

CLM = "language-modeling/run_clm.py"
SMALL = [*TINY, "--num_hidden_layers", "1", "--block_size", "16", "--warmup_steps", "5", "--seed", "0"]
SMALL += ["--per_device_train_batch_size", "4", "--per_device_eval_batch_size", "4", "--tokenizer", "whitespace"]


def text_files(folder: Path) -> list[str | Path]:
    """Lines that are easy to predict."""
    files: list[str | Path] = []
    for seed, (part, lines) in enumerate([("train", 120), ("validation", 20), ("test", 20)]):
        generator = random.Random(seed)
        rows = [generator.choice(["the cat sat on the mat", "a dog ran to a tree"]) for _ in range(lines)]
        (folder / f"{part}.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
        files += [f"--{part}_file", folder / f"{part}.txt"]
    return files


def steps(number: int) -> list[str]:
    return ["--max_steps", str(number), "--save_steps", str(number), "--eval_steps", str(number)]


def test_blocks_are_learnt_streamed_and_written_on(run: Callable[..., Any], tmp_path: Path) -> None:
    files = text_files(tmp_path)
    results = run(CLM, *files, *SMALL, *steps(60), "--learning_rate", "0.02", "--prompt", "the cat")
    assert results["tokens"] == {"train": 120 * 7, "validation": 140, "test": 140}  # a line ends in </s>
    assert results["blocks"] == {"train": 53, "validation": 9, "test": 9}
    assert results["test"]["bits_per_token"] < 0.6  # one bit a line of seven tokens is all there is to know
    assert results["test"]["perplexity"] == pytest.approx(math.exp(results["test"]["loss"]), rel=1e-3)
    characters = len((tmp_path / "test.txt").read_text())
    bits = results["test"]["bits_per_token"] * 140 / characters
    assert results["test"]["bits_per_character"] == pytest.approx(bits, rel=1e-3)
    assert results["texts"]["the cat"].startswith("the cat ")
    shutil.move(tmp_path / "out", tmp_path / "first")
    write = pipeline("text-generation", model=str(tmp_path / "first"))
    assert write("the cat", do_sample=False)[0]["generated_text"] == "the cat sat on the mat"  # a prompt has no end

    further = ["--streaming", "--model_name_or_path", tmp_path / "first"]  # with the tokenizer of the model
    more = run(CLM, *files, *SMALL, *steps(2), *further)
    assert more["tokens"]["validation"] == 140
    assert set(more["blocks"]) == {"validation", "test"}  # nobody has counted those of a stream
    assert more["validation"]["bits_per_token"] < 0.6
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert model.config.model_type == "complex_llama"
    assert len(AutoTokenizer.from_pretrained(tmp_path / "out")) == model.config.vocab_size


@pytest.mark.full
def test_what_reads_ahead_has_no_perplexity(tmp_path: Path) -> None:
    texts = dict(zip(("train_file", "validation_file"), map(str, text_files(tmp_path)[1::2]), strict=False))
    data = BlockDataArguments(**texts, tokenizer="whitespace", block_size=16)
    args = BlockRunArguments(output_dir=str(tmp_path / "out"), max_steps=2, save_steps=2, eval_steps=2, use_cpu=True)
    sizes = {"hidden_size": 8, "recurrent_size": 8, "transform": "fourier"}
    results = train_blocks(
        lambda words: ComplexRecurrentLMForCausalLM(ComplexRecurrentLMConfig(vocab_size=len(words), **sizes)),
        data,
        args,
    )
    scores = results["validation"]
    assert "perplexity" not in scores
    assert scores["not_a_perplexity"] == pytest.approx(math.exp(scores["loss"]), rel=1e-3)


@pytest.mark.full
def test_a_stream_goes_on_where_it_stopped(run: Callable[..., Any], tmp_path: Path) -> None:
    files = text_files(tmp_path)
    run(CLM, *files, *SMALL, *steps(2), "--output_dir", tmp_path / "first")
    arguments = [CLM, *files, *SMALL, "--streaming", "--tokenizer_name_or_path", tmp_path / "first"]
    arguments += ["--max_steps", "8", "--save_steps", "4", "--eval_steps", "4", "--resume_from_checkpoint", "last"]
    arguments += ["--per_device_train_batch_size", "16"]  # a pass is three steps and a half: 4 steps are in the second
    arguments += ["--save_total_limit", "3"]
    whole = run(*arguments)
    shutil.copytree(tmp_path / "out" / "checkpoint-4", tmp_path / "again" / "checkpoint-4")
    again = run(*arguments, "--output_dir", tmp_path / "again")
    assert again["resumed"]
    assert again["test"] == whole["test"]
    with pytest.raises(ValueError, match=r"--tokenizer must be whitespace with .*first, got bpe"):
        run(*arguments, "--tokenizer", "bpe", "--output_dir", tmp_path / "again")


def test_what_is_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    files = text_files(tmp_path)
    assert_refused(
        lambda *arguments: run(CLM, *files, *SMALL, *arguments),
        (["--block_size", "1"], "block_size must have 2 tokens or more, got .* and 1"),
        (
            ["--streaming", "--max_steps", "5"],
            r"tokenizer and max_steps must be given with streaming, got None and 5",
        ),
        (["--streaming", "--tokenizer_name_or_path", "x"], r"must be given with streaming, got 'x' and -1"),
        (["--prompt", ""], "(?s)at least one token, got none.*--prompt"),
    )
    (tmp_path / "line.txt").write_text("\n", encoding="utf-8")
    short = [CLM, "--train_file", tmp_path / "train.txt", "--validation_file", tmp_path / "line.txt", *SMALL]
    assert_refused(lambda: run(*short), ([], "validation data and block_size must have 2 tokens or more, got 1"))
    assert not (tmp_path / "out").exists()


@pytest.mark.full
def test_options_of_a_node_of_gpus_train_the_same(run: Callable[..., Any], tmp_path: Path) -> None:
    """The options of the page about distributed training, on the CPU and without the code generation of a compiler."""
    files = text_files(tmp_path)
    expected = run(CLM, *files, *SMALL, *steps(4))
    shutil.rmtree(tmp_path / "out")
    options = ["--optim", "adamw_torch_fused", "--activation_checkpointing", "true"]
    found = run(
        CLM, *files, *SMALL, *steps(4), *options, "--torch_compile", "true", "--torch_compile_backend", "eager"
    )
    assert found["test"]["loss"] == pytest.approx(expected["test"]["loss"], rel=1e-4)
