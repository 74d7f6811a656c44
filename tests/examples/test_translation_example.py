# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_runs import ONE_EPOCH, TINY, Rows, assert_refused, run_example
from transformers import AutoTokenizer, GenerationConfig

from complex_transformers import TranslationMetric, build_tokenizer

TRANSLATION = "translation/run_translation.py"
TINY_TRANSLATOR = [*TINY, "--encoder_layers", "1", "--decoder_layers", "1", "--hidden_dropout_prob", "0"]
TINY_TRANSLATOR += ["--attention_probs_dropout_prob", "0", "--vocab_size", "300"]
NUMBERS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}


def make_pairs(number: int, seed: int) -> Rows:
    """Distinct sentences of two to four numbers, and the same numbers in German."""
    generator = random.Random(seed)
    sources = {" ".join(generator.choices(list(NUMBERS), k=generator.randint(2, 4))) for _ in range(number)}
    return [(source, " ".join(NUMBERS[word] for word in source.split())) for source in sorted(sources)]


def aligned_files(folder: Path, part: str, pairs: Rows) -> list[Path]:
    """Two text files whose lines translate each other."""
    paths = [folder / f"{part}.en", folder / f"{part}.de"]
    for side, path in enumerate(paths):
        path.write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    return paths


def parallel_files(folder: Path) -> list[str | Path]:
    """Options that name the files of all parts."""
    everything = make_pairs(500, seed=1)
    random.Random(0).shuffle(everything)
    parts = {"test": everything[:10], "validation": everything[10:22], "train": everything[22:]}
    files = [[f"--{name}_file", *aligned_files(folder, name, pairs)] for name, pairs in parts.items()]
    return [word for option in files for word in option]


