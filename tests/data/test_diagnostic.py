# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Diagnostic tasks: answers of a solver that reads the sequence token by token, seeds, and the shapes in the docs."""

import pytest
import torch

from complex_transformers.recipes import (
    copy_data,
    indirect_indexing_data,
    needle_data,
    phase_memory_data,
    selective_copy_data,
)

BEGIN, ASK = 0, 1
NEEDLES = {"num_keys": 5, "num_values": 7, "num_noise": 3}
TASKS = {
    "copy": (copy_data, {}, 40),
    "selective copy": (selective_copy_data, {"num_symbols": 5, "num_copied": 6}, 40),
    "indirect indexing": (indirect_indexing_data, {"num_symbols": 40, "max_shift": 3, "num_questions": 2}, 40),
    "needle": (needle_data, {**NEEDLES, "num_needles": 4, "num_questions": 3}, 40),
    "phase memory": (phase_memory_data, {}, 47),
}


def solve_copy(row: list[int]) -> dict[int, int]:
    at = row.index(ASK)
    return {at + place: row[place] for place in range(1, at)}


def solve_selective_copy(row: list[int]) -> dict[int, int]:
    at = row.index(ASK)
    heard = [token for token in row[1:at] if token > 2]
    assert len(heard) == 6
    return {at + 1 + place: token for place, token in enumerate(heard)}


def solve_indirect_indexing(row: list[int]) -> dict[int, int]:
    string = row[1 : row.index(ASK)]
    assert len(set(string)) == len(string) == 40 - 1 - 8
    shifts = dict(zip(range(2, 8), (-3, -2, -1, 1, 2, 3), strict=True))
    asked = [place for place, token in enumerate(row) if token == ASK]
    places = [string.index(row[place + 2]) + shifts[row[place + 1]] for place in asked]
    assert min(places) >= 0
    return {at + 3: string[place] for at, place in zip(asked, places, strict=True)}


def solve_needle(row: list[int]) -> dict[int, int]:
    first = row.index(ASK)
    hidden = {row[place]: row[place + 1] for place in range(1, first) if 2 <= row[place] < 7}
    assert len(hidden) == 4
    assert all(7 <= value < 14 for value in hidden.values())
    asked = [place for place, token in enumerate(row) if token == ASK]
    assert len({row[place + 1] for place in asked}) == 3
    return {place + 2: hidden[row[place + 1]] for place in asked}


def solve_phase_memory(row: list[int]) -> dict[int, int]:
    markers = [place for place, token in enumerate(row) if token == ASK]
    assert row[8:38] == [BEGIN] * 30
    return {place + 1: row[number] for number, place in enumerate(markers)}


@pytest.mark.parametrize("name", TASKS)
def test_labels_are_the_answers(name):
    function, options, length = TASKS[name]
    found = function(50, length, seed=3, **options)
    assert found.input_ids.shape == found.labels.shape == (50, length)
    assert found.input_ids.max() == found.vocab_size - 1
    solve = globals()[f"solve_{name.replace(' ', '_')}"]
    for row, labels in zip(found.input_ids.tolist(), found.labels.tolist(), strict=True):
        assert {place: label for place, label in enumerate(labels) if label != -100} == solve(row)
        if name != "phase memory":  # its answers are not fed back
            assert all(label in (-100, token) for token, label in zip(row, labels, strict=True))


@pytest.mark.parametrize("name", TASKS)
def test_seeds_make_the_splits(name):
    function, options, length = TASKS[name]
    splits = [function(200, length, seed, **options) for seed in (0, 1, 2, 0)]
    assert torch.equal(splits[0].input_ids, splits[3].input_ids)
    assert torch.equal(splits[0].labels, splits[3].labels)
    rows = [tuple(row) for split in splits[:3] for row in split.input_ids.tolist()]
    assert len(set(rows)) == len(rows)


def test_places_and_shifts_are_uniform():
    found = needle_data(20_000, 12, num_needles=1).input_ids
    depths = (found[:, :-3] < 18).int()[:, 1:].argmax(dim=1)  # of the key
    assert torch.bincount(depths).div(20_000).sub(1 / 7).abs().max() < 0.01
    ids = indirect_indexing_data(20_000, 25, num_symbols=20, max_shift=2).input_ids
    inside = [row for row in ids.tolist() if row[-2] in row[3:19]]
    shares = torch.bincount(torch.tensor([row[-3] for row in inside]))[2:] / len(inside)
    assert shares.sub(1 / 4).abs().max() < 0.015


def test_short_sequences_are_rejected():
    with pytest.raises(RuntimeError, match="sample"):
        indirect_indexing_data(2, 200, num_symbols=64)
    with pytest.raises(RuntimeError, match="sample"):
        selective_copy_data(2, 20)


def test_a_trainer_reads_the_data_set():
    sequences = copy_data(3, 8)
    data = sequences.to_dataset()
    assert data.column_names == ["input_ids", "labels"]
    assert data["labels"] == sequences.labels.tolist()
