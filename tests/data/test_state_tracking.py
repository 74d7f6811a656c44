# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""State tracking: results recomputed by permutation matrices, complex phases and Python's own parser."""

import cmath
import itertools
import math

import numpy as np
import pytest
import torch

from complex_transformers.recipes import (
    modular_addition_data,
    modular_arithmetic_data,
    parity_data,
    permutation_data,
)

TASKS = {
    "parity": (parity_data, {}),
    "mod 60": (modular_addition_data, {"modulus": 60}),
    "A5": (permutation_data, {"group": "A5"}),
    "arithmetic": (modular_arithmetic_data, {}),
    "arithmetic with brackets": (modular_arithmetic_data, {"brackets": True}),
}


@pytest.mark.parametrize(("task", "modulus"), [(parity_data, 2), (modular_addition_data, 5)])
def test_sums_are_phases_of_products(task, modulus):
    data = task(30, 17, seed=2)
    assert data.vocab_size == modulus + 1
    for row, labels in zip(data.input_ids.tolist(), data.labels.tolist(), strict=True):
        assert (labels[0], row[-1]) == (-100, modulus)
        phase = 1.0
        for residue, label in zip(row[:-1], labels[1:], strict=True):
            phase *= cmath.rect(1, 2 * math.pi * residue / modulus)
            assert abs(phase - cmath.rect(1, 2 * math.pi * label / modulus)) < 1e-9


@pytest.mark.parametrize(("group", "order"), [("S3", 6), ("A5", 60)])
def test_products_are_those_of_matrices(group, order):
    size = int(group[1:])
    matrices = [np.eye(size, dtype=int)[list(each)] for each in itertools.permutations(range(size))]
    if group[0] == "A":
        matrices = [matrix for matrix in matrices if np.linalg.det(matrix) > 0]
    assert len(matrices) == order
    data = permutation_data(20, 12, seed=1, group=group)
    assert data.vocab_size == order + 1
    for row, labels in zip(data.input_ids.tolist(), data.labels.tolist(), strict=True):
        state = np.eye(size, dtype=int)
        for element, label in zip(row[:-1], labels[1:], strict=True):
            state = state @ matrices[element]  # row i of the product has its 1 in column b[a[i]]
            assert (state == matrices[label]).all()


@pytest.mark.parametrize(("brackets", "length"), [(False, 20), (True, 20), *((True, short) for short in range(1, 6))])
def test_values_are_those_of_python(brackets, length):
    data = modular_arithmetic_data(200, length, seed=4, brackets=brackets)
    expected_length = length if brackets else length - 1
    assert data.input_ids.shape == (200, expected_length + 2)
    seen = set()
    for row, labels in zip(data.input_ids.tolist(), data.labels.tolist(), strict=True):
        text = "".join("01234+-*()="[id_] for id_ in row[:-1])
        assert labels == [-100] * (len(row) - 1) + row[-1:]
        assert eval(text.removesuffix("=")) % 5 == row[-1]
        seen |= set(text)
    if length == 20:
        assert seen == set("01234+-*=" + "()" * brackets)


@pytest.mark.parametrize("name", TASKS)
def test_seeds_make_the_splits(name):
    task, options = TASKS[name]
    splits = [task(200, 40, seed, **options) for seed in (0, 1, 2, 0)]
    assert torch.equal(splits[0].input_ids, splits[3].input_ids)
    rows = [tuple(row) for split in splits[:3] for row in split.input_ids.tolist()]
    assert len(set(rows)) == len(rows)
