# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words as states whose amplitudes and phases are learned from their contexts by Born's rule.

    p(c | w) = |<c|w>|^2,   |w> = sum_j r_j exp(i theta_j) |j> of norm 1,   |c> = sqrt(q(c)) times any row

Noise-contrastive estimation (Gutmann & Hyvarinen 2012): is a pair one of the text, or is its context one of k that
were drawn from q? The probability of the text is p / (p + k q(c)). So p comes to sum to 1 over contexts by itself: the
|c><c| become a general measurement.

It is the recipe of one question of the thesis, whether learned phases help, and its outcome is a table of figures: so
it stands beside the other recipes and not in the package, whose ``semantics`` does without torch.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from benchmarks.reporting import machine_facts
from scipy import sparse
from scipy.sparse.linalg import svds
from torch import Tensor, nn

from complex_transformers.semantics import Cooccurrences, SemanticSpace, WordSpace
from experiments.thesis.semantics import CONTEXTS, MIN_COUNT, counts_of, score_space

__all__ = ["BornCell", "BornStates", "phases_of_npmi", "run", "settings", "train"]

WINDOW = 2
RECIPE: dict[str, Any] = {
    "pairs": 4_000_000,
    "batch_size": 1024,
    "noise": 8,  # k
    "drawn": 128,  # contexts that a batch draws together, each of weight k / 128
    "learning_rate": 0.05,  # of Adagrad: words of a few pairs take few steps, but not small ones
    "subsampling": 1e-4,  # t of Mikolov et al. 2013
    "power": 0.75,  # of the noise
    "spread": 0.3,  # of the first phases around 0 and pi
}
PHASES = ("learned", "zero", "signs", "arccos", "random")


@dataclass(frozen=True)
class BornCell:
    """``phases``: learned, zero, signs (0 or pi: real states), arccos npmi_b of the first contexts, or random ones."""

    phases: str
    size: int


def _rows(table: Tensor, ids: Tensor | None) -> Tensor:
    """Some rows, whose gradient is sparse, or all."""
    return table if ids is None else nn.functional.embedding(ids, table, sparse=True)


class BornStates(nn.Module):
    """States of words and rows of contexts, as halves ``[real | imag]``.

    Args:
        start: first amplitudes of words and of contexts, ``[rows, d]``; their signs are phases of 0 or pi where phases
            are learned or signs, and are left out where phases are given.
        phases: as in ``BornCell``.
        noise: q, by context.
        fixed: theta of words and of contexts, for phases that are given.
    """

    def __init__(
        self, start: tuple[Tensor, Tensor], phases: str, noise: Tensor, fixed: tuple[Tensor, Tensor] | None = None
    ) -> None:
        super().__init__()
        self.phases, self.scale = phases, 1.0
        self.amplitudes = nn.ParameterList([rows.clone() for rows in start])
        if phases == "learned":  # a phase of exactly 0 or pi would stay: its gradient is 0
            turned = [torch.pi * (rows < 0) + RECIPE["spread"] * torch.randn_like(rows) for rows in start]
            self.angles = nn.ParameterList(turned)
        elif phases in ("arccos", "random"):
            drawn = [torch.empty_like(rows).uniform_(-torch.pi, torch.pi) for rows in start]
            self.angles = nn.ParameterList(fixed or drawn).requires_grad_(False)
        self.scale = 1.0 / total_probability(self, noise)[0]

    def rows(self, table: int, ids: Tensor | None = None) -> Tensor:
        """Words (table 0, of norm 1) or contexts over sqrt(q(c)) (1): ``[rows, 2 d]``."""
        amplitude = _rows(self.amplitudes[table], ids)
        if self.phases != "signs":
            amplitude = amplitude.abs()
        if table == 0:
            amplitude = nn.functional.normalize(amplitude, dim=-1)
        if self.phases in ("zero", "signs"):
            return torch.cat([amplitude, torch.zeros_like(amplitude)], dim=-1)
        angle = _rows(self.angles[table], ids)
        return torch.cat([amplitude * angle.cos(), amplitude * angle.sin()], dim=-1)

    def ratios(self, words: Tensor, contexts: Tensor) -> Tensor:
        """|<c|w>|^2 / q(c) of every word with every context, of halves: ``[B, C]``."""
        if self.phases in ("zero", "signs"):
            half = words.shape[-1] // 2
            return self.scale * (words[:, :half] @ contexts[:, :half].T).square()
        real, imag = contexts.chunk(2, dim=-1)
        products = (words @ contexts.T).square() + (words @ torch.cat([-imag, real], dim=-1).T).square()
        return self.scale * products

    def pair_ratios(self, words: Tensor, contexts: Tensor) -> Tensor:
        """|<c|w>|^2 / q(c) of pairs: ``[B]``."""
        real, imag = contexts.chunk(2, dim=-1)
        turned = torch.cat([-imag, real], dim=-1)
        return self.scale * ((words * contexts).sum(-1).square() + (words * turned).sum(-1).square())

    def states(self) -> numpy.ndarray:
        """|w> of all words, complex ``[words, d]``."""
        with torch.no_grad():
            real, imag = self.rows(0).double().chunk(2, dim=-1)
        return (real + 1j * imag).numpy()


def phases_of_npmi(counts: Cooccurrences, size: int) -> tuple[Tensor, Tensor]:
    """arccos npmi_b beside each of the first ``size`` contexts, of words and of contexts; pi/2 where npmi is 0."""
    space = SemanticSpace("npmi_b", normalize=False).fit(counts)
    values = numpy.clip(space.vectors_[:, :size].toarray(), -1.0, 1.0)
    angles = torch.from_numpy(numpy.arccos(values)).float()
    places = {word: row for row, word in enumerate(counts.words)}
    return angles, angles[[places[word] for word in counts.contexts]]


