# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Topic models: words by their topics, from LDA or non-negative matrix factorisation (Thesis 4.61, 4.82)."""

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
        words: labels of the columns.
        word_probabilities: p(w | topic), ``[topics, words]``; rows sum to 1.
        topic_probabilities: p(topic), ``[topics]``.
    """

    words: tuple[str, ...]
    word_probabilities: NDArray[numpy.float64]
    topic_probabilities: NDArray[numpy.float64]

    def of_words(self) -> NDArray[numpy.float64]:
        """Return p(topic | w) = p(w | topic) p(topic) / p(w), ``[words, topics]``; zeros where p(w) = 0.

        Thesis 4.61 and 4.82 use p(w | topic) instead, which does not sum to 1 over topics.
        """
        joint = (self.word_probabilities * self.topic_probabilities[:, None]).T
        sums = joint.sum(axis=1, keepdims=True)
        return numpy.divide(joint, sums, out=numpy.zeros_like(joint), where=sums > 0)

    def top_words(self, topic: int, number: int = 10) -> list[str]:
        """Return the words with the largest p(w | topic).

        Args:
            topic: index of the topic.
            number: number of words.
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
    """Fit topics with scikit-learn: online variational Bayes (Hoffman et al. 2010), or non-negative factorisation.

    Args:
        documents: strings, split at white space, or lists of words.
        vocabulary: words to count.
        num_topics: number of topics.
        method: ``lda`` or ``nmf`` (generalised Kullback-Leibler divergence).
        max_share: words in more than this share of the documents are left out.
        epochs: passes over the documents.
        seed: seed of the initial topics.

    Raises:
        ValueError: the method is unknown, or no word of the vocabulary is left.
    """
    check_option("method", method, TOPIC_METHODS)
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
    """Return the words that occur in at most ``max_share`` of the documents, and their counts by document."""
    counter = CountVectorizer(analyzer=words_of, vocabulary=vocabulary)
    counts = sparse.csr_matrix(counter.transform(documents), dtype=numpy.float64)
    counts = counts[numpy.diff(counts.indptr) > 0]
    shares = numpy.bincount(counts.indices, minlength=counts.shape[1]) / max(1, counts.shape[0])
    kept = numpy.flatnonzero((shares > 0) & (shares <= max_share))
    if not len(kept):
        raise ValueError(
            f"vocabulary must have a word that occurs in at most {max_share} of the documents, got none of "
            f"{len(vocabulary)}. Extend it, or raise max_share."
        )
    return tuple(vocabulary[int(place)] for place in kept), counts[:, kept]


class TopicSpace(BaseEstimator, WordSpace):
    """Words as topic probabilities, or as states whose amplitudes are their square roots.

    ``probability``: w = [p(topic_j | w)]; ``probability_amplitude``: |w> = sum_j sqrt(p(topic_j | w)) |topic_j>
    (Thesis 4.82 with the posterior, and phases 0 as in its experiments).

    Args:
        weighting: ``probability`` or ``probability_amplitude``.
        normalize: scale vectors to norm 1.

    Attributes:
        words_, vectors_: words of the fitted topics, and their vectors.

    Raises:
        ValueError: ``weighting`` is unknown (raised by ``fit``).
    """

    _PARAMETERS = ("weighting", "normalize")

    def __init__(self, weighting: str = "probability_amplitude", normalize: bool = False) -> None:
        self.weighting = weighting
        self.normalize = normalize

    def fit(self, topics: Topics, y: Any = None) -> TopicSpace:
        """Compute the vectors of all words.

        Args:
            topics: from ``find_topics``.
            y: not used.
        """
        check_option("weighting", self.weighting, _TOPIC_WEIGHTINGS)
        values = topics.of_words()
        vectors = sparse.csr_matrix(numpy.sqrt(values) if self.weighting == "probability_amplitude" else values)
        self._set(topics.words, unit_rows(vectors) if self.normalize else vectors)
        return self
