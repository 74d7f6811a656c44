# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts of one pass, against loops over positions."""

from collections import Counter
from itertools import chain

import numpy
import pytest

from complex_transformers.semantics import build_vocabulary, cooccurrence, count_cooccurrences
from refusals import refused


def by_loops(lines, vocabulary, window, contexts):
    """f(w, v) as it is defined."""
    found = Counter()
    for line in lines:
        words = [word for word in line if word in vocabulary]
        for i, word in enumerate(words):
            for j, other in enumerate(words):
                if i != j and abs(i - j) <= window and other in contexts:
                    found[word, other] += 1
    return numpy.array([[found[word, context] for context in contexts] for word in vocabulary])


def drawn_lines(seed):
    generator = numpy.random.default_rng(seed)
    lengths = [0, 1, 2, *generator.integers(0, 30, 20)]
    return [[f"w{number}" for number in generator.zipf(1.4, length) if number < 12] for length in lengths]


@pytest.mark.parametrize("window", [1, 2, 5, 40])
@pytest.mark.parametrize("pairs_at_once", [2**22, 8])
def test_counts_are_those_of_loops(window, pairs_at_once, monkeypatch):
    monkeypatch.setattr(cooccurrence, "_PAIRS_AT_ONCE", pairs_at_once)
    lines = drawn_lines(window)
    vocabulary, contexts = [f"w{number}" for number in (3, 1, 2, 7, 4, 99)], ["w4", "w1", "w3"]
    counts = count_cooccurrences(lines, vocabulary, window, contexts)
    assert counts.counts.toarray().tolist() == by_loops(lines, vocabulary, window, contexts).tolist()
    frequencies = Counter(word for line in lines for word in line)
    assert counts.word_frequencies.tolist() == [frequencies[word] for word in vocabulary]
    assert counts.context_frequencies.tolist() == [frequencies[word] for word in contexts]
    assert counts.num_tokens == sum(map(len, lines))
    assert (counts.words, counts.contexts, counts.window) == (tuple(vocabulary), tuple(contexts), window)
    assert counts.word_sums.tolist() == counts.counts.toarray().sum(axis=1).tolist()
    assert counts.context_sums.tolist() == counts.counts.toarray().sum(axis=0).tolist()


@pytest.mark.parametrize("window", [1, 3, 40])
@pytest.mark.parametrize("size", [1, 2, 7, 60])
def test_a_line_of_any_length_is_counted_in_chunks(window, size, monkeypatch):
    monkeypatch.setattr(cooccurrence, "_PAIRS_AT_ONCE", 2 * window * size)
    monkeypatch.setattr(cooccurrence, "_WORDS_AT_ONCE", size)
    lines = [f"w{number} " * 3 + "x y  w1\tw2 " for number in range(3)]
    lines += [" ".join(f"w{number % 12}" for number in numpy.random.default_rng(0).zipf(1.4, 150)), "", "  w1 w2 "]
    words = [line.split() for line in lines]
    vocabulary = build_vocabulary(lines)
    assert vocabulary == build_vocabulary(words) == [word for word, _ in Counter(chain(*words)).most_common()]
    known = vocabulary[:5]
    for text in (lines, words):
        counts = count_cooccurrences(text, known, window)
        assert counts.counts.toarray().tolist() == by_loops(words, known, window, known).tolist()
        assert counts.word_frequencies.tolist() == [sum(line.count(word) for line in words) for word in known]
        assert counts.num_tokens == sum(map(len, words))
        chunks = cooccurrence._chunks(text, {word: place for place, word in enumerate(known)}, size, window)
        assert max(len(tokens) - again for tokens, _, _, again in chunks) < 2 * size


def test_lines_are_read_once_and_contexts_can_be_a_number():
    lines = (line for line in ["a b", "b c a"])
    counts = count_cooccurrences(lines, ["b", "a", "c"], 2, contexts=2)
    assert counts.contexts == ("b", "a")
    assert counts.counts.toarray().tolist() == [[0, 2], [2, 0], [1, 1]]
    assert count_cooccurrences(["a b"], ["a", "b"], 2, contexts=9).contexts == ("a", "b")


def test_vocabulary_by_frequency_then_place():
    lines = ["b a c", ["a", "b"], "d c"]
    assert build_vocabulary(lines) == ["b", "a", "c", "d"]
    assert build_vocabulary([*lines, "d d"], 2) == ["d", "b", "a", "c"]


def test_refusals():
    refused("one string. Pass text.splitlines", count_cooccurrences, "a b", ["a", "b"], error=TypeError)
    refused("window must be at least 1, got 0", count_cooccurrences, ["a b"], ["a", "b"], 0)
    refused("vocabulary must have at least one word, got none", count_cooccurrences, ["a b"], [])
    refused("must not repeat words, got 'a' twice", count_cooccurrences, ["a b"], ["a", "b", "a"])
    refused("contexts must be at least 1, got 0", count_cooccurrences, ["a b"], ["a", "b"], 2, 0)
    refused("got 1 others, first 'c'", count_cooccurrences, ["a b"], ["a", "b"], 2, ["a", "c"])
    refused("contexts must not repeat words", count_cooccurrences, ["a b"], ["a", "b"], 2, ["a", "a"])
    for lines in ([], ["", "a"], ["a x x"], ["x y"]):
        refused("vocabulary word beside a context, got none", count_cooccurrences, lines, ["a", "b"])
    refused("lines must contain a word 2 times, got 1 rarer", build_vocabulary, ["a"], 2)
    refused("got 0 rarer words", build_vocabulary, [])
