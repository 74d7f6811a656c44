# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Composition by evolution: a unitary map of its grammatical role is applied to each word of a phrase first (T 4.63).

    |s> = sum_i U_i |w_i>   or   rho = 1/n sum_i U_i |w_i><w_i| U_i^H,   similarity |<s|s'>| or sqrt(tr(rho rho'))

The U_i are fitted to ratings of phrases and scored on held-out ratings in nested folds;
the inner folds choose the number of steps. Folds hold whole groups of pairs: all pairs with the same first
phrase, or with the same verb if the phrases differ in the verb only. Words are states of ``born.py``, and,
as a control, random states: their score shows how far the maps learn word identity instead of meaning,
because the words of a held-out pair also occur in other pairs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy
import torch
from benchmarks.reporting import machine_facts
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor, nn

from complex_transformers.nn import UnitaryLinear, functional as CF
from complex_transformers.nn.arithmetic import arithmetic
from complex_transformers.semantics import RatedPairs, WordSpace, bootstrap_difference
from experiments.thesis import born
from experiments.thesis.semantics import MIN_COUNT, WORD_SETS, counts_of, figures_of, rated_sets

__all__ = ["EVOLUTIONS", "STATES", "Evolution", "EvolutionCell", "cross_validated", "phrases_of", "run", "settings"]

# Complex states, real ones of the same stored width, and the control.
STATES = {"learned": born.BornCell("learned", 50), "signs": born.BornCell("signs", 100), "drawn": None}
EVOLUTIONS = ("none", "roles", "phase_shift", "unitary")
FITTED = EVOLUTIONS[2:]
RECIPE: dict[str, Any] = {
    "folds": 6,
    "inner_folds": 3,
    "learning_rate": 0.01,  # learning rate of Adam
    "steps": (10, 40),  # the inner folds choose one
    "penalties": (0.0, 1e-3, 1e-2),  # weight of the squared parameters of the maps
}


@dataclass(frozen=True)
class EvolutionCell:
    """States of words, composition of phrases (``add`` or ``mixture``), and evolution of the words before it."""

    states: str
    how: str
    evolution: str

    @property
    def number_field(self) -> str:
        """The number field of the states: real states evolve by rotations."""
        return "real" if self.states == "signs" else "complex"


@dataclass(frozen=True)
class Phrases:
    """Pairs of phrases of one length; all words have states.

    Attributes:
        words: states as halves ``[pairs, 2, n, 2d]``, or real states ``[pairs, 2, n, d]``.
        ratings: mean rating of each pair.
        groups: group of each pair; a group stays in one fold.
        places: index of each pair in its set.
    """

    words: Tensor
    ratings: Tensor
    groups: NDArray[numpy.int64]
    places: NDArray[numpy.int64]

    def take(self, rows: NDArray[numpy.int64]) -> Phrases:
        """Return some of the pairs."""
        return Phrases(self.words[rows], self.ratings[rows], self.groups[rows], self.places[rows])


