# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Semantic spaces of chapter 4.5 of the thesis on three million words, scored on human similarity ratings.

    python -m experiments.thesis.semantics wordsim353.csv      # any file of pairs, in all count spaces

``python -m experiments.run thesis-semantics`` runs the tables of ``docs/semantics.md``.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy
from benchmarks.reporting import machine_facts, markdown_table
from numpy.typing import NDArray

from complex_transformers.semantics import (
    Cooccurrences,
    RatedPairs,
    SemanticSpace,
    Topics,
    TopicSpace,
    WordSpace,
    bootstrap_difference,
    build_vocabulary,
    count_cooccurrences,
    find_topics,
    phrase_senses,
    read_rated_pairs,
    score_pairs,
    sense_probabilities,
)

__all__ = [
    "COUNT_SPACES",
    "SETS",
    "DifferenceCell",
    "SenseCell",
    "SpaceCell",
    "TopicCell",
    "counts_of",
    "figures_of",
    "rated_sets",
    "run",
    "score_space",
    "sense_shares",
    "settings",
    "vocabulary",
]

MIN_COUNT = 5
CONTEXTS = {2: 20_000, 5: 5_000}  # by window
LINE_OF_TEXT8 = 1_000  # words per line, because text8 has no lines
SETS = {
    "simlex": "simlex999.tsv",
    "noun-noun": "ml2010-noun-noun.tsv",
    "adjective-noun": "ml2010-adjective-noun.tsv",
    "verb-object": "ml2010-verb-object.tsv",
    "gs2011": "gs2011.tsv",
    "ks2014": "ks2014.tsv",
}
WORD_SETS = ("simlex",)  # the other sets are phrases
SENSE_GAP = 2.0  # difference of mean ratings
COMPOSED = ("add", "multiply", "mixture")
# Row name -> weighting, normalize, phases.
COUNT_SPACES: dict[str, tuple[str, bool, str]] = {
    **{name: (name, False, "none") for name in ("raw", "probability", "pmi_a", "pmi_b", "pmi_c")},
    "cos raw": ("raw", True, "none"),
    **{f"cos {name}": (name, True, "none") for name in ("pmi_a", "pmi_b", "pmi_c", "ppmi")},
    "probability amplitude": ("probability_amplitude", True, "none"),
    **{f"npmi_{x}": (f"npmi_{x}", True, "none") for x in "abc"},
    **{f"npmi_{x} phases": (f"npmi_{x}", True, "arccos") for x in "abc"},
}
TOPIC_SPACES = {"topics": ("probability", False), "cos topics": ("probability", True)}
TOPIC_SPACES["quantum topics"] = ("probability_amplitude", False)
TOPIC_OPTIONS = {"method": "lda", "max_share": 0.1, "epochs": 5}


@dataclass(frozen=True)
class SpaceCell:
    """A space of counts; the ``dropped`` most frequent words are not used as contexts."""

    space: str
    window: int
    dropped: int = 0


@dataclass(frozen=True)
class TopicCell:
    """A space of topics."""

    space: str
    topics: int


@dataclass(frozen=True)
class SenseCell:
    """Verb sense disambiguation by phrases in a space of counts."""

    space: SpaceCell


@dataclass(frozen=True)
class DifferenceCell:
    """The difference between two spaces of counts."""

    first: SpaceCell
    second: SpaceCell


Cell: TypeAlias = SpaceCell | TopicCell | DifferenceCell | SenseCell


def data_folder() -> Path:
    """Return the folder of the corpora and rated pairs."""
    return Path(os.environ.get("COMPLEX_TRANSFORMERS_DATA", "../shared/data"))


