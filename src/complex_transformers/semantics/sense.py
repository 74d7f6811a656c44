# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a word means in a phrase: the phrase as a mixture of states, and its eigenvectors as senses (T 4.5.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray
from scipy import sparse

from .word_space import WordSpace, unit_rows

__all__ = ["PhraseSenses", "phrase_senses", "sense_probabilities"]


@dataclass(frozen=True, eq=False)
class PhraseSenses:
    """The spectral decomposition of a phrase's density matrix, rho = sum_k lambda_k |e_k><e_k| (T 4.66).

    Attributes:
        probabilities: lambda, falling, of sum 1: how much of the phrase each sense is.
        vectors: e_k as rows ``[senses, d]``.
        of_words: |<e_k|w_i>|^2, ``[senses, words]``: the probability of each sense in each word of the phrase; columns
            have the sum 1.
        entropy: -sum lambda ln lambda, in nats (T 4.64): 0 where all words are one state, ln of their number where
            they have nothing in common.
    """

    probabilities: NDArray[numpy.float64]
    vectors: sparse.csr_matrix
    of_words: NDArray[numpy.float64]
    entropy: float


def phrase_senses(phrase: sparse.csr_matrix) -> PhraseSenses:
    """The senses of a phrase, from the matrix of inner products of its words; ``[d, d]`` numbers are never made.

    Args:
        phrase: ``WordSpace.compose(words, "mixture")``.

    Raises:
        ValueError: rows that are no mixture: their squares must have the sum 1.
    """
    rows = sparse.csr_matrix(phrase)
    _check_mixture(rows)
    gram = (rows.conj() @ rows.T).toarray()
    values, turned = numpy.linalg.eigh(gram)
    values, turned = values[::-1], turned[:, ::-1]
    kept = values > 1e-12
    values, turned = values[kept], turned[:, kept]
    vectors = sparse.csr_matrix(turned.T / numpy.sqrt(values)[:, None]) @ rows
    of_words = abs((vectors.conj() @ unit_rows(rows).T).toarray()) ** 2
    entropy = max(0.0, float(-(values * numpy.log(values)).sum()))
    return PhraseSenses(values, sparse.csr_matrix(vectors), of_words, entropy)


def _check_mixture(rows: sparse.csr_matrix) -> None:
    trace = float(abs(rows).power(2).sum())
    if abs(trace - 1.0) > 1e-8:
        raise ValueError(
            f"a phrase must be a mixture of trace 1, got {trace:.6g}: make it with compose(words, 'mixture')"
        )


def sense_probabilities(
    space: WordSpace, senses: Sequence[str | sparse.csr_matrix], phrase: Sequence[str] | sparse.csr_matrix
) -> NDArray[numpy.float64]:
    """How probable each of some senses is in a phrase, <s|rho|s> over the sum of all (T 4.46, 4.5.7).

    The senses of a word are words or vectors that stand for them, as "river" and "money" do for "bank"; the word alone
    is a phrase of one word, and what it says is their probability without a context.

    Args:
        space: of words.
        senses: two or more, words or rows of a composition.
        phrase: its words, equally probable, or the rows of a composition: a mixture, or one vector.

    Raises:
        ValueError: fewer than two senses, a word without a vector, senses that have nothing in common with the phrase.
    """
    if len(senses) < 2:
        raise ValueError(f"senses must be two or more, got {len(senses)}")
    rows = phrase if isinstance(phrase, sparse.csr_matrix) else space.compose(phrase, "mixture")
    states = unit_rows(sparse.vstack([space.vector(s) if isinstance(s, str) else s for s in senses], format="csr"))
    overlaps = (abs((states.conj() @ rows.T).toarray()) ** 2).sum(axis=1)
    if not overlaps.sum() > 0:
        raise ValueError(f"none of the {len(senses)} senses has anything in common with the phrase: give other senses")
    return overlaps / overlaps.sum()
