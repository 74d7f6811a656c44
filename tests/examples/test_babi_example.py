# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_runs import ONE_EPOCH, assert_refused, load_example
from transformers import pipeline

BABI = "question-answering/run_babi.py"
PEOPLE, PLACES = ("Mary", "John", "Ann"), ("garden", "kitchen", "hall")


def write_task(folder: Path, questions: int = 120) -> Path:
    """Two sentences, and a question about one of them."""
    generator = random.Random(0)
    for part, number in (("train", questions), ("test", 40)):
        lines = []
        for _ in range(number):
            people, places = generator.sample(PEOPLE, 2), generator.choices(PLACES, k=2)
            asked = generator.randrange(2)
            lines += [
                f"{i} {who} is in the {where}."
                for i, (who, where) in enumerate(zip(people, places, strict=False), start=1)
            ]
            lines.append(f"3 Where is {people[asked]}? \t{places[asked]}\t{asked + 1}")
        path = folder / "en" / f"qa1_one_{part}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def train(run: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    task = write_task(tmp_path / "tasks")
    return lambda *words: run(BABI, "--archive", task, "--folder", "en", *words)


@pytest.mark.full
def test_a_task_is_learned_and_asked(train: Callable[..., Any], tmp_path: Path) -> None:
    words = ["--num_train_epochs", "30", "--per_device_train_batch_size", "12", "--word_answers", "true"]
    results = train(*words, "--picture", "7")
    assert (tmp_path / "out" / "memories.png").stat().st_size > 1000
    assert results["rows"] == {"train": 108, "validation": 12, "test": 40}
    assert results["test"]["accuracy"] >= 0.9
    assert 0 < results["unseen"]["rows"] < 40  # there are few such stories
    saved = json.loads((tmp_path / "out" / "results.json").read_text())
    assert saved["config"]["attention_normalization"] == "softmax"  # the linear start is over
    assert saved["config"]["time_noise"] == 0.1
    assert len(saved["config"]["answer_token_ids"]) == len(PLACES)
    answer = pipeline("complex-question-answering", model=str(tmp_path / "out"))(
        story="John is in the hall. Mary is in the garden.", question="Where is Mary?"
    )
    assert answer["answer"] == "garden"
    assert answer["unknown_words"] == []


@pytest.mark.parametrize(
    ("options", "epochs"),
    [
        ({}, 8),
        ({"num_train_epochs": 100}, 20),
        ({"num_train_epochs": 2}, 1),
        ({"num_train_epochs": 1}, 0),
        ({"max_steps": 12}, 1),  # 4 steps an epoch
        ({"max_steps": 40}, 2),
        ({"max_steps": 7}, 0),
        ({"max_steps": 8, "gradient_accumulation_steps": 2}, 1),
        ({"max_steps": 12, "num_train_epochs": 100}, 1),
    ],
    ids=str,
)
def test_a_linear_start_lasts_a_fifth_of_the_epochs(tmp_path: Path, options: dict[str, Any], epochs: int) -> None:
    arguments = load_example(BABI).TrainingArguments(str(tmp_path), **options)
    assert arguments.linear_epochs(108) == epochs


@pytest.mark.full
def test_every_question_may_have_been_seen(train: Callable[..., Any], tmp_path: Path) -> None:
    stories = [f"1 {who} is in the hall.\n2 Where is {who}? \thall\t1\n" for who in PEOPLE]
    for part in ("train", "test"):
        (tmp_path / "tasks" / "en" / f"qa1_one_{part}.txt").write_text("".join(stories * 20))
    assert train(*ONE_EPOCH)["unseen"] == {"rows": 0}


def test_words_of_the_real_field_go_on(train: Callable[..., Any]) -> None:
    words = ["--variant", "word_memory", "--number_field", "real", "--hidden_size", "16", "--recurrent_size", "8"]
    first = train(*words, *ONE_EPOCH)
    assert (first["config"]["story_length"], first["config"]["question_length"]) == (
        15,
        5,
    )  # 12 and 4, a margin of 1/4
    second = train(*words, "--num_train_epochs", "2", "--resume_from_checkpoint", "last")
    assert second["resumed"]
    assert second["steps"] == 2 * first["steps"]


def test_refusals(train: Callable[..., Any], run: Callable[..., Any], tmp_path: Path) -> None:
    words = ["--variant", "word_memory"]
    assert_refused(
        train,
        (["--task", "2"], r"task must be one of \[1\], got 2"),
        (["--validation_split", "1"], r"validation_split must leave rows in both splits, got 1\.0 of 120"),
        (["--validation_split", "0.999"], "validation_split must leave rows in both splits, got 0.999 of 120"),
        (["--picture", "40"], "--picture must be a test question, 0 to 39, got 40"),
        (["--picture", "0", *words], r"--picture must be left out unless --variant sentence_memory, got 0"),
        (
            ["--linear_start", "true", *words],
            "--linear_start must be left out unless --variant sentence_memory, got True",
        ),
        (["--linear_start", "true", *ONE_EPOCH], "epochs must be at least 2 with --linear_start, got 1"),
        (["--length_margin", "0.5"], r"--length_margin must be left out unless --variant word_memory, got 0\.5"),
    )
    assert_refused(lambda *words: run(BABI, *words), ([], "Set --archive"))
