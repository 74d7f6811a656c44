# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ListOps: values from a stack machine, the limits of the trees, both forms of the data."""

import statistics

from complex_transformers.recipes import LISTOPS_TOKENS, listops_data, listops_dataset, listops_expressions


def evaluate(tokens: list[str]) -> tuple[int, int, int]:
    """Return value, depth and most arguments, by reduction of a stack at each closing bracket."""
    rules = {
        "[MIN": min,
        "[MAX": max,
        "[MED": lambda values: int(statistics.median(values)),
        "[SM": lambda values: sum(values) % 10,
    }
    stack: list[str | int] = []
    depth = deepest = most = 0
    for token in tokens:
        if token != "]":
            stack.append(token if token in rules else int(token))
            depth += token in rules
            deepest = max(deepest, depth)
            continue
        values = []
        while isinstance(stack[-1], int):
            values.append(stack.pop())
        most = max(most, len(values))
        assert len(values) >= 2
        stack[-1] = rules[stack[-1]](values)
        depth -= 1
    (value,) = stack
    return value, deepest + 1, most


def test_values_and_limits():
    found = listops_expressions(300, 10, 60, max_depth=4, max_args=5, seed=1)
    deepest, most = 0, 0
    for tokens, value in found:
        expected, depth, count = evaluate(tokens)
        assert value == expected
        assert 10 <= len(tokens) <= 60
        deepest, most = max(deepest, depth), max(most, count)
    assert (deepest, most) == (4, 5)
    assert len({value for _, value in found}) == 10
    assert found == listops_expressions(300, 10, 60, max_depth=4, max_args=5, seed=1)
    assert not {*found} & {*listops_expressions(300, 10, 60, max_depth=4, max_args=5, seed=2)}


def test_lengths_of_the_long_range_arena():
    for tokens, value in listops_expressions(3):
        assert 500 <= len(tokens) <= 2000
        expected, depth, count = evaluate(tokens)
        assert (value, count) == (expected, 10)
        assert 3 < depth <= 10


def test_both_forms_have_the_same_expressions():
    found = listops_dataset(20, 6, 22, seed=5)
    sequences = listops_data(20, 24, seed=5, min_length=8)
    assert sequences.vocab_size == len(LISTOPS_TOKENS) == 17
    assert found.features["label"].num_classes == 10
    for example, ids, labels in zip(found, *(part.tolist() for part in sequences[:2]), strict=True):
        tokens = [LISTOPS_TOKENS[id_] for id_ in ids]
        end = tokens.index("=")
        assert tokens[:end] == example["text"].split()
        assert tokens[end + 1] == str(example["label"]) == str(evaluate(tokens[:end])[0])
        assert labels == [-100] * (end + 1) + [ids[end + 1]] + [-100] * (22 - end)
        assert set(tokens[end + 2 :]) <= {"<pad>"}
