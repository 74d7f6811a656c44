# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Similarity ratings of words and phrases, and how well a word space ranks them (Thesis 4.5.9)."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray
from scipy.stats import spearmanr

from ..data.files import read_lines, uncompressed_name

__all__ = ["Difference", "RatedPairs", "Scores", "bootstrap_difference", "read_rated_pairs", "score_pairs"]

Phrase = tuple[str, ...]
_DRAWS_AT_ONCE = 500
_SCORES = (
    "score",
    "rating",
    "similarity",
    "relatedness",
    "mean",
    "human",
    "human (mean)",
)  # accepted headers of the third column


@dataclass(frozen=True)
class _Layout:
    """Columns of a rating table: the words of both phrases in reading order, the rating, the participant."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    rating: int
    participant: int | None = None


_TABLES = {
    # SimLex-999 (Hill et al. 2015)
    "word1 word2 similarity": _Layout((0,), (1,), 2),
    # Mitchell & Lapata 2010
    "participant version phrase1_word1 phrase1_word2 phrase2_word1 phrase2_word2 rating": _Layout(
        (2, 3), (4, 5), 6, 0
    ),
    # Grefenstette & Sadrzadeh 2011: the landmark replaces the verb
    "verb subject object landmark rating": _Layout((1, 0, 2), (1, 3, 2), 4),
    # Kartsaklis & Sadrzadeh 2014
    "subject1 verb1 object1 subject2 verb2 object2 rating": _Layout((0, 1, 2), (3, 4, 5), 6),
}


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Pairs of words or phrases, and human ratings of their similarity.

    Attributes:
        name: name of the file.
        pairs: distinct pairs of phrases; a phrase is a tuple of words.
        places: index of the pair, for each rating.
        ratings: one or more ratings of each pair.
        participants: who gave each rating; None if not known.
    """

    name: str
    pairs: tuple[tuple[Phrase, Phrase], ...]
    places: NDArray[numpy.int64]
    ratings: NDArray[numpy.float64]
    participants: tuple[str, ...] | None = None

    def mean_ratings(self) -> NDArray[numpy.float64]:
        """Return the mean rating of each pair."""
        return numpy.bincount(self.places, self.ratings) / numpy.bincount(self.places)


def read_rated_pairs(path: str | os.PathLike[str], *, lowercase: bool = False) -> RatedPairs:
    """Read pairs and ratings from a file, also compressed (``.gz``, ``.bz2``, ``.xz``).

    Accepts tab-separated tables with the headers of SimLex-999, Mitchell & Lapata 2010, Grefenstette & Sadrzadeh 2011
    and Kartsaklis & Sadrzadeh 2014, and any file of lines ``word1 word2 score`` separated by tabs, commas, semicolons
    or spaces, such as WordSim-353. The header of the third column is optional: score, rating, similarity, relatedness,
    mean, Human or Human (mean). Lines that start with ``#`` are comments.

    Args:
        path: the file.
        lowercase: lowercase the words, for spaces built from lowercased text.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the file is not UTF-8, has no rows, or a row has missing or extra fields or an invalid rating.
    """
    lines = [(n, line) for n, line in enumerate(read_lines(path), 1) if line.strip() and not line.startswith("#")]
    if not lines:
        raise ValueError(f"{path} must have lines of two words and a score, got none")
    layout = _TABLES.get(" ".join(lines[0][1].split("\t")))
    rows = [_fields(line, known=layout is not None) for _, line in lines]
    if layout is not None or _is_header(rows[0]):
        names, lines, rows = rows[0], lines[1:], rows[1:]
    else:
        names = ["word1", "word2", "score"]
    layout = layout or _Layout((0,), (1,), 2)
    places: dict[tuple[Phrase, Phrase], int] = {}
    of_pairs, ratings, participants = [], [], []
    for (number, line), row in zip(lines, rows, strict=True):
        rating = _number(row[layout.rating]) if len(row) == len(names) else None
        if rating is None or not all(row):
            raise ValueError(
                f"{path}, line {number} must have the {len(names)} fields {' '.join(names)}, the last a number, got "
                f"{line[:80]!r}"
            )
        words = [field.lower() if lowercase else field for field in row]
        first, second = (tuple(words[column] for column in columns) for columns in (layout.first, layout.second))
        of_pairs.append(places.setdefault((first, second), len(places)))
        ratings.append(rating)
        participants.append("" if layout.participant is None else row[layout.participant])
    if not ratings:
        raise ValueError(f"{path} must have pairs below its header, got none")
    return RatedPairs(
        os.path.basename(uncompressed_name(path)).rsplit(".", 1)[0],
        tuple(places),
        numpy.array(of_pairs),
        numpy.array(ratings),
        None if layout.participant is None else tuple(participants),
    )


def _is_header(row: Sequence[str]) -> bool:
    return len(row) == 3 and row[2].lower() in _SCORES


def _fields(line: str, known: bool) -> list[str]:
    for mark in ("\t", ",", ";"):
        if known or mark in line:
            return [field.strip() for field in line.split(mark)]
    return line.split()


def _number(text: str) -> float | None:
    """Return a finite number, or None."""
    if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
        value = float(text)
        return value if math.isfinite(value) else None
    return None


@dataclass(frozen=True)
class Scores:
    """Spearman's rho of a space in three conventions.

    Attributes:
        mean_rating: rho against the mean rating of each pair.
        single_ratings: rho against all ratings; the similarity of a pair is repeated for each of its ratings.
        participants: mean over participants of rho on the pairs they rated (the thesis's "averaging over participant
            correlation"), without participants whose ratings are all equal; None if participants are not known.
        covered: number of pairs with a similarity.
        pairs: number of all pairs.
    """

    mean_rating: float
    single_ratings: float
    participants: float | None
    covered: int
    pairs: int


