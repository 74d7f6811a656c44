# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gzip
import json
import math
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_runs import ONE_EPOCH, TINY, assert_refused, load_example
from experiments.carried_states import (
    measure,
)
from transformers import AutoTokenizer, EvalPrediction, pipeline

from complex_transformers import build_tokenizer, encode_stream

MLM = "language-modeling/run_mlm.py"


def write_lines(path: Path, seed: int) -> Path:
    generator = random.Random(seed)
    words = ["the", "<unk>", "cat", "dog", "sat", "on", "a", "mat", "."]
    lines = [" ".join(generator.choices(words, k=9)) for _ in range(60)]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n\n".join(lines))
    return path


def test_masked_language_model(run: Callable[..., Any], tmp_path: Path) -> None:
    files = {part: write_lines(tmp_path / f"{part}.txt.gz", seed) for seed, part in enumerate(("train", "valid", "t"))}
    results = run(
        *(MLM, "--train_file", files["train"], "--validation_file", files["valid"], "--test_file", files["t"]),
        *("--block_size", "16", *TINY, *ONE_EPOCH, "--fill_mask", "the <mask> sat on the mat ."),
    )
    assert results["blocks"] == dict.fromkeys(("train", "validation", "test"), 34)  # 540 tokens, none is dropped
    assert 1.0 < results["test"]["perplexity"] < 50.0
    assert len(results["fill_mask"]["the <mask> sat on the mat ."]) == 3


@pytest.mark.full
def test_a_saved_tokenizer_knows_the_learned_positions(run: Callable[..., Any], tmp_path: Path) -> None:
    train, valid = write_lines(tmp_path / "train.txt.gz", 0), write_lines(tmp_path / "valid.txt.gz", 1)
    learned = ["--embedding_type", "learned_position", "--max_position_embeddings", "16", "--block_size", "16"]
    run(MLM, "--train_file", train, "--validation_file", valid, *learned, *TINY, *ONE_EPOCH)
    assert AutoTokenizer.from_pretrained(tmp_path / "out").model_max_length == 16


def test_a_hopeless_loss_has_an_infinite_perplexity() -> None:
    losses, hits = np.full((1, 2), 800.0), np.zeros((1, 2))
    scores = load_example(MLM).masked_metrics(EvalPrediction((losses, hits), np.ones((1, 2))))
    assert scores == {"masked_loss": 800.0, "perplexity": math.inf, "masked_accuracy": 0.0}


def test_sentences_without_a_mask_are_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    train, valid = write_lines(tmp_path / "train.txt.gz", 0), write_lines(tmp_path / "valid.txt.gz", 1)
    with pytest.raises(ValueError, match="--fill_mask must be sentences with <mask>"):
        run(MLM, "--train_file", train, "--validation_file", valid, "--fill_mask", "no gap")


def test_parts_in_which_nothing_is_masked_are_named(run: Callable[..., Any], tmp_path: Path) -> None:
    train, valid = write_lines(tmp_path / "train.txt.gz", 0), write_lines(tmp_path / "valid.txt.gz", 1)
    short, blank = tmp_path / "short.txt", tmp_path / "blank.txt"
    short.write_text("cat\n", encoding="utf-8")
    blank.write_text("\n  \n", encoding="utf-8")
    assert_refused(
        lambda *files: run(MLM, "--train_file", train, *files),
        (["--validation_file", short], "the validation data must have masked tokens, got none"),
        (["--validation_file", valid, "--test_file", blank], "the test data must have text"),
    )


CLM = "language-modeling/run_clm_xl.py"
TINY_XL = [*TINY, "--num_hidden_layers", "1", "--mem_len", "8", "--segment_length", "8"]
TINY_XL += ["--per_device_train_batch_size", "4", "--per_device_eval_batch_size", "2", "--warmup_steps", "5"]


