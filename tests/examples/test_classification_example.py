# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from example_runs import ONE_EPOCH, TINY, assert_refused, make_rows, write
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from complex_transformers.recipes.datasets.text_files import split_by_label

CLASSIFICATION = "text-classification/run_classification.py"


@pytest.mark.parametrize("ending", ["tsv.gz", pytest.param("json", marks=pytest.mark.full)])
def test_classification_reads_a_table(run: Callable[..., Any], tmp_path: Path, ending: str) -> None:
    rows = make_rows(60, seed=1)
    train = write(tmp_path / f"train.{ending}", rows)
    test = write(tmp_path / f"test.{ending}", make_rows(20, seed=2))
    bf16 = ["--bf16"] if ending == "json" else []  # alone, also where there is no GPU
    results = run(CLASSIFICATION, "--train_file", train, "--test_file", test, *bf16, *TINY, *ONE_EPOCH)
    assert results["rows"] == {"train": 54, "validation": 6, "test": 20}
    classify = pipeline("text-classification", model=str(tmp_path / "out"))
    texts, labels = zip(*make_rows(20, seed=2), strict=True)
    answers = [answer["label"] for answer in classify(list(texts))]
    right = sum(answer == label for answer, label in zip(answers, labels, strict=True))
    assert results["test_accuracy"]["mean"] == pytest.approx(right / 20)
    sixths = 6 * results["validation_accuracy"]["mean"]
    assert sixths == pytest.approx(round(sixths))
    saved = json.loads((tmp_path / "out" / "results.json").read_text())
    assert saved["config"]["id2label"] == {"0": "bad", "1": "good"}
    assert saved["command"].startswith("python examples/text-classification")
    assert (tmp_path / "out" / "README.md").is_file()


def test_classification_learns_and_stops_early(run: Callable[..., Any], tmp_path: Path) -> None:
    train = write(tmp_path / "train.tsv", make_rows(200, seed=1))
    validation = write(tmp_path / "validation.tsv", make_rows(50, seed=2))
    results = run(
        *(CLASSIFICATION, "--train_file", train, "--validation_file", validation, *TINY),
        *("--num_train_epochs", "30", "--learning_rate", "0.005", "--early_stopping_patience", "3"),
        *("--output_json", tmp_path / "json" / "figures.json"),
    )
    assert results["validation_accuracy"]["mean"] >= 0.95
    assert results["runs"][0]["epochs"] < 30
    assert "test_accuracy" not in results
    assert json.loads((tmp_path / "json" / "figures.json").read_text())["runs"] == results["runs"]


@pytest.mark.full
def test_every_seed_goes_on_from_its_own_checkpoint(run: Callable[..., Any], tmp_path: Path) -> None:
    arguments = [CLASSIFICATION, "--train_file", write(tmp_path / "train.csv", make_rows(40, seed=1)), *TINY]
    arguments += ["--seeds", "0", "1"]
    first = run(*arguments, *ONE_EPOCH, "--resume_from_checkpoint", "last")
    second = run(*arguments, "--num_train_epochs", "2", "--resume_from_checkpoint", "last")
    assert [each["epochs"] for each in first["runs"]] == [1, 1]
    assert [each["epochs"] for each in second["runs"]] == [2, 2]
    assert [each["seed"] for each in second["runs"]] == [0, 1]
    resume = [*arguments, "--resume_from_checkpoint"]
    assert_refused(
        run,
        (
            [*resume, tmp_path / "out" / "seed-0" / "checkpoint-2"],
            "--seeds must be one seed to resume from a checkpoint, got",
        ),
        ([*resume, "last", "--phase", "learned"], r"seed-0/checkpoint-.* with other configuration. Choose another"),
    )


# Fields of the networks; one that a network does not have is an error.
SMALL: dict[str, dict[str, Any]] = {
    "complex_order": {"embedding_type": "sinusoidal_position", "num_attention_heads": 2, "intermediate_size": 32},
    "complex_fasttext": {"intermediate_size": 16},
    "complex_text_cnn": {"kernel_sizes": [2, 3], "num_filters": 8, "intermediate_size": 16},
    "complex_text_rnn": {"rnn_type": "gru", "recurrent_size": 16, "bidirectional": True},
    "complex_text_gcn": {"intermediate_size": 16, "window_size": 1},
    "complex_quantum": {"num_measurements": 8, "pooling": "max", "window_sizes": [1, 2]},
}
UNSAVED = ["--save_strategy", "no", "--load_best_model_at_end", "false"]


def network(model_type: str) -> list[str]:
    """A network as a command line says it."""
    fields = {name: value if isinstance(value, list) else [value] for name, value in SMALL[model_type].items()}
    return ["--model_type", model_type, *(part for name in fields for part in (f"--{name}", *map(str, fields[name])))]


# Each in one field: the tests of the models have both.
@pytest.mark.parametrize(("model_type", "field"), list(zip(SMALL, ["real", "complex"] * 3, strict=False)))
def test_classification_runs_every_network(
    run: Callable[..., Any], tmp_path: Path, model_type: str, field: str
) -> None:
    train = write(tmp_path / "train.csv", make_rows(20, seed=1), columns=("sentence", "class"))
    results = run(
        *(CLASSIFICATION, "--train_file", train, "--text_column", "sentence", "--label_column", "class"),
        *(*network(model_type), "--number_field", field, "--hidden_size", "16", *ONE_EPOCH, *UNSAVED),
        *("--tokenizer", "character", "--max_length", "5"),
    )
    assert results["config"]["model_type"] == model_type
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out")
    assert (model.config.model_type, model.config.number_field) == (model_type, field)
    assert {name: getattr(model.config, name) for name in SMALL[model_type]} == SMALL[model_type]
    assert model.num_parameters() == results["parameters"]
    assert "vector_coverage" not in results
    assert AutoTokenizer.from_pretrained(tmp_path / "out").model_max_length == 5


