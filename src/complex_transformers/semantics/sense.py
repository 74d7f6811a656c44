# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Word senses: the eigenvectors of a phrase that is a mixture of word states (Thesis 4.5.7)."""

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
    """The spectral decomposition of a phrase's density matrix, rho = sum_k lambda_k |e_k><e_k| (Thesis 4.66).

    Attributes:
        probabilities: lambda_k, the probability of each sense, in falling order.
        vectors: e_k as rows ``[senses, d]``.
        of_words: |<e_k|w_i>|^2, ``[senses, words]``: probability of each sense in each word; columns sum to 1.
        entropy: -sum lambda ln lambda, in nats (Thesis 4.64): 0 if all words are one state, ln(number of words) if
            their states are orthogonal.
    """

    probabilities: NDArray[numpy.float64]
    vectors: sparse.csr_matrix
    of_words: NDArray[numpy.float64]
    entropy: float


def phrase_senses(phrase: sparse.csr_matrix) -> PhraseSenses:
    """Decompose a phrase into senses, from the inner products of its words, without the ``[d, d]`` density matrix.

    Args:
        phrase: ``WordSpace.compose(words, "mixture")``.

    Raises:
        ValueError: the rows are not a mixture: their squared norms must sum to 1.
    """
    rows = sparse.csr_matrix(phrase)
    _check_mixture(rows)
    gram = (rows.conj() @ rows.T).toarray()
    values, rotation = numpy.linalg.eigh(gram)
    values, rotation = values[::-1], rotation[:, ::-1]
    kept = values > 1e-12
    values, rotation = values[kept], rotation[:, kept]
    vectors = sparse.csr_matrix(rotation.T / numpy.sqrt(values)[:, None]) @ rows
    of_words = abs((vectors.conj() @ unit_rows(rows).T).toarray()) ** 2
    entropy = max(0.0, float(-(values * numpy.log(values)).sum()))
    return PhraseSenses(values, sparse.csr_matrix(vectors), of_words, entropy)


def _check_mixture(rows: sparse.csr_matrix) -> None:
    trace = float(abs(rows).power(2).sum())
    if abs(trace - 1.0) > 1e-8:
        raise ValueError(f"phrase must be a mixture of trace 1, got {trace:.6g}. Use compose(words, 'mixture').")


def sense_probabilities(
    space: WordSpace, senses: Sequence[str | sparse.csr_matrix], phrase: Sequence[str] | sparse.csr_matrix
) -> NDArray[numpy.float64]:
    """Compute the probability of each sense in a phrase, <s|rho|s> normalised over the senses (Thesis 4.46, 4.5.7).

    Senses are words or vectors that represent them, such as "river" and "money" for "bank". A phrase of one word gives
    their probabilities without context.

    Args:
        space: the word space.
        senses: words, or rows of a composition.
        phrase: words, equally probable, or the rows of a composition: a mixture, or one vector.

    Raises:
        ValueError: a word has no vector, or all senses are orthogonal to the phrase.
    """
    rows = phrase if isinstance(phrase, sparse.csr_matrix) else space.compose(phrase, "mixture")
    states = unit_rows(sparse.vstack([space.vector(s) if isinstance(s, str) else s for s in senses], format="csr"))
    overlaps = (abs((states.conj() @ rows.T).toarray()) ** 2).sum(axis=1)
    if not overlaps.sum() > 0:
        raise ValueError(f"senses must not all be orthogonal to the phrase, got {len(senses)} such. Add senses.")
    return overlaps / overlaps.sum()
