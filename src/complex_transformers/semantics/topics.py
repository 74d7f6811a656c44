# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words as their topics, by latent Dirichlet allocation or non-negative factors (T 4.61, 4.82)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

from ..data.extras import check_option
from .cooccurrence import words_of
from .word_space import WordSpace, unit_rows

__all__ = ["TOPIC_METHODS", "TopicSpace", "Topics", "find_topics"]

TOPIC_METHODS = ("lda", "nmf")
_TOPIC_WEIGHTINGS = ("probability", "probability_amplitude")


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics of documents.

    Attributes:
        words: of the columns.
        word_probabilities: p(w | topic), ``[topics, words]``, rows of sum 1.
        topic_probabilities: p(topic), ``[topics]``, of sum 1.
    """

    words: tuple[str, ...]
    word_probabilities: NDArray[numpy.float64]
    topic_probabilities: NDArray[numpy.float64]

    def of_words(self) -> NDArray[numpy.float64]:
        """p(topic | w) = p(w | topic) p(topic) / p(w), ``[words, topics]``; zeros where p(w) = 0.

        T 4.61 and 4.82 take p(w | topic) in its place, which does not sum to 1 over topics.
        """
        joint = (self.word_probabilities * self.topic_probabilities[:, None]).T
        sums = joint.sum(axis=1, keepdims=True)
        return numpy.divide(joint, sums, out=numpy.zeros_like(joint), where=sums > 0)

    def top_words(self, topic: int, number: int = 10) -> list[str]:
        """The words of greatest p(w | topic).

        Args:
            topic: its row.
            number: of words.
        """
        return [self.words[place] for place in numpy.argsort(-self.word_probabilities[topic])[:number]]


def find_topics(
    documents: Iterable[str | Sequence[str]],
    vocabulary: Sequence[str],
    num_topics: int = 50,
    method: str = "lda",
    *,
    max_share: float = 1.0,
    epochs: int = 5,
    seed: int = 0,
) -> Topics:
    """Topics of documents by scikit-learn: online variational Bayes (Hoffman et al. 2010), or non-negative factors.

    Args:
        documents: strings, split at spaces, or lists of words.
        vocabulary: words that count.
        num_topics: how many.
        method: ``lda`` or ``nmf`` (generalised Kullback-Leibler divergence).
        max_share: words of more than this share of the documents are left out.
        epochs: passes over the documents.
        seed: of the first topics.

    Raises:
        ValueError: an unknown method, ``num_topics`` or ``epochs`` below 1, ``max_share`` outside (0, 1], documents
            without any word that counts.
    """
    check_option("method", method, TOPIC_METHODS)
    if num_topics < 1 or epochs < 1 or not 0 < max_share <= 1:
        raise ValueError(
            f"num_topics and epochs must be at least 1, max_share in (0, 1], got {num_topics}, {epochs}, {max_share}"
        )
    words, counts = _document_counts(documents, vocabulary, max_share)
    if method == "lda":
        found = LatentDirichletAllocation(
            num_topics, learning_method="online", batch_size=1024, max_iter=epochs, random_state=seed
        ).fit(counts)
        joint = found.components_  # expected counts of words in topics
    else:
        options = {"solver": "mu", "beta_loss": "kullback-leibler", "init": "random"}
        found = NMF(num_topics, **options, max_iter=20 * epochs, tol=0.0, random_state=seed)
        shares = found.fit_transform(counts)
        joint = shares.sum(axis=0)[:, None] * found.components_
    sums = joint.sum(axis=1)
    by_topic = numpy.divide(joint, sums[:, None], out=numpy.zeros_like(joint), where=sums[:, None] > 0)
    return Topics(words, by_topic, sums / sums.sum())


def _document_counts(
    documents: Iterable[str | Sequence[str]], vocabulary: Sequence[str], max_share: float
) -> tuple[tuple[str, ...], sparse.csr_matrix]:
    """The words that count and stand somewhere, and how often in each document."""
    counter = CountVectorizer(analyzer=words_of, vocabulary=vocabulary)
    counts = sparse.csr_matrix(counter.transform(documents), dtype=numpy.float64)
    counts = counts[numpy.diff(counts.indptr) > 0]
    shares = numpy.bincount(counts.indices, minlength=counts.shape[1]) / max(1, counts.shape[0])
    kept = numpy.flatnonzero((shares > 0) & (shares <= max_share))
    if not len(kept):
        raise ValueError(
            f"none of the {len(vocabulary)} words of the vocabulary stands in a document, and in at most {max_share} "
            "of them: give other documents, or a greater max_share"
        )
    return tuple(vocabulary[int(place)] for place in kept), counts[:, kept]


class TopicSpace(BaseEstimator, WordSpace):
    """Words as probabilities of topics, or as states with their roots as amplitudes.

    ``probability``: w = [p(topic_j | w)]; ``probability_amplitude``: |w> = sum_j sqrt(p(topic_j | w)) |topic_j>
    (T 4.82 with the posterior, and phases of 0 as in its experiments).

    Args:
        weighting: one of the two.
        normalize: every vector gets norm 1, as states have by themselves.

    Attributes:
        words_, vectors_: of the topics that were fitted.

    Raises:
        ValueError: at ``fit``: an unknown weighting.
    """

    _PARAMETERS = ("weighting", "normalize")

    def __init__(self, weighting: str = "probability_amplitude", normalize: bool = False) -> None:
        self.weighting = weighting
        self.normalize = normalize

    def fit(self, topics: Topics, y: Any = None) -> TopicSpace:
        """Take the vectors of all words.

        Args:
            topics: of ``find_topics``.
            y: not used.
        """
        check_option("weighting", self.weighting, _TOPIC_WEIGHTINGS)
        values = topics.of_words()
        vectors = sparse.csr_matrix(numpy.sqrt(values) if self.weighting == "probability_amplitude" else values)
        self._set(topics.words, unit_rows(vectors) if self.normalize else vectors)
        return self