def _text(path: str) -> str:
    with gzip.open(data_folder() / path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read()


def corpus() -> Iterator[list[str]]:
    """Yield lines of WikiText-2, lower-cased and without unknown words, then text8 in lines of 1,000 words."""
    for line in _text("lm/wikitext-2/train.txt.gz").split("\n"):
        yield [word for word in line.lower().split() if word != "<unk>"]
    words = _text("lm/text8/train-5.8m.txt.gz").split()
    for start in range(0, len(words), LINE_OF_TEXT8):
        yield words[start : start + LINE_OF_TEXT8]


def documents() -> Iterator[list[str]]:
    """Return the documents for topics: lines of WikiText-2, and the training split of Reuters (ModApte)."""
    for line in _text("lm/wikitext-2/train.txt.gz").split("\n"):
        if len(words := line.lower().split()) > 10:  # no headings
            yield words
    for row in _text("classification/reuters/modapte90-train.tsv.gz").split("\n")[1:]:
        if row:
            yield [word.strip(".,;:()<>\"'") for word in row.split("\t")[1].lower().split()]


@cache
def vocabulary() -> tuple[str, ...]:
    """Return the words that occur at least five times."""
    return tuple(build_vocabulary(corpus(), MIN_COUNT))


@cache
def counts_of(window: int, dropped: int = 0) -> Cooccurrences:
    """Return co-occurrence counts with the most frequent words of the corpus."""
    words = vocabulary()
    return count_cooccurrences(corpus(), words, window, words[dropped : CONTEXTS[window]])


@cache
def topics_of(number: int) -> Topics:
    """Return the topics of the documents."""
    return find_topics(documents(), vocabulary(), number, **TOPIC_OPTIONS)  # type: ignore[arg-type]


@cache
def rated_sets() -> dict[str, RatedPairs]:
    """Return the rated pairs by name."""
    folder = data_folder() / "semantics"
    return {name: read_rated_pairs(folder / file, lowercase=True) for name, file in SETS.items()}


def space_of(cell: SpaceCell | TopicCell) -> WordSpace:
    """Return the space of a cell."""
    if isinstance(cell, TopicCell):
        return TopicSpace(*TOPIC_SPACES[cell.space]).fit(topics_of(cell.topics))
    return SemanticSpace(*COUNT_SPACES[cell.space]).fit(counts_of(cell.window, cell.dropped))


def figures_of(similarities: NDArray[numpy.float64], rated: RatedPairs) -> dict[str, Any]:
    """Round scores to five digits; None for scores that are not finite."""
    found = asdict(score_pairs(similarities, rated))
    values = {name: found[name] for name in ("mean_rating", "single_ratings", "participants")}
    return {name: None if v is None or math.isnan(v) else round(v, 5) for name, v in values.items()}


def score_space(space: WordSpace, sets: Mapping[str, RatedPairs] | None = None) -> dict[str, Any]:
    """Return Spearman's rho by set and composition: modulus, real part, and normalised compositions."""
    result: dict[str, Any] = {}
    for name, rated in (rated_sets() if sets is None else sets).items():
        words = all(len(phrase) == 1 for pair in rated.pairs for phrase in pair)
        found: dict[str, Any] = {}
        for how in ("add",) if words else COMPOSED:
            variants = {"modulus": ("modulus", False), "real": ("real", False), "renormalized": ("modulus", True)}
            if words or how == "mixture":
                del variants["renormalized"]
            if how == "mixture":
                del variants["real"]
            for variant, (kind, renormalize) in variants.items():
                similarities = space.similarities(rated.pairs, how, kind, renormalize)
                found.setdefault("words" if words else how, {})[variant] = figures_of(similarities, rated)
        covered = int((~numpy.isnan(similarities)).sum())
        result[name] = {"covered": covered, "pairs": len(rated.pairs), **found}
    return result


def _differences(cell: DifferenceCell) -> dict[str, Any]:
    """Return differences with their intervals, by set and composition."""
    first, second = space_of(cell.first), space_of(cell.second)
    result = {}
    for name, rated in rated_sets().items():
        result[name] = {}
        for how in ("add",) if name in WORD_SETS else ("add", "multiply"):
            values = [space.similarities(rated.pairs, how) for space in (first, second)]
            found = asdict(bootstrap_difference(*values, rated))
            result[name]["words" if name in WORD_SETS else how] = {
                key: value if key == "pairs" else round(value, 5) for key, value in found.items()
            }
    return result


def _sense_cases() -> list[tuple[tuple[str, ...], str, str]]:
    """Return GS2011 phrases with two landmarks; the first is rated higher by at least ``SENSE_GAP``."""
    rated = rated_sets()["gs2011"]
    landmarks: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for (phrase, other), rating in zip(rated.pairs, rated.mean_ratings(), strict=True):
        landmarks.setdefault(phrase, []).append((float(rating), other[1]))
    return [
        (phrase, high, low)
        for phrase, found in landmarks.items()
        for better, high in found
        for worse, low in found
        if better - worse >= SENSE_GAP
    ]


def _better(space: WordSpace, senses: Sequence[str], phrase: Sequence[str], how: str = "mixture") -> float:
    """Return the probability of the first sense; NaN if the composition is orthogonal to both."""
    try:
        return float(sense_probabilities(space, senses, space.compose(phrase, how))[0])
    except ValueError:
        return math.nan


def sense_shares(space: WordSpace) -> dict[str, Any]:
    """Count phrases whose better landmark is likelier than for the verb alone, and likelier than the other one."""
    cases = _sense_cases()
    known = [case for case in cases if all(word in space for word in (*case[0], *case[1:]))]
    alone = [_better(space, senses, phrase[1:2]) for phrase, *senses in known]
    result: dict[str, Any] = {"cases": len(cases), "covered": len(known)}
    result["alone"] = {"right": sum(p > 0.5 for p in alone)}
    for how in COMPOSED:
        within = [_better(space, senses, phrase, how) for phrase, *senses in known]
        pairs = [pair for pair in zip(within, alone, strict=True) if not math.isnan(sum(pair))]
        result[how] = {"moved": sum(p > before for p, before in pairs), "right": sum(p > 0.5 for p, _ in pairs)}
        result[how]["defined"] = len(pairs)
    entropies = [phrase_senses(space.compose(phrase, "mixture")).entropy for phrase, *_ in known]
    return {**result, "entropy": round(float(numpy.mean(entropies)), 4)}


def settings(cell: Cell) -> dict[str, Any]:
    """Return the corpus and the counting options of a cell, which are stored with its result."""
    if isinstance(cell, TopicCell):
        return {"corpus": "wikitext-2 + reuters modapte", "min_count": MIN_COUNT, **TOPIC_OPTIONS}
    return {
        "corpus": "wikitext-2 + text8 5.8m",
        "min_count": MIN_COUNT,
        "contexts": {str(w): n for w, n in CONTEXTS.items()},
    }


def run(cell: Cell, seed: int) -> dict[str, Any]:
    """Score a cell; only topics and bootstrap draws are random, with seed 0."""
    start = time.perf_counter()
    result: dict[str, Any] = {}
    if isinstance(cell, DifferenceCell):
        result["differences"] = _differences(cell)
    elif isinstance(cell, SenseCell):
        result |= sense_shares(space_of(cell.space))
    else:
        space = space_of(cell)
        if isinstance(space, SemanticSpace) and space.weighting.startswith("npmi"):
            result["clipped"] = space.clipped_
        result |= {"words": len(space.words_), "size": space.vectors_.shape[1], "sets": score_space(space)}
    seconds = round(time.perf_counter() - start, 1)
    return {**result, "seconds": seconds, "machine": machine_facts("scipy", "scikit-learn")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Score files of pairs in every space of counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", help="files of lines: word1 word2 score")
    parser.add_argument("--window", type=int, default=2, choices=CONTEXTS)
    args = parser.parse_args(arguments)
    sets = {path: read_rated_pairs(path, lowercase=True) for path in args.pairs}
    rows = []
    for name in COUNT_SPACES:
        found = score_space(space_of(SpaceCell(name, args.window)), sets)
        for path, scores in found.items():
            how = "words" if "words" in scores else "add"
            figures = scores[how]["modulus"]
            covered = f"{scores['covered']}/{scores['pairs']}"
            rows.append([name, path, covered, *("" if v is None else f"{v:.3f}" for v in figures.values())])
    header = ["space", "pairs", "covered", "mean ratings", "single ratings", "by participant"]
    print(markdown_table(header, rows))


if __name__ == "__main__":
    main()