def score_pairs(similarities: Sequence[float] | NDArray[numpy.float64], rated: RatedPairs) -> Scores:
    """Score how well similarities rank the pairs that they cover.

    Args:
        similarities: one for each pair, NaN if unknown, as returned by ``WordSpace.similarities(rated.pairs)``.
        rated: the pairs.

    Raises:
        ValueError: the number of similarities is not the number of pairs, or fewer than three pairs are covered.
    """
    values = numpy.asarray(similarities, dtype=numpy.float64)
    covered = _covered(rated, values)
    kept = covered[rated.places]
    by_rating = values[rated.places]
    people = None
    if rated.participants is not None:
        names = numpy.array(rated.participants)
        rows = [kept & (names == name) for name in sorted(set(rated.participants))]
        found = [_spearman(by_rating[row], rated.ratings[row]) for row in rows]
        found = [rho for rho in found if not math.isnan(rho)]
        people = float(numpy.mean(found)) if found else math.nan
    return Scores(
        mean_rating=_spearman(values[covered], rated.mean_ratings()[covered]),
        single_ratings=_spearman(by_rating[kept], rated.ratings[kept]),
        participants=people,
        covered=int(covered.sum()),
        pairs=len(rated.pairs),
    )


def _covered(rated: RatedPairs, *similarities: NDArray[numpy.float64]) -> NDArray[numpy.bool_]:
    """Return a mask of the pairs that all similarities cover."""
    for values in similarities:
        if values.shape != (len(rated.pairs),):
            raise ValueError(f"similarities must have shape ({len(rated.pairs)},), got {values.shape}")
    covered: NDArray[numpy.bool_] = numpy.asarray(~numpy.isnan(numpy.stack(similarities)).any(axis=0))
    if covered.sum() < 3:
        raise ValueError(
            f"similarities must cover at least 3 pairs of {rated.name}, got {covered.sum()} of {covered.size}. Check "
            "the case of the words."
        )
    return covered


def _spearman(first: NDArray[numpy.float64], second: NDArray[numpy.float64]) -> float:
    """Return the rank correlation, with mean ranks for ties; NaN if one side is constant."""
    if len(first) < 2 or not numpy.ptp(first) or not numpy.ptp(second):
        return math.nan
    return float(spearmanr(first, second).statistic)


@dataclass(frozen=True)
class Difference:
    """The difference between the rho of two spaces.

    Attributes:
        difference: rho(first) - rho(second) on the pairs that both cover.
        low, high: 2.5 and 97.5 percentiles of the difference over bootstrap samples of pairs.
        pairs: number of pairs that both cover.
    """

    difference: float
    low: float
    high: float
    pairs: int


def bootstrap_difference(
    first: NDArray[numpy.float64],
    second: NDArray[numpy.float64],
    rated: RatedPairs,
    *,
    draws: int = 10_000,
    seed: int = 0,
) -> Difference:
    """Compute rho(first) - rho(second) against the mean ratings, with a 95 % bootstrap interval over pairs.

    Both are scored on the same samples (Efron & Tibshirani 1993, 13.3, percentile interval).

    Args:
        first, second: similarities of each pair, NaN if unknown.
        rated: the pairs.
        draws: number of bootstrap samples.
        seed: seed of the samples.

    Raises:
        ValueError: the number of similarities is not the number of pairs, or fewer than three pairs are covered by
            both.
    """
    covered = _covered(rated, first, second)
    ratings = rated.mean_ratings()[covered]
    values = [first[covered], second[covered]]
    number = len(ratings)
    generator = numpy.random.default_rng(seed)
    found = []
    for start in range(0, draws, _DRAWS_AT_ONCE):
        size = (min(_DRAWS_AT_ONCE, draws - start), number)
        counts = generator.multinomial(number, numpy.full(number, 1 / number), size=size[0]).astype(numpy.float64)
        given = _sample_ranks(ratings, counts)
        x, y = (_sample_correlation(_sample_ranks(value, counts), given, counts) for value in values)
        found.append(x - y)
    low, high = numpy.nanpercentile(numpy.concatenate(found), [2.5, 97.5])
    difference = _spearman(values[0], ratings) - _spearman(values[1], ratings)
    return Difference(difference, float(low), float(high), number)


def _sample_ranks(values: NDArray[numpy.float64], counts: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """Return mean ranks ``[draws, values]`` in samples that hold each value ``counts`` times, with a single sort."""
    distinct, groups = numpy.unique(values, return_inverse=True)
    order = numpy.argsort(groups, kind="stable")
    starts = numpy.searchsorted(groups[order], numpy.arange(len(distinct)))
    sizes = numpy.add.reduceat(counts[:, order], starts, axis=1)
    ranks = numpy.cumsum(sizes, axis=1) - (sizes - 1) / 2
    return ranks[:, groups]


def _sample_correlation(
    first: NDArray[numpy.float64], second: NDArray[numpy.float64], counts: NDArray[numpy.float64]
) -> NDArray[numpy.float64]:
    """Return Pearson's correlation of each sample."""
    number = counts.sum(axis=1, keepdims=True)
    x, y = (values - (counts * values).sum(axis=1, keepdims=True) / number for values in (first, second))
    norm = numpy.sqrt((counts * x * x).sum(axis=1) * (counts * y * y).sum(axis=1))
    return numpy.divide((counts * x * y).sum(axis=1), norm, out=numpy.full(len(norm), math.nan), where=norm > 0)
