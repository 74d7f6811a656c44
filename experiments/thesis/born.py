# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words as states whose amplitudes and phases are learned from their contexts by Born's rule.

    p(c | w) = |<c|w>|^2,   |w> = sum_j r_j exp(i theta_j) |j> of norm 1,   |c> = sqrt(q(c)) times any row

Trained by noise-contrastive estimation (Gutmann & Hyvarinen 2012): is a pair from the text, or is its context one of k
drawn from q? The probability of the text is p / (p + k q(c)), so p learns to sum to 1 over contexts: the
|c><c| become a generalised measurement.

It answers one question of the thesis, whether learned phases help, so it is an experiment and not part of the package;
the package's ``semantics`` does not depend on torch.
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
    "drawn": 128,  # noise contexts shared by a batch, each of weight k / 128
    "learning_rate": 0.05,  # learning rate of Adagrad: rare words take few steps, but large ones
    "subsampling": 1e-4,  # t of Mikolov et al. 2013
    "power": 0.75,  # of the noise
    "mean_std": 0.3,  # standard deviation of initial phases around 0 and pi
}
PHASES = ("learned", "zero", "signs", "arccos", "random")


@dataclass(frozen=True)
class BornCell:
    """Words with ``phases``: learned, zero, signs (0 or pi: real states), arccos npmi_b of contexts, or random."""

    phases: str
    size: int


def _rows(table: Tensor, ids: Tensor | None) -> Tensor:
    """Return some rows, with a sparse gradient, or all."""
    return table if ids is None else nn.functional.embedding(ids, table, sparse=True)


class BornStates(nn.Module):
    """States of words and vectors of contexts, as halves ``[real | imag]``.

    Args:
        start: initial amplitudes of words and of contexts, ``[rows, d]``; their signs are phases of 0 or pi if phases
            are learned or signs, and are dropped if phases are given.
        phases: as in ``BornCell``.
        noise: q of each context.
        fixed: theta of words and of contexts, for given phases.
    """

    def __init__(
        self, start: tuple[Tensor, Tensor], phases: str, noise: Tensor, fixed: tuple[Tensor, Tensor] | None = None
    ) -> None:
        super().__init__()
        self.phases, self.scale = phases, 1.0
        self.amplitudes = nn.ParameterList([rows.clone() for rows in start])
        if phases == "learned":  # a phase of exactly 0 or pi has gradient 0
            turned = [torch.pi * (rows < 0) + RECIPE["mean_std"] * torch.randn_like(rows) for rows in start]
            self.angles = nn.ParameterList(turned)
        elif phases in ("arccos", "random"):
            drawn = [torch.empty_like(rows).uniform_(-torch.pi, torch.pi) for rows in start]
            self.angles = nn.ParameterList(fixed or drawn).requires_grad_(False)
        self.scale = 1.0 / total_probability(self, noise)[0]

    def rows(self, table: int, ids: Tensor | None = None) -> Tensor:
        """Return words (table 0, norm 1) or contexts divided by sqrt(q(c)) (table 1): ``[rows, 2 d]``."""
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
        """Compute |<c|w>|^2 / q(c) of every word with every context: ``[B, C]``."""
        if self.phases in ("zero", "signs"):
            half = words.shape[-1] // 2
            return self.scale * (words[:, :half] @ contexts[:, :half].T).square()
        real, imag = contexts.chunk(2, dim=-1)
        products = (words @ contexts.T).square() + (words @ torch.cat([-imag, real], dim=-1).T).square()
        return self.scale * products

    def pair_ratios(self, words: Tensor, contexts: Tensor) -> Tensor:
        """Compute |<c|w>|^2 / q(c) of pairs: ``[B]``."""
        real, imag = contexts.chunk(2, dim=-1)
        turned = torch.cat([-imag, real], dim=-1)
        return self.scale * ((words * contexts).sum(-1).square() + (words * turned).sum(-1).square())

    def states(self) -> numpy.ndarray:
        """Return |w> of all words, complex ``[words, d]``."""
        with torch.no_grad():
            real, imag = self.rows(0).double().chunk(2, dim=-1)
        return (real + 1j * imag).numpy()


def phases_of_npmi(counts: Cooccurrences, size: int) -> tuple[Tensor, Tensor]:
    """Compute arccos npmi_b with each of the first ``size`` contexts, for words and contexts; pi/2 where npmi is 0."""
    space = SemanticSpace("npmi_b", normalize=False).fit(counts)
    values = numpy.clip(space.vectors_[:, :size].toarray(), -1.0, 1.0)
    angles = torch.from_numpy(numpy.arccos(values)).float()
    places = {word: row for row, word in enumerate(counts.words)}
    return angles, angles[[places[word] for word in counts.contexts]]


def spectral_start(pairs: Pairs, size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Compute the least-squares real states: the first singular vectors of sqrt(p(c | w)).

    With p the shares of a word's pairs, sqrt(p) = U S V^T: |w> is a row of U S and |c> a row of V, divided by
    sqrt(q(c)), both scaled to mean square 1.
    """
    sums = numpy.asarray(pairs.table.sum(axis=1)).ravel()
    roots = sparse.csr_matrix(sparse.diags(1.0 / numpy.maximum(sums, 1e-12)) @ pairs.table).sqrt()
    first = numpy.random.default_rng(seed).normal(size=min(roots.shape))
    u, s, v = svds(roots, size, v0=first)
    u *= s / (numpy.linalg.norm(u * s, axis=1, keepdims=True) / size**0.5 + 1e-12)
    c = v.T / pairs.noise.numpy()[:, None] ** 0.5
    return torch.from_numpy(u.copy()).float(), torch.from_numpy(c / (c**2).mean() ** 0.5).float()


class Pairs:
    """Sampler of pairs, with frequent words subsampled, and of noise contexts."""

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
        """Draw words and contexts."""
        places = torch.searchsorted(self.sums, torch.rand(number, dtype=torch.float64, generator=self.generator))
        places = places.clamp(max=len(self.words) - 1)
        return self.words[places], self.contexts[places]

    def draw_noise(self, number: int) -> Tensor:
        """Contexts."""
        return torch.multinomial(self.noise, number, replacement=True, generator=self.generator)


def contrast(model: BornStates, words: Tensor, contexts: Tensor, drawn: Tensor) -> Tensor:
    """Compute the mean of -ln P(text) over pairs plus the mean of -ln P(drawn) over k noise contexts."""
    k = RECIPE["noise"]
    w = model.rows(0, words)
    of_text = model.pair_ratios(w, model.rows(1, contexts)).clamp(min=1e-30)
    of_noise = model.ratios(w, model.rows(1, drawn))
    return (torch.log1p(k / of_text) + k * torch.log1p(of_noise / k).mean(-1)).mean()


def train(cell: BornCell, counts: Cooccurrences, seed: int) -> tuple[BornStates, Pairs, list[float]]:
    """Train states; also return their pair sampler and the mean loss of each twentieth of the pairs."""
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
    """Return everything that changes a result and is not in the name of its row."""
    return {**RECIPE, "window": WINDOW, "contexts": CONTEXTS[WINDOW], "min_count": MIN_COUNT, "size": cell.size}


@torch.no_grad()
def total_probability(model: BornStates, noise: Tensor, number: int = 2_000) -> list[float]:
    """Return mean and standard deviation of sum_c p(c | w) over the most frequent words; 1 for a measurement."""
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
