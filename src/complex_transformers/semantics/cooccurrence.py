# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Co-occurrence counts of words, in one pass over a text of any size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Cooccurrences", "build_vocabulary", "count_cooccurrences"]

# Pairs collected before they are added to the counts: 100 MB.
_PAIRS_AT_ONCE = 2**22
_WORDS_AT_ONCE = 2**20
_SPACE = re.compile(r"\s")


@dataclass(frozen=True, eq=False)
class Cooccurrences:
    """Counts f(w, v) of words w (rows) beside contexts v (columns) (Thesis 4.67).

    Attributes:
        words: labels of the rows.
        contexts: labels of the columns.
        counts: sparse ``[words, contexts]``: how often a context occurs within ``window`` words of a word.
        word_frequencies, context_frequencies: f'(w) and f'(v), how often each occurs in the text.
        num_tokens: M, the number of words of the text, inside the vocabulary or not.
        window: the largest distance.
    """

    words: tuple[str, ...]
    contexts: tuple[str, ...]
    counts: sparse.csr_matrix
    word_frequencies: NDArray[numpy.float64]
    context_frequencies: NDArray[numpy.float64]
    num_tokens: int
    window: int

    @cached_property
    def word_sums(self) -> NDArray[numpy.float64]:
        """The row sums f(w)."""
        return numpy.asarray(self.counts.sum(axis=1), dtype=numpy.float64).ravel()

    @cached_property
    def context_sums(self) -> NDArray[numpy.float64]:
        """The column sums f(v)."""
        return numpy.asarray(self.counts.sum(axis=0), dtype=numpy.float64).ravel()


def build_vocabulary(lines: Iterable[str | Sequence[str]], min_count: int = 1) -> list[str]:
    """Return the words that occur at least ``min_count`` times, by falling frequency, then by first occurrence.

    Args:
        lines: strings, split at white space, or lists of words.
        min_count: rarer words are left out.

    Raises:
        ValueError: no word is frequent enough.
    """
    frequencies = Counter(word for line in lines for words in _stretches(line, _WORDS_AT_ONCE) for word in words)
    kept = [word for word, count in frequencies.most_common() if count >= min_count]
    if not kept:
        raise ValueError(
            f"lines must contain a word {min_count} times, got {len(frequencies)} rarer words. Lower min_count."
        )
    return kept


