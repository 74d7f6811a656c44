# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ListOps (Nangia & Bowman 2018) as generated for the Long Range Arena (Tay et al. 2021).

Expressions are nested lists such as ``[MAX 4 [MED 1 5 8 ] 0 ]``. The operators are the minimum, the maximum, the
median (rounded down) and the sum modulo 10; the value is a digit. The published data have trees of depth 10, operators
with up to 10 arguments, and 500 to 2,000 tokens.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import torch

from ...data.extras import require_datasets
from .token_sequences import UNLABELLED, TokenSequences

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["LISTOPS_TOKENS", "ListOpsExpression", "listops_data", "listops_dataset", "listops_expressions"]

OPERATOR_SHARE = 0.25  # of the arguments, until the largest depth
PADDING, EQUALS = 0, 1


def _median(values: Sequence[int]) -> int:
    ordered = sorted(values)
    return (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) // 2


OPERATORS: dict[str, Callable[[Sequence[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": _median,
    "[SM": lambda values: sum(values) % 10,
}
# The token of each id.
LISTOPS_TOKENS = ("<pad>", "=", *map(str, range(10)), *OPERATORS, "]")


class ListOpsExpression(NamedTuple):
    """The tokens of an expression, and its value from 0 to 9."""

    tokens: tuple[str, ...]
    value: int


class _TooLong(Exception):
    """Raised by a tree that exceeds the largest length."""


@dataclass
class _Tree:
    """A random expression: ``tokens`` grow, from left to right, while its value is computed."""

    generator: random.Random
    max_length: int
    max_depth: int
    max_args: int
    tokens: list[str] = field(default_factory=list)

    def grow(self, depth: int = 1) -> int:
        """Add an operator, its arguments and the closing bracket, and return the value."""
        name = self.generator.choice(list(OPERATORS))
        self.add(name)
        count = self.generator.randint(2, self.max_args)
        value = OPERATORS[name]([self.argument(depth + 1) for _ in range(count)])
        self.add("]")
        return value

    def argument(self, depth: int) -> int:
        """Add a digit, or an operator above the largest depth."""
        if depth < self.max_depth and self.generator.random() < OPERATOR_SHARE:
            return self.grow(depth)
        digit = self.generator.randrange(10)
        self.add(str(digit))
        return digit

    def add(self, token: str) -> None:
        if len(self.tokens) == self.max_length:
            raise _TooLong
        self.tokens.append(token)


def listops_expressions(
    num_samples: int,
    min_length: int = 500,
    max_length: int = 2000,
    max_depth: int = 10,
    max_args: int = 10,
    seed: int = 0,
) -> list[ListOpsExpression]:
    """Sample expressions with ``min_length`` to ``max_length`` tokens by rejection.

    As in the published generator, an argument is an operator with probability 1/4 and a digit otherwise, an operator
    has 2 to ``max_args`` arguments, and only digits are at ``max_depth``. The root is always an operator, since a
    digit alone is shorter than any ``min_length``. Expressions longer than ``max_length`` are abandoned early.

    Args:
        num_samples: number of expressions.
        min_length: fewest tokens, brackets included.
        max_length: most tokens.
        max_depth: depth of the deepest digits; the root has depth 1.
        max_args: most arguments of an operator.
        seed: seed of the expressions.
    """
    generator = random.Random(seed)
    expressions: list[ListOpsExpression] = []
    while len(expressions) < num_samples:
        tree = _Tree(generator, max_length, max_depth, max_args)
        try:
            value = tree.grow()
        except _TooLong:
            continue
        if len(tree.tokens) >= min_length:
            expressions.append(ListOpsExpression(tuple(tree.tokens), value))
    return expressions


def listops_dataset(
    num_samples: int,
    min_length: int = 500,
    max_length: int = 2000,
    max_depth: int = 10,
    max_args: int = 10,
    seed: int = 0,
) -> Dataset:
    """Return expressions for sequence classification: columns ``text``, tokens separated by spaces, and ``label``.

    Args:
        num_samples, min_length, max_length, max_depth, max_args, seed: as for ``listops_expressions``.
    """
    found = listops_expressions(num_samples, min_length, max_length, max_depth, max_args, seed)
    columns = {"text": [" ".join(each.tokens) for each in found], "label": [each.value for each in found]}
    datasets = require_datasets()
    features = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=list(map(str, range(10))))}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features))


def listops_data(
    num_samples: int,
    length: int,
    seed: int = 0,
    min_length: int | None = None,
    max_depth: int = 10,
    max_args: int = 10,
) -> TokenSequences:
    """Return expressions for a causal language model: the tokens, ``=``, the value, then padding.

    The value is labelled. Token i of ``LISTOPS_TOKENS`` has id i; the padding has id 0.

    Args:
        num_samples: number of sequences.
        length: tokens of the longest expression, plus 2.
        seed: seed of the expressions.
        min_length: tokens of the shortest expression, plus 2; default half of ``length``.
        max_depth, max_args: as for ``listops_expressions``.
    """
    shortest = length // 2 if min_length is None else min_length
    ids = {token: index for index, token in enumerate(LISTOPS_TOKENS)}
    input_ids = torch.full((num_samples, length), PADDING)
    labels = torch.full((num_samples, length), UNLABELLED)
    found = listops_expressions(num_samples, shortest - 2, length - 2, max_depth, max_args, seed)
    for row, (tokens, value) in enumerate(found):
        answered = [*(ids[token] for token in tokens), EQUALS, ids[str(value)]]
        input_ids[row, : len(answered)] = torch.tensor(answered)
        labels[row, len(answered) - 1] = answered[-1]
    return TokenSequences(input_ids, labels, len(LISTOPS_TOKENS))
