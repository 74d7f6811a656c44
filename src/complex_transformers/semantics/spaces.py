# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Semantic spaces: weighted co-occurrence counts as vectors and as quantum states (Thesis 4.5.8)."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from ..data.extras import check_option
from .cooccurrence import Cooccurrences
from .word_space import WordSpace, unit_rows

__all__ = ["PHASES", "WEIGHTINGS", "SemanticSpace"]

WEIGHTINGS = (
    "raw",
    "probability",
    "pmi_a",
    "pmi_b",
    "pmi_c",
    "ppmi",
    "npmi_a",
    "npmi_b",
    "npmi_c",
    "probability_amplitude",
)
PHASES = ("none", "arccos")


class SemanticSpace(BaseEstimator, WordSpace):
    """Words as weighted counts of their contexts, with scikit-learn's ``fit`` and ``transform``.

    With counts f(w, v), their sums f(w) and f(v), N = sum f(w, v), text frequencies f' and M words in the text:

    | ``weighting`` | vector of w | Thesis |
    |---|---|---|
    | ``raw`` | f(w, v) | 4.71 |
    | ``probability`` | f(w, v) / f(w) | 4.72 |
    | ``pmi_a`` | ln(1 + f(w, v) N / (f(w) f(v))) | 4.68, 4.73 |
    | ``pmi_b`` | ln(f(w, v) N / (f(w) f(v))) | 4.69, 4.74 |
    | ``pmi_c`` | ln(f(w, v) M / (f'(w) f'(v))) | 4.70, 4.75 |
    | ``ppmi`` | ``pmi_b`` where that is positive, else 0 | |
    | ``npmi_x`` | ``pmi_x`` / -ln p, p = f(w, v) / N (f(w, v) / M for c) | 4.79 |
    | ``probability_amplitude`` | sqrt(f(w, v) / f(w)), of norm 1 | 4.78 |

    Elements are 0 where f(w, v) = 0. The quantum spaces of the thesis are ``npmi_x`` with ``normalize`` (4.80), and
    |npmi_x| exp(i arccos npmi_x) with ``phases="arccos"`` (4.81). Its classical spaces are raw, probability and pmi_x
    without ``normalize``; with it, their inner product is the cosine.

    Args:
        weighting: a name of the table.
        normalize: scale vectors to norm 1.
        phases: ``none``, or ``arccos`` (npmi weightings only).

    Attributes:
        words_, vectors_: words of the fitted counts, and their vectors.
        contexts_: words of the columns.
        context_sums_, context_frequencies_, total_, num_tokens_: f(v), f'(v), N and M.
        clipped_: number of npmi values outside [-1, 1], clipped for arccos. They occur with npmi_c: f(w, v) counts a
            word up to 2 ``window`` times.

    Raises:
        ValueError: ``fit`` raises if the weighting is unknown, if it is not npmi and has phases, or if a count is so
            large that -ln p <= 0.

    Example:
        >>> from complex_transformers.semantics import SemanticSpace, count_cooccurrences
        >>> lines = ["the cat sleeps", "the dog sleeps", "the cat eats", "the dog barks"]
        >>> counts = count_cooccurrences(lines, ["cat", "dog", "sleeps", "barks", "eats"])
        >>> space = SemanticSpace("probability_amplitude").fit(counts)
        >>> round(space.similarity("cat", "dog"), 3)
        0.5
    """

    _PARAMETERS = ("weighting", "normalize", "phases")
    _KEPT = ("contexts_", "context_sums_", "context_frequencies_", "total_", "num_tokens_", "clipped_")

    def __init__(self, weighting: str = "npmi_b", normalize: bool = True, phases: str = "none") -> None:
        self.weighting = weighting
        self.normalize = normalize
        self.phases = phases

    def fit(self, counts: Cooccurrences, y: Any = None) -> SemanticSpace:
        """Compute the context sums and the vectors of all words.

        Args:
            counts: from ``count_cooccurrences``.
            y: not used.
        """
        check_option("weighting", self.weighting, WEIGHTINGS)
        check_option("phases", self.phases, PHASES)
        if self.phases != "none" and not self.weighting.startswith("npmi"):
            raise ValueError(
                f"phases must be 'none' for weighting={self.weighting!r}, got {self.phases!r}. Or weight by npmi."
            )
        self.contexts_ = counts.contexts
        self.context_sums_ = counts.context_sums
        self.context_frequencies_ = counts.context_frequencies
        self.total_ = float(counts.context_sums.sum())
        self.num_tokens_ = counts.num_tokens
        vectors, self.clipped_ = self._vectors(counts)
        self._set(counts.words, vectors)
        return self

    def transform(self, counts: Cooccurrences) -> sparse.csr_matrix:
        """Compute vectors of words from their own counts and the fitted context sums.

        Args:
            counts: counts of any words, with the contexts of ``fit``.

        Raises:
            ValueError: the space is not fitted, or has other contexts.
        """
        self._fitted()
        if counts.contexts != self.contexts_:
            raise ValueError(
                f"counts must have the {len(self.contexts_)} contexts of fit, got {len(counts.contexts)} different "
                "ones. Pass contexts=space.contexts_ to count_cooccurrences."
            )
        return self._vectors(counts)[0]

    def fit_transform(self, counts: Cooccurrences, y: Any = None) -> sparse.csr_matrix:
        """Fit, and return the vectors of all words.

        Args:
            counts: from ``count_cooccurrences``.
            y: not used.
        """
        return self.fit(counts, y).vectors_

    def _vectors(self, counts: Cooccurrences) -> tuple[sparse.csr_matrix, int]:
        """Return the weighted counts and the number of clipped values."""
        # A copy: eliminate_zeros() must not change the counts of the caller.
        table = sparse.csr_matrix(counts.counts, dtype=numpy.float64, copy=True)
        table.eliminate_zeros()
        rows = numpy.repeat(numpy.arange(table.shape[0]), numpy.diff(table.indptr))
        values, clipped = self._weigh(table.data, rows, table.indices, counts)
        vectors = sparse.csr_matrix((values, table.indices, table.indptr), shape=table.shape)
        if self.weighting == "ppmi":
            vectors.eliminate_zeros()
        return (unit_rows(vectors) if self.normalize else vectors), clipped

    def _weigh(
        self, f: NDArray[numpy.float64], w: NDArray[Any], v: NDArray[Any], counts: Cooccurrences
    ) -> tuple[NDArray[Any], int]:
        """Return the weights of the nonzero counts ``f`` of words ``w`` and contexts ``v``, and the number clipped."""
        kind, _, variant = self.weighting.partition("_")
        if kind == "raw":
            return f, 0
        if kind == "probability":
            p = f / counts.word_sums[w]
            return (numpy.sqrt(p) if variant else p), 0
        if variant == "c":
            total = float(self.num_tokens_)
            ratio = f * total / (counts.word_frequencies[w] * self.context_frequencies_[v])
        else:
            total = self.total_
            ratio = f * total / (counts.word_sums[w] * self.context_sums_[v])
        pmi = numpy.log1p(ratio) if variant == "a" else numpy.log(ratio)
        if kind != "npmi":
            return (numpy.maximum(pmi, 0.0) if kind == "ppmi" else pmi), 0
        if (f >= total).any():
            place = int(numpy.argmax(f))
            raise ValueError(
                f"counts must be smaller than {total:.0f} for {self.weighting}, got {f[place]:.0f} of "
                f"{counts.words[w[place]]!r} with {self.contexts_[v[place]]!r}. Count more text."
            )
        npmi = pmi / -numpy.log(f / total)
        clipped = int((abs(npmi) > 1.0).sum())
        if self.phases == "arccos":
            return abs(npmi) * numpy.exp(1j * numpy.arccos(numpy.clip(npmi, -1.0, 1.0))), clipped
        return npmi, clipped