def count_cooccurrences(
    lines: Iterable[str | Sequence[str]],
    vocabulary: Sequence[str],
    window: int = 2,
    contexts: int | Sequence[str] | None = None,
) -> Cooccurrences:
    """Count words within ``window`` words of each other, on either side, in one pass.

    Words outside the vocabulary are dropped before windows are taken, and windows end at line ends. Memory grows with
    the number of distinct pairs, not with the length of the text or of its lines.

    Args:
        lines: strings, split at white space, or lists of words; case is kept.
        vocabulary: words of the rows, for instance from ``build_vocabulary``.
        window: the largest distance (c in the thesis).
        contexts: words of the columns, or the number of vocabulary words to take, from the first; None for all.

    Raises:
        ValueError: ``window`` or ``contexts`` is below 1, a word is given twice, a context is outside the vocabulary,
            or no two vocabulary words are neighbours in the text.
        TypeError: ``lines`` is one string.
    """
    if isinstance(lines, str):
        raise TypeError("lines must be an iterable of lines, got one string. Pass text.splitlines().")
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    ids = _numbered("vocabulary", vocabulary)
    columns = _columns(ids, vocabulary, contexts)
    column_of = numpy.full(len(ids), -1)
    column_of[columns] = numpy.arange(len(columns))
    frequencies = numpy.zeros(len(ids), dtype=numpy.int64)
    counts = sparse.csr_matrix((len(ids), len(columns)), dtype=numpy.int64)
    num_tokens = 0
    for tokens, units, number, again in _chunks(lines, ids, max(1, _PAIRS_AT_ONCE // (2 * window)), window):
        num_tokens += number
        frequencies += numpy.bincount(tokens[again:], minlength=len(ids))
        counts = counts + _pairs(tokens, units, again, column_of, window, counts.shape)
    if not counts.nnz:
        raise ValueError(
            f"lines must have a vocabulary word beside a context, got none among {frequencies.sum()} vocabulary "
            "words. Extend vocabulary or contexts."
        )
    return Cooccurrences(
        words=tuple(vocabulary),
        contexts=tuple(vocabulary[column] for column in columns),
        counts=counts,
        word_frequencies=frequencies.astype(numpy.float64),
        context_frequencies=frequencies[columns].astype(numpy.float64),
        num_tokens=num_tokens,
        window=window,
    )


def words_of(line: str | Sequence[str]) -> Sequence[str]:
    """Split a line at white space; return a list of words unchanged."""
    return line.split() if isinstance(line, str) else line


def _numbered(name: str, words: Sequence[str]) -> dict[str, int]:
    """Return word -> index."""
    ids = {word: index for index, word in enumerate(words)}
    if not ids:
        raise ValueError(f"{name} must have at least one word, got none")
    if len(ids) < len(words):
        twice = next(word for word, count in Counter(words).items() if count > 1)
        raise ValueError(f"{name} must not repeat words, got {twice!r} twice. Remove the copy.")
    return ids


def _columns(
    ids: dict[str, int], vocabulary: Sequence[str], contexts: int | Sequence[str] | None
) -> NDArray[numpy.int64]:
    """Return the indices of the contexts in the vocabulary."""
    if contexts is None or isinstance(contexts, int):
        number = len(vocabulary) if contexts is None else contexts
        if number < 1:
            raise ValueError(f"contexts must be at least 1, got {number}")
        return numpy.arange(min(number, len(vocabulary)))
    if missing := [word for word in _numbered("contexts", contexts) if word not in ids]:
        raise ValueError(
            f"contexts must be in the vocabulary, got {len(missing)} others, first {missing[0]!r}. Remove them."
        )
    return numpy.array([ids[word] for word in contexts])


def _stretches(line: str | Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Yield the words of a line, at most about ``size`` at once."""
    if len(line) <= size:
        yield words_of(line)
    elif isinstance(line, str):
        start = 0
        while start < len(line):
            space = _SPACE.search(line, start + size)
            end = space.start() if space else len(line)
            yield line[start:end].split()
            start = end
    else:
        yield from (line[start : start + size] for start in range(0, len(line), size))


def _chunks(
    lines: Iterable[str | Sequence[str]], ids: dict[str, int], size: int, window: int
) -> Iterator[tuple[NDArray[numpy.int64], NDArray[numpy.int64], int, int]]:
    """Yield chunks of about ``size`` known words: ids, line numbers, number of all words, number of repeated words.

    A chunk that ends within a line repeats its last ``window`` words at the start of the next chunk.
    """
    tokens: list[int] = []
    lengths: list[int] = []
    number = again = 0

    def chunk() -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], int, int]:
        units = numpy.repeat(numpy.arange(len(lengths)), lengths)
        return numpy.array(tokens, dtype=numpy.int64), units, number, again

    for line in lines:
        lengths.append(0)
        for words in _stretches(line, size):
            known = [ids[word] for word in words if word in ids]
            tokens += known
            lengths[-1] += len(known)
            number += len(words)
            if len(tokens) - again >= size:
                yield chunk()
                number, again = 0, min(window, lengths[-1])
                tokens, lengths = tokens[len(tokens) - again :], [again]
    yield chunk()


def _pairs(
    tokens: NDArray[numpy.int64],
    units: NDArray[numpy.int64],
    again: int,
    column_of: NDArray[numpy.int64],
    window: int,
    shape: tuple[int, int],
) -> sparse.csr_matrix:
    """Count the pairs of one chunk, except those among its ``again`` repeated words."""
    rows, columns = [], []
    for distance in range(1, min(window, len(tokens) - 1) + 1):
        new = max(again - distance, 0)
        together = units[new + distance :] == units[new:-distance]
        left, right = tokens[new:-distance][together], tokens[new + distance :][together]
        for words, others in ((left, right), (right, left)):
            found = column_of[others]
            rows.append(words[found >= 0])
            columns.append(found[found >= 0])
    if not rows:
        return sparse.csr_matrix(shape, dtype=numpy.int64)
    pairs = (numpy.concatenate(rows), numpy.concatenate(columns))
    return sparse.coo_matrix((numpy.ones(len(pairs[0]), dtype=numpy.int64), pairs), shape).tocsr()
