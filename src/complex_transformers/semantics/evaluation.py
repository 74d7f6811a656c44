# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rated pairs of words and phrases, and how well a space ranks them (T 4.5.9)."""

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
)  # names of the third column


@dataclass(frozen=True)
class _Layout:
    """Columns of a table of ratings: those of either phrase in the order of reading, of the rating, of who rated."""

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
    # Grefenstette & Sadrzadeh 2011: the landmark in place of the verb
    "verb subject object landmark rating": _Layout((1, 0, 2), (1, 3, 2), 4),
    # Kartsaklis & Sadrzadeh 2014
    "subject1 verb1 object1 subject2 verb2 object2 rating": _Layout((0, 1, 2), (3, 4, 5), 6),
}


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Pairs of words or phrases, and what people say of their similarity.

    Attributes:
        name: of the file.
        pairs: each once: two phrases, tuples of words.
        places: of every rating, the place of its pair.
        ratings: one or more of every pair.
        participants: of every rating, who gave it; None where that is not known.
    """

    name: str
    pairs: tuple[tuple[Phrase, Phrase], ...]
    places: NDArray[numpy.int64]
    ratings: NDArray[numpy.float64]
    participants: tuple[str, ...] | None = None

    def mean_ratings(self) -> NDArray[numpy.float64]:
        """The mean rating of every pair."""
        return numpy.bincount(self.places, self.ratings) / numpy.bincount(self.places)


def read_rated_pairs(path: str | os.PathLike[str], *, lowercase: bool = False) -> RatedPairs:
    """Pairs and ratings of a file, also compressed (``.gz``, ``.bz2``, ``.xz``).

    A table with tabs whose header is that of ratings of word pairs (``word1 word2 similarity``), of two phrases of two
    words (Mitchell & Lapata 2010), of a verb and its landmark (Grefenstette & Sadrzadeh 2011) or of two sentences
    (Kartsaklis & Sadrzadeh 2014); or any file of lines ``word1 word2 score`` with tabs, commas, semicolons or spaces
    between, as WordSim-353 is. It may have a header whose third column is called score, rating, similarity,
    relatedness, mean, Human or Human (mean). Lines that begin with ``#`` are comments.

    Args:
        path: of the file.
        lowercase: words are written small, as a text of small letters needs them.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no UTF-8, a row with too few or too many fields, an empty word, a rating that is no number, no row.
    """
    lines = [(n, line) for n, line in enumerate(read_lines(path), 1) if line.strip() and not line.startswith("#")]
    if not lines:
        raise ValueError(f"{path} has no pairs: expected lines of two words and a score")
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
                f"{line[:80]!r}: mend or remove it"
            )
        words = [field.lower() if lowercase else field for field in row]
        first, second = (tuple(words[column] for column in columns) for columns in (layout.first, layout.second))
        of_pairs.append(places.setdefault((first, second), len(places)))
        ratings.append(rating)
        participants.append("" if layout.participant is None else row[layout.participant])
    if not ratings:
        raise ValueError(f"{path} has a header and no pairs")
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
    """A finite number, or None."""
    if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
        value = float(text)
        return value if math.isfinite(value) else None
    return None


@dataclass(frozen=True)
class Scores:
    """Spearman's rho of a space in three conventions.

    Attributes:
        mean_rating: against the mean rating of every pair.
        single_ratings: against all ratings, the similarity of a pair as often as it was rated.
        participants: the mean of rho of every participant over the pairs he rated, the thesis's "averaging over
            participant correlation"; None where participants are not known. One whose ratings do not differ has no rho
            and does not count.
        covered, pairs: pairs that have a similarity, and all pairs.
    """

    mean_rating: float
    single_ratings: float
    participants: float | None
    covered: int
    pairs: int


def score_pairs(similarities: Sequence[float] | NDArray[numpy.float64], rated: RatedPairs) -> Scores:
    """How well similarities rank the pairs that they cover.

    Args:
        similarities: of every pair, NaN where there is none, as ``WordSpace.similarities(rated.pairs)`` gives them.
        rated: the pairs.

    Raises:
        ValueError: another number of similarities, fewer than three pairs that are covered.
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
    """Pairs that all similarities cover."""
    for values in similarities:
        if values.shape != (len(rated.pairs),):
            raise ValueError(f"each of {len(rated.pairs)} pairs needs a similarity, got shape {values.shape}")
    covered: NDArray[numpy.bool_] = numpy.asarray(~numpy.isnan(numpy.stack(similarities)).any(axis=0))
    if covered.sum() < 3:
        raise ValueError(
            f"{covered.sum()} of {covered.size} pairs of {rated.name} have a similarity, too few to rank: give a "
            "space with their words, in their case"
        )
    return covered


def _spearman(first: NDArray[numpy.float64], second: NDArray[numpy.float64]) -> float:
    """The correlation of ranks, equal values at their mean rank; NaN where one side does not differ."""
    if len(first) < 2 or not numpy.ptp(first) or not numpy.ptp(second):
        return math.nan
    return float(spearmanr(first, second).statistic)


@dataclass(frozen=True)
class Difference:
    """rho of one space less that of another.

    Attributes:
        difference: of all pairs that both cover.
        low, high: 2.5 and 97.5 % of its values when pairs are drawn with replacement.
        pairs: that both cover.
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
    """rho(first) - rho(second) against the mean ratings, and a 95 % interval by the bootstrap over pairs.

    Both are scored on the same draws (Efron & Tibshirani 1993, 13.3, percentile interval).

    Args:
        first, second: similarities of every pair, NaN where there is none.
        rated: the pairs.
        draws: samples of pairs.
        seed: of the draws.

    Raises:
        ValueError: another number of similarities, fewer than three pairs that both cover, ``draws`` below 1.
    """
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
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
    """Mean ranks of values in samples that have each ``counts`` times, without sorting anew: ``[draws, values]``."""
    distinct, groups = numpy.unique(values, return_inverse=True)
    order = numpy.argsort(groups, kind="stable")
    starts = numpy.searchsorted(groups[order], numpy.arange(len(distinct)))
    sizes = numpy.add.reduceat(counts[:, order], starts, axis=1)
    ranks = numpy.cumsum(sizes, axis=1) - (sizes - 1) / 2
    return ranks[:, groups]


def _sample_correlation(
    first: NDArray[numpy.float64], second: NDArray[numpy.float64], counts: NDArray[numpy.float64]
) -> NDArray[numpy.float64]:
    """Pearson's correlation of every sample."""
    number = counts.sum(axis=1, keepdims=True)
    x, y = (values - (counts * values).sum(axis=1, keepdims=True) / number for values in (first, second))
    norm = numpy.sqrt((counts * x * x).sum(axis=1) * (counts * y * y).sum(axis=1))
    return numpy.divide((counts * x * y).sum(axis=1), norm, out=numpy.full(len(norm), math.nan), where=norm > 0)