def spectral_start(pairs: Pairs, size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Amplitudes of the best real states, by least squares: the first singular vectors of sqrt(p(c | w)).

    With p the shares of a word's pairs, sqrt(p) = U S V^T: |w> is the row of U S, and |c> that of V, here over
    sqrt(q(c)), both times a number that makes their mean square 1.
    """
    sums = numpy.asarray(pairs.table.sum(axis=1)).ravel()
    roots = sparse.csr_matrix(sparse.diags(1.0 / numpy.maximum(sums, 1e-12)) @ pairs.table).sqrt()
    first = numpy.random.default_rng(seed).normal(size=min(roots.shape))
    u, s, v = svds(roots, size, v0=first)
    u *= s / (numpy.linalg.norm(u * s, axis=1, keepdims=True) / size**0.5 + 1e-12)
    c = v.T / pairs.noise.numpy()[:, None] ** 0.5
    return torch.from_numpy(u.copy()).float(), torch.from_numpy(c / (c**2).mean() ** 0.5).float()


class Pairs:
    """Pairs as a text with fewer of its most frequent words would give them, and contexts as noise."""

    def __init__(self, counts: Cooccurrences, generator: torch.Generator) -> None:
        frequencies = (counts.word_frequencies, counts.context_frequencies)
        shares = [numpy.maximum(f, 1) / counts.num_tokens for f in frequencies]
        kept = [sparse.diags(numpy.minimum(1.0, numpy.sqrt(RECIPE["subsampling"] / share))) for share in shares]
        self.table = sparse.csr_matrix(kept[0] @ counts.counts @ kept[1])
        rows = sparse.coo_matrix(self.table)
        self.words, self.contexts = (torch.from_numpy(ids.astype(numpy.int64)) for ids in (rows.row, rows.col))
        self.sums = torch.from_numpy(numpy.cumsum(rows.data) / rows.data.sum())
        noise = numpy.maximum(numpy.asarray(self.table.sum(axis=0)).ravel(), 1e-3) ** RECIPE["power"]
        self.noise = torch.from_numpy(noise / noise.sum())
        self.generator = generator

    def draw(self, number: int) -> tuple[Tensor, Tensor]:
        """Words and contexts."""
        places = torch.searchsorted(self.sums, torch.rand(number, dtype=torch.float64, generator=self.generator))
        places = places.clamp(max=len(self.words) - 1)
        return self.words[places], self.contexts[places]

    def draw_noise(self, number: int) -> Tensor:
        """Contexts."""
        return torch.multinomial(self.noise, number, replacement=True, generator=self.generator)


def contrast(model: BornStates, words: Tensor, contexts: Tensor, drawn: Tensor) -> Tensor:
    """The mean of -ln P(text) of pairs, and of -ln P(drawn) of k contexts that were drawn."""
    k = RECIPE["noise"]
    w = model.rows(0, words)
    of_text = model.pair_ratios(w, model.rows(1, contexts)).clamp(min=1e-30)
    of_noise = model.ratios(w, model.rows(1, drawn))
    return (torch.log1p(k / of_text) + k * torch.log1p(of_noise / k).mean(-1)).mean()


def train(cell: BornCell, counts: Cooccurrences, seed: int) -> tuple[BornStates, Pairs, list[float]]:
    """Learned states, what they learned from, and the mean loss of each twentieth of the pairs."""
    torch.manual_seed(seed)
    fixed = phases_of_npmi(counts, cell.size) if cell.phases == "arccos" else None
    pairs = Pairs(counts, torch.Generator().manual_seed(seed))
    model = BornStates(spectral_start(pairs, cell.size, seed), cell.phases, pairs.noise, fixed)
    steps = max(20, RECIPE["pairs"] // RECIPE["batch_size"])
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adagrad(learned, lr=RECIPE["learning_rate"])
    losses = []
    for _ in range(steps):
        loss = contrast(model, *pairs.draw(RECIPE["batch_size"]), pairs.draw_noise(RECIPE["drawn"]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, pairs, [round(float(part.mean()), 4) for part in numpy.array_split(numpy.array(losses), 20)]


def settings(cell: BornCell) -> dict[str, Any]:
    """Whatever changes the outcome of a run and is not in the name of its row."""
    return {**RECIPE, "window": WINDOW, "contexts": CONTEXTS[WINDOW], "min_count": MIN_COUNT, "size": cell.size}


@torch.no_grad()
def total_probability(model: BornStates, noise: Tensor, number: int = 2_000) -> list[float]:
    """Mean and deviation of sum_c p(c | w) over the most frequent words: 1 where |c><c| are a measurement."""
    sums = model.ratios(model.rows(0)[:number], model.rows(1)) @ noise.float()
    return [round(sums.mean().item(), 4), round(sums.std().item(), 4)]


def run(cell: BornCell, seed: int) -> dict[str, Any]:
    """Train the states of a cell and score them on all sets."""
    torch.set_num_threads(1)
    counts = counts_of(WINDOW)
    start = time.perf_counter()
    model, pairs, losses = train(cell, counts, seed)
    seconds = round(time.perf_counter() - start, 1)
    return {
        "losses": losses,
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "total_probability": total_probability(model, pairs.noise),
        "sets": score_space(WordSpace(counts.words, model.states())),
        "seconds": seconds,
        "machine": machine_facts("scipy"),
    }