def translate(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, *arguments: str | Path) -> None:
    """Run translate.py with ``text`` as its standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
    run_example("translation/translate.py", "--model", folder, *arguments)


@pytest.mark.full
def test_translation_learns_and_translates(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = run(
        *(TRANSLATION, *parallel_files(tmp_path), *TINY_TRANSLATOR, "--num_train_epochs", "12", "--seed", "0"),
        *("--learning_rate", "0.01", "--warmup_steps", "40", "--per_device_train_batch_size", "16"),
        *("--hidden_size", "64", "--label_smoothing", "0.1", "--test_num_beams", "2"),
        *("--length_penalty", "0.0", "1.0", "3.0"),
    )
    assert results["rows"] == {"train": 288, "validation": 12, "test": 10}
    assert results["config"]["label_smoothing"] == 0.1
    assert max(epoch["bleu"] for epoch in results["evaluations"]) == results["validation"]["bleu"] > 40.0
    best = [epoch["epoch"] for epoch in results["evaluations"] if epoch["bleu"] == results["validation"]["bleu"]]
    assert results["best_epoch"] == best[0]
    assert list(results["length_penalties"]) == ["0.0", "1.0", "3.0"]
    chosen = max(results["length_penalties"], key=results["length_penalties"].__getitem__)  # on validation
    assert results["length_penalty"] == float(chosen)
    assert str(tmp_path) not in json.dumps(results)
    out = tmp_path / "out"
    assert GenerationConfig.from_pretrained(out).length_penalty == float(chosen)
    assert json.loads((out / "results.json").read_text()) == results
    assert (out / "README.md").is_file()

    # The translations lie in the order of the test file, whatever the order they were made in.
    predictions = (out / "predictions.txt").read_text(encoding="utf-8")
    references = (tmp_path / "test.de").read_text(encoding="utf-8").splitlines()
    scores = TranslationMetric().compute(predictions=predictions.splitlines(), references=references)
    assert scores["bleu"] == pytest.approx(results["test"]["bleu"], abs=1e-4)
    assert scores["bleu_signature"] == results["signatures"]["bleu"]
    assert results["test"]["bleu"] > 10.0

    capsys.readouterr()
    sources = (tmp_path / "test.en").read_text(encoding="utf-8")
    translate(monkeypatch, out, sources, "--batch_size", "3")
    assert capsys.readouterr().out == predictions  # other batches, the same search as saved with the model
    translate(monkeypatch, out, "one two\n\nsix", "--scores", "true", "--empty", "keep", "--num_beams", "1")
    first, empty, last = capsys.readouterr().out.splitlines()
    assert empty == "0.0000\t"
    for line in (first, last):
        score, text = line.split("\t")
        assert float(score) < 0.0
        assert set(text.split()) <= set(NUMBERS.values())
    translate(monkeypatch, out, "", "--input_file", tmp_path / "test.en", "--output_file", tmp_path / "hypotheses")
    assert (tmp_path / "hypotheses").read_text(encoding="utf-8") == predictions
    translate(monkeypatch, out, "one two three", "--max_length", "2", "--dtype", "bfloat16")
    assert "1 translation(s) stop at the maximum length. Raise --max_length" in capsys.readouterr().err
    assert_refused(
        lambda text, *arguments: translate(monkeypatch, out, text, *arguments),
        (["one\n \n\n"], r"got 2 blank line\(s\), the first is line 2\. .*empty='keep'"),
        (["one", "--batch_size", "0"], "--batch_size must be at least 1, got 0"),
        (["one", "--dtype", "double"], r"--dtype must be one of \['auto', .*got 'double'"),
    )
    tokenizer = AutoTokenizer.from_pretrained(out)
    tokenizer.model_max_length = 4
    tokenizer.save_pretrained(out)
    with pytest.raises(ValueError, match=r"^line 3 must have at most 4 tokens \(tokenizer.model_max_length\)"):
        translate(monkeypatch, out, "one\n\none two three four five six", "--empty", "keep")


@pytest.mark.full
def test_translation_goes_on_and_is_fine_tuned(run: Callable[..., Any], tmp_path: Path) -> None:
    files = parallel_files(tmp_path)
    by_loss = ["--metric_for_best_model", "loss", "--early_stopping_patience", "9", "--max_train_samples", "64"]
    arguments = [TRANSLATION, *files, *TINY_TRANSLATOR, *by_loss, "--resume_from_checkpoint", "last"]
    first = run(*arguments, "--num_train_epochs", "1", "--embedding_type", "learned_position")
    second = run(*arguments, "--num_train_epochs", "2", "--embedding_type", "learned_position")
    assert (first["resumed"], second["resumed"], second["rows"]["train"]) == (False, True, 64)
    assert [epoch["epoch"] for epoch in second["evaluations"]] == [1.0, 2.0]
    assert "bleu" not in second["evaluations"][0]
    assert AutoTokenizer.from_pretrained(tmp_path / "out").model_max_length == 512  # positions that are learned
    assert second["validation"]["loss"] == pytest.approx(
        min(epoch["loss"] for epoch in second["evaluations"]), abs=1e-3
    )
    tuned = run(
        *(TRANSLATION, *files, "--model_name_or_path", tmp_path / "out", "--num_train_epochs", "1", *by_loss),
        *("--output_dir", tmp_path / "tuned", "--hidden_dropout_prob", "0.25", "--lr_scheduler_type", "linear"),
    )
    assert tuned["config"]["embedding_type"] == "learned_position"
    assert tuned["config"]["hidden_dropout_prob"] == 0.25
    assert tuned["parameters"] == second["parameters"]


def test_translation_with_a_network_of_transformers(run: Callable[..., Any], tmp_path: Path) -> None:
    sizes = [f"{side}_{name}" for side in ("encoder", "decoder") for name in ("layers=1", "attention_heads=2")]
    results = run(
        *(TRANSLATION, *parallel_files(tmp_path), "--model_type", "marian", "--max_train_samples", "64"),
        *("--config_overrides", "d_model=16", "activation_function=relu", *sizes, "--vocab_size", "300", *ONE_EPOCH),
        *("--lowercase", "true", "--generation_max_length", "9"),
    )
    assert results["config"]["activation_function"] == "relu"
    assert results["generation_max_length"] == 9
    assert "case:lc" in results["signatures"]["bleu"]


@pytest.mark.full
def test_bad_translation_options_are_named(run: Callable[..., Any], tmp_path: Path) -> None:
    files = parallel_files(tmp_path)
    assert_refused(
        lambda *arguments: run(TRANSLATION, *files, "--vocab_size", "300", *arguments),
        (
            ["--model_type", "marian", "--hidden_size", "8"],
            "--hidden_size must be left out with --model_type marian, got 8",
        ),
        (["--config_overrides", "depth=3"], "--depth must be left out with --model_type complex_seq2seq, got 3"),
        (["--config_overrides", "depth"], "--config_overrides must be NAME=VALUE, got 'depth'"),
        (["--max_target_length", "3"], r"exceed max_source_length=.* or max_target_length=3"),
    )


@pytest.mark.full
def test_learned_positions_bound_texts_and_translations(run: Callable[..., Any], tmp_path: Path) -> None:
    learned = ["--vocab_size", "300", "--embedding_type", "learned_position", "--max_position_embeddings"]
    files = parallel_files(tmp_path)
    assert_refused(
        lambda *arguments: run(TRANSLATION, *files, *learned, *arguments),
        (["4"], r"exceed max_source_length=4 or .*max_position_embeddings"),
        (["32", "--generation_max_length", "99"], "generation_max_length must be at most 32, got 99"),
    )


@pytest.mark.parametrize("example", ["translation/translate.py", "syntax-translation/translate.py"])
def test_an_earlier_translation_outlives_an_error(example: str, tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("one\n")
    (tmp_path / "out").write_text("eins\n")
    files = ["--input_file", tmp_path / "texts", "--output_file", tmp_path / "out"]
    with pytest.raises(OSError, match="no_such_model"):
        run_example(example, "--model", tmp_path / "no_such_model", *files)
    assert (tmp_path / "out").read_text() == "eins\n"


def test_translation_needs_a_tokenizer_that_ends_texts(run: Callable[..., Any], tmp_path: Path) -> None:
    build_tokenizer(["one two"]).save_pretrained(tmp_path / "tokenizer")
    with pytest.raises(ValueError, match="tokenizer must append an EOS token"):
        run(TRANSLATION, *parallel_files(tmp_path), "--tokenizer_name_or_path", tmp_path / "tokenizer")