def write_characters(path: Path, length: int, seed: int) -> Path:
    """A stream that is easy to predict: words follow each other in one of two orders."""
    generator = random.Random(seed)
    text = "".join(generator.choice(["the cat sat ", "a dog ran "]) for _ in range(length // 11))
    path.write_text(text, encoding="utf-8")
    return path


def character_files(folder: Path) -> list[str | Path]:
    files = []
    for seed, (part, length) in enumerate([("train", 3000), ("validation", 300), ("test", 300)]):
        files += [f"--{part}_file", write_characters(folder / f"{part}.txt", length, seed)]
    return files


@pytest.mark.full
def test_stream_of_characters_is_learnt_and_written_on(run: Callable[..., Any], tmp_path: Path) -> None:
    results = run(
        *(CLM, *character_files(tmp_path), *TINY_XL, "--num_train_epochs", "6", "--learning_rate", "0.02"),
        *("--hidden_size", "32", "--initializer_range", "0.5", "--hidden_dropout_prob", "0", "--eval_steps", "100"),
        *("--save_steps", "100", "--prompt", "the cat", "--max_new_tokens", "24", "--seed", "0"),
    )
    symbols = len(set("the cat sat a dog ran "))
    assert results["config"]["vocab_size"] == symbols + 1
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert results["config"]["eos_token_id"] == tokenizer.eos_token_id == symbols  # behind those of the text
    for part in ("validation", "test"):
        assert results[part]["bits_per_token"] < 0.4 * math.log2(symbols)
        assert results[part]["bits_per_token"] == pytest.approx(results[part]["loss"] / math.log(2), abs=1e-4)
        assert "bits_per_character" not in results[part]
    assert results["tokens"]["test"] == len((tmp_path / "test.txt").read_text(encoding="utf-8"))
    assert results["texts"]["the cat"].startswith("the cat")
    assert len(results["texts"]["the cat"]) == len("the cat") + 24
    assert [log["step"] for log in results["evaluations"]] == sorted(log["step"] for log in results["evaluations"])

    write = pipeline("text-generation", model=str(tmp_path / "out"))
    text = write("a dog", max_new_tokens=5, do_sample=False)[0]["generated_text"]
    assert text.startswith("a dog")
    assert len(text) == 10
    assert (tmp_path / "out" / "README.md").is_file()


@pytest.mark.full
def test_stream_of_words_with_the_adaptive_softmax(run: Callable[..., Any], tmp_path: Path) -> None:
    files = [write_lines(tmp_path / f"{part}.txt.gz", seed) for seed, part in enumerate(("train", "validation"))]
    arguments = ["--train_file", files[0], "--validation_file", files[1], "--tokenizer", "whitespace", *TINY_XL]
    arguments += ["--num_train_epochs", "2", "--eval_strategy", "epoch", "--save_strategy", "epoch"]
    results = run(CLM, *arguments, "--cutoffs", "6", "8", "--prompt", "the cat")
    assert results["config"]["vocab_size"] == 5 + 8  # the special tokens, of which <unk> is a word of the text
    lines = 2 * 60 - 1  # every second one is empty
    assert results["tokens"]["train"] == 60 * 9 + lines
    scores = results["validation"]
    with gzip.open(files[1], "rt", encoding="utf-8") as file:
        characters = len(file.read()) + 1  # the last line ends, too
    bits = scores["bits_per_token"] * (results["tokens"]["validation"] - 1)
    assert scores["bits_per_character"] == pytest.approx(bits / characters, rel=1e-3)
    assert results["texts"]["the cat"].startswith("the cat")


@pytest.mark.full
def test_stream_goes_on_where_it_stopped(run: Callable[..., Any], tmp_path: Path) -> None:
    steps = ["--save_steps", "40", "--eval_steps", "40", "--num_train_epochs", "2", "--seed", "3"]
    arguments = [CLM, *character_files(tmp_path), *TINY_XL, *steps, "--resume_from_checkpoint", "last"]
    whole = run(*arguments)
    (last,) = (tmp_path / "out").glob("checkpoint-*")
    assert not whole["resumed"]
    shutil.copytree(last, tmp_path / "again" / last.name)
    again = run(*arguments, "--output_dir", tmp_path / "again")
    assert again["resumed"]
    assert again["test"] == whole["test"]


def test_foreign_symbols_are_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    files = character_files(tmp_path)
    (tmp_path / "validation.txt").write_text("the caté sat 7", encoding="utf-8")
    with pytest.raises(
        ValueError,
        match=r"(?s)symbols of the vocabulary only, got 2 other\(s\): \['7', 'é'\].*the validation data",
    ):
        run(CLM, *files, *TINY_XL)


def test_prompts_that_cannot_be_read_are_found_before_training(run: Callable[..., Any], tmp_path: Path) -> None:
    files = character_files(tmp_path)
    assert_refused(
        lambda *arguments: run(CLM, *files, *TINY_XL, *arguments),
        (
            ["--prompt", "the cat", "Hello"],
            r"(?s)texts must have symbols of the vocabulary only, got 2 other\(s\): \['H', 'l'\].*--prompt",
        ),
        (["--prompt", ""], "(?s)at least one token, got none.*--prompt"),
    )
    assert not (tmp_path / "out").exists()


def test_prompts_of_what_reads_ahead_are_refused_before_training(run: Callable[..., Any], tmp_path: Path) -> None:
    ahead = ["--transform", "fourier", "--max_steps", "2"]
    with pytest.raises(ValueError, match="--prompt must be left out for a model that is not causal, got 'the cat'"):
        run(RNN, *character_files(tmp_path), *TINY_RNN, *ahead, "--prompt", "the cat")
    assert not (tmp_path / "out").exists()


def test_results_are_written_before_texts_are(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no text")

    monkeypatch.setattr("complex_transformers.ComplexTransfoXLForCausalLM.generate", fail)
    with pytest.raises(RuntimeError, match="no text"):
        run(CLM, *character_files(tmp_path), *TINY_XL, "--prompt", "the cat", "--max_steps", "2")
    assert "test" in json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))


RNN = "language-modeling/run_clm_rnn.py"
TINY_RNN = ["--hidden_size", "32", "--recurrent_size", "32", "--segment_length", "8", "--warmup_steps", "5"]
TINY_RNN += ["--per_device_train_batch_size", "4", "--per_device_eval_batch_size", "2", "--hidden_dropout_prob", "0"]


@pytest.mark.slow
@pytest.mark.parametrize("rnn_type", ["lru", "lstm"])
def test_recurrent_stream_is_learnt_and_written_on(run: Callable[..., Any], tmp_path: Path, rnn_type: str) -> None:
    results = run(
        *(RNN, *character_files(tmp_path), *TINY_RNN, "--rnn_type", rnn_type, "--num_train_epochs", "4"),
        *("--learning_rate", "0.02", "--eval_steps", "100", "--save_steps", "100"),
        *("--prompt", "the cat", "--max_new_tokens", "24", "--seed", "0"),
    )
    symbols = len(set("the cat sat a dog ran "))
    assert results["config"]["model_type"] == "complex_recurrent_lm"
    for part in ("validation", "test"):
        assert results[part]["bits_per_token"] < 0.2 * math.log2(symbols)
    assert len(results["texts"]["the cat"]) == len("the cat") + 24
    write = pipeline("text-generation", model=str(tmp_path / "out"))
    assert len(write("a dog", max_new_tokens=5, do_sample=False)[0]["generated_text"]) == 10


@pytest.mark.full
def test_a_state_space_model_learns_a_stream(run: Callable[..., Any], tmp_path: Path) -> None:
    sizes = ["--hidden_size", "32", "--state_size", "8", "--head_dim", "16", "--intermediate_size", "32"]
    stream = ["--segment_length", "8", "--per_device_train_batch_size", "4", "--per_device_eval_batch_size", "2"]
    results = run(
        *("language-modeling/run_clm_mamba.py", *character_files(tmp_path), *sizes, *stream, "--seed", "0"),
        *("--num_train_epochs", "4", "--learning_rate", "0.02", "--eval_steps", "100", "--save_steps", "100"),
        *("--prompt", "the cat", "--max_new_tokens", "24", "--warmup_steps", "5"),
    )
    assert results["config"]["model_type"] == "complex_mamba"
    for part in ("validation", "test"):
        assert results[part]["bits_per_token"] < 0.2 * math.log2(len(set("the cat sat a dog ran ")))
    assert len(results["texts"]["the cat"]) == len("the cat") + 24
    generate = pipeline("text-generation", model=str(tmp_path / "out"))
    assert len(generate(["a dog", "the"], max_new_tokens=5, do_sample=False)[0][0]["generated_text"]) == 10


def test_a_saved_tokenizer_says_whether_tokens_are_characters(run: Callable[..., Any], tmp_path: Path) -> None:
    tokenizer = build_tokenizer(["the cat sat"] * 9, "bpe", vocab_size=300, append_eos=True)
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    lines = ["the cat", "", "sat on a dog"] * 9
    for part in ("train", "validation"):
        (tmp_path / f"{part}.txt").write_text("\n".join(lines), encoding="utf-8")
    files = ["--train_file", tmp_path / "train.txt", "--validation_file", tmp_path / "validation.txt"]
    given = ["--tokenizer_name_or_path", tmp_path / "tokenizer", "--segment_length", "4", "--max_steps", "2"]
    results = run(RNN, *files, *TINY_RNN, *given)
    assert results["tokens"]["validation"] == len(encode_stream(lines, tokenizer))  # no line breaks beside </s>
    assert "bits_per_character" in results["validation"]


@pytest.mark.full
def test_states_of_training_go_on_where_it_ended(run: Callable[..., Any], tmp_path: Path) -> None:
    files = character_files(tmp_path)
    steps = [word for name in ("max_steps", "save_steps", "eval_steps") for word in (f"--{name}", "5")]
    results = run(RNN, *files, *TINY_RNN, "--per_device_eval_batch_size", "4", *steps, "--tokenizer", "whitespace")
    found = measure(tmp_path / "out", dict(zip(("train_file", "validation_file"), files[1:4:2], strict=True)), 8)
    assert found["loss_from_empty"] == pytest.approx(results["validation"]["loss"], abs=1e-5)
    assert found["loss_from_training"] != found["loss_from_empty"]
    assert min(found[f"largest_{states}"] for states in ("of_training", "from_empty", "from_training")) > 0
    with pytest.raises(FileNotFoundError, match="without checkpoint"):
        measure(tmp_path, {}, 8)


@pytest.mark.full
def test_what_reads_ahead_is_scored_and_does_not_write(run: Callable[..., Any], tmp_path: Path) -> None:
    arguments = [RNN, *character_files(tmp_path), *TINY_RNN, "--max_steps", "5", "--embedding_type", "slot_position"]
    results = run(*arguments, "--position_length", "sentence", "--position_segments", "2")
    assert results["config"]["position_length"] == "sentence"
    assert len(results["perplexity_by_position"]) == 8  # words of a segment
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "sees future tokens" in card
    scores = results["test"]
    assert f"| not_a_perplexity | {scores['not_a_perplexity']:.4f} |" in card
    assert "perplexity" not in scores
    with pytest.raises(ValueError, match="position_segments must be 0 or more, got -1"):
        run(*arguments, "--position_segments", "-1")
