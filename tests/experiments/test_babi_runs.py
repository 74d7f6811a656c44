# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs on bAbI and their tables: learning, reproducibility, choice of the restart, McNemar's test."""

from __future__ import annotations

import pytest
import torch
from benchmarks.reporting import add_line
from experiments.grids.thesis_memory import WORD_TASKS
from experiments.tables import (
    babi as tables,
)
from experiments.tables.babi import mcnemar, plateau
from experiments.tables.runs import holm
from experiments.thesis import babi
from experiments.thesis.babi import BabiCell, Stories, hexadecimal, run

PARTS = {"train": 900, "validation": 50, "test": 60}
SIZES = {"vocab_size": 20, "num_labels": 3, "memory_size": 5}


def stories(number: int, seed: int) -> Stories:
    """Return stories of five sentences (person, place); the question is a person, the answer the place."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.stack([torch.randperm(5, generator=generator) for _ in range(number)])
    places = torch.randint(0, 3, (number, 5), generator=generator)
    asked = torch.randint(0, 5, (number,), generator=generator)
    rows = torch.arange(number)
    sentences = torch.stack([order + 1, places + 10], dim=-1)
    inputs = {
        "input_ids": sentences,
        "attention_mask": torch.ones_like(sentences),
        "question_ids": (order[rows, asked] + 1).unsqueeze(1),
        "question_mask": torch.ones(number, 1, dtype=torch.long),
    }
    supporting = tuple((int(place),) for place in asked)
    return Stories(inputs, places[rows, asked], supporting, torch.arange(number) % 2 == 0)


@pytest.fixture
def parts(monkeypatch):
    made = {name: stories(number, seed) for seed, (name, number) in enumerate(PARTS.items())}
    monkeypatch.setattr(babi, "load_stories", lambda *names: (made, SIZES))


@pytest.mark.full
@pytest.mark.parametrize("number_field", ["complex", "real"])
def test_a_run_finds_the_sentence(parts, number_field):
    found = run(BabiCell(1, number_field, 40, epochs=16, linear_epochs=4), 1)
    assert (found["test"], found["unseen"], found["wrong"]) == (1.0, 1.0, "0")
    assert found["hit_rates"][-1] > 0.9
    assert found["best_epoch"] > 4


def test_a_run_repeats(parts):
    cell = BabiCell(1, "complex", 8, epochs=2)
    first, second, other = (run(cell, seed) for seed in (1, 1, 2))
    assert {**first, "seconds": 0} == {**second, "seconds": 0}
    assert other["train_loss"] != first["train_loss"]


def test_wrong_questions_of_two_networks():
    first, second = (hexadecimal(torch.tensor(wrong)) for wrong in ([1, 1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 1, 0]))
    # Of five differing questions only one is wrong in the second: twice the probability of at most one head in five.
    assert mcnemar(first, second) == (4, 1, pytest.approx(2 * 6 / 32))
    assert mcnemar(first, first) == (0, 0, 1.0)


def test_the_restart_of_least_training_loss_counts(tmp_path):
    def write(row, seed, loss, test, wrong):
        figures = {"train_loss": loss, "test": test, "unseen": test, "wrong": wrong, "hit_rates": [0.5, 0.25, 0.125]}
        add_line(
            tmp_path / "thesis-babi.jsonl",
            {"row": row, "seed": seed, **figures, "parameters": 1000, "seconds": 2.0, "diverged": False},
        )

    write("en,1,real", 0, 0.5, 0.99, "1")
    write("en,1,real", 1, 0.1, 0.9, "7")
    write("en,1,complex", 0, 0.1, 1.0, "0")
    write("en,2,complex", 0, 0.1, 0.5, "0")
    write("en-10k,2,real", 0, 0.1, 0.0, "0")
    lines = tables.summary_table("en", tmp_path).splitlines()
    assert lines[2] == "| `real` | 1 | 2 | 10.0 | 10.0 | 0 | 0.50 |  | 1,000 | 2 s |"
    assert lines[3] == "| `complex` | 2 | 1 | 25.0 | 25.0 | 1 | 0.50 | 0.50 / 0.25 / 0.12 | 1,000 | 2 s |"
    (row,) = tables.task_table("en", tmp_path).splitlines()[2:]
    assert row == "| 1 | 10.0 | 0.0 | 5.5 ± 6.4 | 0.0 | 3 / 0 | 0.250 |"


def test_tests_that_remain_with_the_correction_of_holm():
    assert holm([0.2, 0.012, 0.03, 0.01]) == [False, True, False, True]  # levels 0.0125, 0.0167, 0.025, 0.05
    assert holm([0.02, 0.02]) == [True, True]
    assert holm([0.03, 0.03]) == [False, False]


def test_the_digits_of_the_thesis():
    # The lines of relu in Table 4.4: R16, R32, R64, C8, C16, C21, C24.
    lines = {
        1: (0.5290, 0.7650, 0.8910, 0.5360, 0.5350, 0.5380, 0.5360),
        4: (0.7830, 0.8010, 0.7980, 0.7870, 0.7990, 0.8090, 0.8040),
        6: (0.8470, 0.8530, 0.8510, 0.8490, 0.8540, 0.8500, 0.8530),
        9: (0.8850, 0.9000, 0.9430, 0.8050, 0.8410, 0.8960, 0.9150),
        11: (0.7310, 0.9390, 0.9610, 0.6960, 0.6970, 0.7090, 0.7070),
        15: (0.5930, 0.5940, 0.5980, 0.5960, 0.6080, 0.6060, 0.5970),
        17: (0.6360, 0.6360, 0.6340, 0.6350, 0.6530, 0.6560, 0.6530),
        19: (0.1210, 0.1180, 0.1830, 0.1360, 0.1300, 0.1380, 0.1310),
    }
    assert tuple(lines) == WORD_TASKS
    for row, column in (("R32", 1), ("C21", 5)):
        assert tables.PRINTED[row] == tuple(line[column] for line in lines.values())


def test_a_plateau_is_left():
    assert plateau([0.5] * 20 + [0.7] * 5) == 21
    assert plateau([0.5] * 20) is None
    assert plateau([0.5] * 20 + [0.5 + 0.03 * step for step in range(10)]) == 25  # gradually
    assert plateau([0.1, 0.9, 0.9, 0.9, 0.9, 0.9]) is None


def test_the_table_of_words_has_seeds_in_their_order(tmp_path):
    def result(row, seed, wrong, jump):
        curve = [0.5] * jump + [0.9] * 3
        return {"row": row, "seed": seed, "test": 1 - wrong / 10, "unseen": 0.5, "curve": curve, "train_loss": wrong}

    runs = [result("4,R32", 2, 1, 30), result("4,R32", 0, 3, 10), result("4,C21", 0, 2, 20)]
    wrong = ["1", "7", "6"]  # questions: the first; the first three; the second and the third
    for found, questions in zip(runs, wrong, strict=True):
        add_line(tmp_path / "thesis-babi-words.jsonl", found | {"wrong": questions})
    *_, real, other = tables.word_table(tmp_path).splitlines()
    assert real == "| 4 | R32 | 80.0 ± 14.1 | 50.0 ± 0.0 | 90.0 | 11 31 |  | 80.1 | 2 |"
    assert other == "| 4 | C21 | 80.0 | 50.0 | 80.0 | 21 | 1.000 | 80.9 | 1 |"
