# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Topics of documents, and words as their posterior."""

import numpy
import pytest

from complex_transformers.semantics import Topics, TopicSpace, find_topics
from refusals import refused

ANIMALS, MONEY = "cat dog fox", "bank loan coin"
DOCUMENTS = ["the " + " ".join(word.split() * 3) for word in (ANIMALS, MONEY) for _ in range(12)]
VOCABULARY = [*ANIMALS.split(), *MONEY.split(), "the", "absent"]


def test_the_posterior_of_topics():
    """By hand: p(w) = .25 * .2 + .75 * .4 = .35, p(topic 0 | w) = .05 / .35."""
    topics = Topics(("w", "v", "u"), numpy.array([[0.2, 0.8, 0.0], [0.4, 0.6, 0.0]]), numpy.array([0.25, 0.75]))
    numpy.testing.assert_allclose(topics.of_words(), [[1 / 7, 6 / 7], [0.2 / 0.65, 0.45 / 0.65], [0, 0]])
    classical, quantum = TopicSpace("probability").fit(topics), TopicSpace().fit(topics)
    numpy.testing.assert_allclose(classical.vector("w").toarray(), [[1 / 7, 6 / 7]])
    numpy.testing.assert_allclose(quantum.vector("w").toarray() ** 2, [[1 / 7, 6 / 7]])
    assert quantum.similarity("v", "v") == pytest.approx(1)
    cosine = TopicSpace("probability", normalize=True).fit(topics)
    assert cosine.similarity("w", "v") == pytest.approx((2 + 6 * 4.5) / numpy.sqrt(37 * (4 + 4.5**2)))
    assert "u" not in quantum
    assert topics.top_words(1, 2) == ["v", "w"]


@pytest.mark.parametrize("method", ["lda", "nmf"])
def test_topics_are_found(method, tmp_path):
    topics = find_topics(DOCUMENTS, VOCABULARY, 2, method, max_share=0.9, epochs=10)
    assert topics.words == tuple(VOCABULARY[:6])  # one in every document, one in none
    numpy.testing.assert_allclose(topics.word_probabilities.sum(axis=1), [1, 1])
    assert topics.topic_probabilities.sum() == pytest.approx(1)
    found = [set(topics.top_words(topic, 3)) for topic in range(2)]
    assert set(ANIMALS.split()) in found
    assert set(MONEY.split()) in found
    joint = topics.word_probabilities * topics.topic_probabilities[:, None]
    numpy.testing.assert_allclose(joint.sum(axis=0), numpy.full(6, 1 / 6), atol=0.02)  # p(w) of the documents
    space = TopicSpace().fit(topics)
    assert space.similarity("cat", "dog") > 0.9 > 0.5 > space.similarity("cat", "loan")
    space.save(tmp_path)
    assert TopicSpace.load(tmp_path).similarity("cat", "dog") == space.similarity("cat", "dog")
    again = find_topics([text.split() for text in DOCUMENTS], VOCABULARY, 2, method, max_share=0.9, epochs=10)
    numpy.testing.assert_array_equal(again.word_probabilities, topics.word_probabilities)


def test_refusals():
    refused("method must be one of .*, got 'lsa'", find_topics, DOCUMENTS, VOCABULARY, method="lsa")
    refused("occurs in at most 1.0 of the documents, got none of 1", find_topics, DOCUMENTS, ["absent"])
    refused("got none of 8", find_topics, [], VOCABULARY)
    topics = Topics(("w",), numpy.ones((1, 1)), numpy.ones(1))
    refused("weighting must be one of .*, got 'npmi_b'", TopicSpace("npmi_b").fit, topics)