def test_a_saved_tokenizer_cuts_to_the_learned_positions(run: Callable[..., Any], tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", make_rows(20, seed=1))
    arguments = [CLASSIFICATION, "--train_file", train, *TINY, *ONE_EPOCH, *UNSAVED, "--max_length"]
    assert_refused(lambda *given: run(*arguments, *given), (["0"], "--max_length must be 1 or more, got 0"))
    run(*arguments, "7", "--embedding_type", "learned_position", "--max_position_embeddings", "7")
    classify = pipeline("text-classification", model=str(tmp_path / "out"))
    long = "a fine film , " * 9
    assert classify(long, truncation=True) == classify("a fine film , a fine film")
    with pytest.raises(ValueError, match="Truncate to max_position_embeddings=7 tokens"):
        classify(long)


@pytest.mark.parametrize("model_type", ["complex_fasttext", "complex_text_cnn"])
def test_classification_starts_from_word_vectors(run: Callable[..., Any], tmp_path: Path, model_type: str) -> None:
    train = write(tmp_path / "train.csv", make_rows(20, seed=1))
    vectors = tmp_path / "glove.8d.txt"
    known = {"film": 0.25, "fine": -3.0, "poor": 3.0, "elsewhere": 9.0}
    vectors.write_text("".join(f"{word} {' '.join([str(value)] * 8)}\n" for word, value in known.items()))
    arguments = [CLASSIFICATION, "--train_file", train, *network(model_type), *UNSAVED]
    arguments += ["--vectors", vectors, *ONE_EPOCH]
    # No learning: the model that is saved still has the vectors of the file.
    results = run(*arguments, "--hidden_size", "16", "--learning_rate", "0")
    vocabulary = AutoTokenizer.from_pretrained(tmp_path / "out").get_vocab()
    assert "elsewhere" not in vocabulary
    assert results["vector_coverage"] == pytest.approx(3 / len(vocabulary))
    saved = json.loads((tmp_path / "out" / "results.json").read_text())
    assert saved["vector_coverage"] == results["vector_coverage"]
    table = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").get_input_embeddings().weight
    for word in ("film", "fine", "poor"):
        assert table[vocabulary[word]].tolist() == [known[word]] * 8
    with pytest.raises(ValueError, match=r"vectors must have 10 dimensions, got 8. Use .*hidden_size"):
        run(*arguments, "--hidden_size", "20")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--model_type", "complex_text_rnn", "--kernel_sizes", "3"],
            "--kernel_sizes must be left out with --model_type",
        ),
        (["--model_type", "complex_fasttext", "--attention_score", "real"], "--attention_score .* complex_fasttext"),
        (["--window_size", "2"], "--window_size must be left out with --model_type complex_order, got 2"),
        (
            ["--model_type", "complex_text_lstm"],
            r"one of \['complex_fasttext', 'complex_order', 'complex_quantum', 'complex_text_cnn', "
            r"'complex_text_gcn', 'complex_text_rnn'\], got 'complex_text_lstm'",
        ),
    ],
)
def test_options_that_a_network_lacks_are_named(
    run: Callable[..., Any], tmp_path: Path, arguments: list[str], message: str
) -> None:
    train = write(tmp_path / "train.csv", make_rows(10, seed=1))
    with pytest.raises(ValueError, match=message):
        run(CLASSIFICATION, "--train_file", train, *arguments)


def test_bad_classification_data_is_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    rows = make_rows(20, seed=1)
    train = write(tmp_path / "train.csv", rows)
    empty = write(tmp_path / "empty.csv", [*rows[:5], ("  ", "good")])
    other = write(tmp_path / "other.csv", [("a film", "dull")])
    assert_refused(
        lambda *arguments: run(CLASSIFICATION, *arguments),
        ([], "exactly one of dataset_name and train_file"),
        (["--train_file", empty], "text must be a string or number, got '  ' in row 5 of the train data"),
        (
            ["--train_file", train, "--validation_file", other],
            r"labels of the validation data must be .*, got \['dull'\]",
        ),
        (
            ["--train_file", train, "--validation_split", "0"],
            r"validation_split must leave rows in both splits, got 0\.0 of 20",
        ),
        (["--train_file", train, "--validation_split", "1.5"], "larger than population"),
    )
    with pytest.raises(ValueError, match=r"one column 'words', got \['text'"):
        run(CLASSIFICATION, "--train_file", train, "--text_column", "words")


def test_copies_of_a_text_stay_on_one_side_of_the_split() -> None:
    rows = make_rows(60, seed=1) * 3
    part = Dataset.from_dict({"text": [text for text, _ in rows], "label": [label for _, label in rows]})
    train, validation = split_by_label(part, 0.25, seed=0)
    assert not set(train["text"]) & set(validation["text"])
    assert len(train) + len(validation) == 180
    for label in ("good", "bad"):  # the same share of every label
        share = validation["label"].count(label) / part["label"].count(label)
        assert share == pytest.approx(0.25, abs=0.03)
    again = split_by_label(part, 0.25, seed=0)[1]
    assert again["text"] == validation["text"]
