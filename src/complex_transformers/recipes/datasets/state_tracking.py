# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""State tracking: sums, expressions and permutations whose result a model must carry along a sequence.

``length`` is the number of symbols. Sums and permutations have the result of each prefix as labels: the label at
position t + 1 is the result of the first t symbols, and one more token follows the last symbol, so that sequences have
``length + 1`` tokens. Expressions have one label, their value after ``=``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from itertools import combinations, permutations

import torch

from .token_sequences import TokenSequences, prefix_results, with_answers

__all__ = ["modular_addition_data", "modular_arithmetic_data", "parity_data", "permutation_data"]

SIGNS = "+-*()="
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def parity_data(num_samples: int, length: int, seed: int = 0) -> TokenSequences:
    """Sample bits, labelled with the parity of each prefix (Grazzi et al., arXiv 2411.12537).

    Ids are the bits 0 and 1, and 2 after the last bit.

    Args:
        num_samples: number of sequences.
        length: bits of a sequence.
        seed: seed of the sequences.
    """
    return modular_addition_data(num_samples, length, seed, modulus=2)


def modular_addition_data(num_samples: int, length: int, seed: int = 0, modulus: int = 5) -> TokenSequences:
    """Sample residues, labelled with the sum of each prefix modulo ``modulus``.

    With ``modulus=60`` this is the word problem of the cyclic group of 60 elements (Merrill et al., arXiv 2404.08819).

    Args:
        num_samples: number of sequences.
        length: residues of a sequence.
        seed: seed of the sequences.
        modulus: residues, ids 0 to ``modulus - 1``; id ``modulus`` follows the last one.
    """
    residues = torch.randint(modulus, (num_samples, length), generator=torch.Generator().manual_seed(seed))
    return prefix_results(residues, residues.cumsum(dim=1) % modulus, modulus)


def permutation_data(num_samples: int, length: int, seed: int = 0, group: str = "S3") -> TokenSequences:
    """Sample permutations, labelled with the product of each prefix (word problems of Merrill et al. 2024).

    The product of a and b applies a first: position i goes to b[a[i]].

    Args:
        num_samples: number of sequences.
        length: permutations of a sequence.
        seed: seed of the sequences.
        group: ``S3``, ``A5``, ...: all permutations, or the even ones, of so many elements, ids 0 to G - 1 in
            lexicographic order; id G follows the last one.

    Raises:
        KeyError: a group that starts with another letter.
    """
    table = torch.tensor(_products(group))
    factors = torch.randint(len(table), (num_samples, length), generator=torch.Generator().manual_seed(seed))
    results = factors.clone()
    for place in range(1, length):
        results[:, place] = table[results[:, place - 1], factors[:, place]]
    return prefix_results(factors, results, len(table))


@cache
def _products(group: str) -> list[list[int]]:
    """Return the multiplication table of a group of permutations."""
    kinds = {"S": (0, 1), "A": (0,)}[group[0]]
    elements = [each for each in permutations(range(int(group[1:]))) if _sign(each) in kinds]
    places = {element: place for place, element in enumerate(elements)}
    return [[places[tuple(b[i] for i in a)] for b in elements] for a in elements]


def _sign(permutation: tuple[int, ...]) -> int:
    """Return 0 for an even permutation, 1 for an odd one."""
    return sum(a > b for a, b in combinations(permutation, 2)) % 2


def modular_arithmetic_data(
    num_samples: int, length: int, seed: int = 0, modulus: int = 5, brackets: bool = False
) -> TokenSequences:
    """Sample expressions and label their value modulo ``modulus`` after ``=`` (Grazzi et al. 2024).

    A sequence is the symbols of the expression, ``=``, the value. The grammar is the one of Delétang et al. (2023), on
    which the paper builds, with addition, subtraction and multiplication. Without brackets residues and operators
    alternate, products come first, and an even ``length`` gives one symbol less. With brackets every operation has its
    own pair, and a residue may have a pair or a sign.

    Args:
        num_samples: number of sequences.
        length: symbols of an expression.
        seed: seed of the expressions.
        modulus: residues, ids 0 to ``modulus - 1``; the next ids are ``+ - * ( ) =``.
        brackets: expressions with brackets.
    """
    generator = random.Random(seed)
    sample = _bracketed if brackets else _plain
    ids = {**{str(residue): residue for residue in range(modulus)}, **{s: modulus + i for i, s in enumerate(SIGNS)}}
    samples = [sample(generator, length, modulus) for _ in range(num_samples)]
    tokens = torch.tensor([[ids[symbol] for symbol in symbols] for symbols, _ in samples])
    ends = torch.tensor([[[ids["="], value]] for _, value in samples])
    return with_answers(tokens, ends, 1, modulus + len(SIGNS))


Sample = tuple[list[str], int]


def _plain(generator: random.Random, length: int, modulus: int) -> Sample:
    """Sample an expression without brackets and its value: a sum of products."""
    term = generator.randrange(modulus)
    symbols, total = [str(term)], 0
    for _ in range((length - 1) // 2):
        operator, residue = generator.choice("+-*"), generator.randrange(modulus)
        symbols += [operator, str(residue)]
        if operator == "*":
            term = term * residue
        else:
            total, term = total + term, OPERATIONS[operator](0, residue)
    return symbols, (total + term) % modulus


def _bracketed(generator: random.Random, length: int, modulus: int) -> Sample:
    """Sample an expression with brackets and its value."""
    if length < 5:
        residue = generator.randrange(modulus)
        signed = ["-", str(residue)] if length in (2, 4) else [str(residue)]
        value = -residue % modulus if length in (2, 4) else residue
        return (["(", *signed, ")"] if length > 2 else signed), value
    left = generator.randrange(1, length - 3)
    first, a = _bracketed(generator, left, modulus)
    second, b = _bracketed(generator, length - 3 - left, modulus)
    operator = generator.choice("+-*")
    return ["(", *first, operator, *second, ")"], OPERATIONS[operator](a, b) % modulus