class Evolution(nn.Module):
    """Map the n words of a phrase to U_i |w_i>, ``[..., n, width]``; U_i is initially the identity.

    ``phase_shift`` is R_theta = diag(exp(i theta_j)) (T 4.38), ``unitary`` any rotation of the field (T 4.36);
    ``roles`` is |i> tensor |w_i> (T 4.39), ``[..., n, n width]``: words of different roles are orthogonal,
    and nothing is fitted.
    """

    def __init__(self, kind: str, roles: int, width: int, number_field: str) -> None:
        super().__init__()
        self.apart = torch.eye(roles).unsqueeze(-1) if kind == "roles" else None
        self.field = arithmetic(number_field)
        self.maps = UnitaryLinear(width, 0.0, number_field, roles) if kind == "unitary" else None
        self.angles = nn.Parameter(torch.zeros(roles, width // 2)) if kind == "phase_shift" else None

    def forward(self, words: Tensor) -> Tensor:
        if self.maps is not None:
            return self.maps(words, torch.arange(words.shape[-2]).expand(words.shape[:-1]))
        if self.angles is not None:
            return CF.multiply(words, CF.join(self.angles.cos(), self.angles.sin()))
        if self.apart is not None:
            parts = [(self.apart * part.unsqueeze(-2)).flatten(-2) for part in self.field.parts(words)]
            return torch.cat(parts, dim=-1)
        return words


def similarities(words: Tensor, how: str, number_field: str) -> Tensor:
    """Compute |<s|s'>| of sums or sqrt(tr(rho rho')) of mixtures: ``[pairs, 2, n, width] -> [pairs]``."""
    x, y = (words.sum(-2, keepdim=True) if how == "add" else words).unbind(1)
    squares = (x @ y.mT).square()
    if number_field == "complex":
        real, imag = y.chunk(2, -1)
        squares = squares + (x @ torch.cat([-imag, real], -1).mT).square()
    return squares.sum((-1, -2)).clamp(min=1e-20).sqrt() / x.shape[-2]


def phrases_of(space: WordSpace, rated: RatedPairs, number_field: str) -> Phrases:
    """Return the pairs of a set whose words all have states."""
    places = [place for place, pair in enumerate(rated.pairs) if all(word in space for side in pair for word in side)]
    pairs = [rated.pairs[place] for place in places]
    dense = {word: space.vector(word).toarray()[0] for pair in pairs for side in pair for word in side}
    vectors = numpy.array([[[dense[word] for word in side] for side in pair] for pair in pairs])
    parts = [vectors.real] if number_field == "real" else [vectors.real, vectors.imag]
    # GS2011 pairs a sentence with the same sentence and another verb; other sets pair a phrase with several others.
    same = all(sum(a != b for a, b in zip(*pair, strict=True)) == 1 for pair in pairs)
    keys = [pair[0][1] if same and len(pair[0]) == 3 else pair[0] for pair in pairs]
    names = {key: number for number, key in enumerate(sorted(set(keys)))}
    return Phrases(
        torch.from_numpy(numpy.concatenate(parts, -1)).float(),
        torch.from_numpy(rated.mean_ratings()[places]).float(),
        numpy.array([names[key] for key in keys]),
        numpy.array(places),
    )


def folds(groups: NDArray[numpy.int64], count: int, seed: int) -> Iterator[tuple[NDArray[numpy.int64], ...]]:
    """Return indices to fit and to score; groups are assigned to folds at random."""
    names = numpy.unique(groups)
    dealt = numpy.random.default_rng(seed).permutation(len(names)) % count
    of_pair = dealt[numpy.searchsorted(names, groups)]
    for fold in range(count):
        yield numpy.flatnonzero(of_pair != fold), numpy.flatnonzero(of_pair == fold)


def fitted(
    cell: EvolutionCell, phrases: Phrases, penalty: float, scored: Phrases
) -> dict[int, NDArray[numpy.float64]]:
    """Fit maps to ``phrases`` by Pearson's r; return similarities of ``scored`` after each number of steps."""
    model = Evolution(cell.evolution, *phrases.words.shape[2:], cell.number_field)
    found = {}
    ratings = phrases.ratings - phrases.ratings.mean()
    optimizer = torch.optim.Adam(model.parameters(), lr=RECIPE["learning_rate"])
    for step in range(1, max(RECIPE["steps"]) + 1):
        similarity = similarities(model(phrases.words), cell.how, cell.number_field)
        r = torch.cosine_similarity(similarity - similarity.mean(), ratings, dim=0)
        loss = 1.0 - r + penalty * sum(p.square().sum() for p in model.parameters())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in RECIPE["steps"]:
            with torch.no_grad():
                found[step] = similarities(model(scored.words), cell.how, cell.number_field).double().numpy()
    return found


def _rho(first: NDArray[numpy.float64], second: Tensor) -> float:
    return float(spearmanr(first, second.numpy()).statistic)


def cross_validated(cell: EvolutionCell, phrases: Phrases, seed: int) -> tuple[NDArray[numpy.float64], list[Any]]:
    """Return the held-out similarities of all pairs, and the choice of the inner folds in each outer fold."""
    if cell.evolution not in FITTED:
        words = Evolution(cell.evolution, *phrases.words.shape[2:], cell.number_field)(phrases.words)
        return similarities(words, cell.how, cell.number_field).double().numpy(), []
    found, chosen = numpy.empty(len(phrases.ratings)), []
    for fit, score in folds(phrases.groups, RECIPE["folds"], seed):
        known, new = phrases.take(fit), phrases.take(score)
        scores: dict[tuple[float, int], list[float]] = {}
        for inner_fit, inner_score in folds(known.groups, RECIPE["inner_folds"], seed + 1):
            part, held = known.take(inner_fit), known.take(inner_score)
            for penalty in RECIPE["penalties"]:
                for steps, values in fitted(cell, part, penalty, held).items():
                    scores.setdefault((penalty, steps), []).append(_rho(values, held.ratings))
        penalty, steps = max(scores, key=lambda setting: numpy.mean(scores[setting]))
        found[score] = fitted(cell, known, penalty, new)[steps]
        chosen.append([penalty, steps])
    return found, chosen


@cache
def states_of(name: str) -> WordSpace:
    """Return the states of the words, trained or drawn once for all rows."""
    counts, cell = counts_of(born.WINDOW), STATES[name]
    if cell is not None:
        return WordSpace(counts.words, born.train(cell, counts, 0)[0].states())
    drawn = numpy.random.default_rng(0).normal(size=(2, len(counts.words), 50))
    states = drawn[0] + 1j * drawn[1]
    return WordSpace(counts.words, states / numpy.linalg.norm(states, axis=1, keepdims=True))


def settings(cell: EvolutionCell) -> dict[str, Any]:
    """Return everything that changes a result and is not in the name of its row."""
    return {**RECIPE, "states": born.RECIPE, "window": born.WINDOW, "min_count": MIN_COUNT}


def run(cell: EvolutionCell, seed: int) -> dict[str, Any]:
    """Score a cell on the sets of phrases, and its difference to words without evolution."""
    torch.set_num_threads(1)
    space = states_of(cell.states)
    start = time.perf_counter()
    result: dict[str, Any] = {}
    for name, rated in rated_sets().items():
        if name in WORD_SETS:
            continue
        phrases = phrases_of(space, rated, cell.number_field)
        held = {}
        for evolution in ("none", cell.evolution):
            values = numpy.full(len(rated.pairs), numpy.nan)
            values[phrases.places], chosen = cross_validated(
                EvolutionCell(cell.states, cell.how, evolution), phrases, seed
            )
            held[evolution] = values
        result[name] = {"scores": figures_of(held[cell.evolution], rated), "chosen": chosen}
        if cell.evolution in FITTED:
            seen = fitted(cell, phrases, 0.0, phrases)[max(RECIPE["steps"])]
            result[name]["on_what_was_fitted"] = round(_rho(seen, phrases.ratings), 5)
        if cell.evolution != "none":
            found = asdict(bootstrap_difference(held[cell.evolution], held["none"], rated))
            result[name]["difference"] = {key: round(value, 5) for key, value in found.items()}
    seconds = round(time.perf_counter() - start, 1)
    return {"sets": result, "seconds": seconds, "machine": machine_facts("scipy")}
