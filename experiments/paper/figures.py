# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures 1 and 3 and Table 7 of the paper: waves and frequencies after training."""

from __future__ import annotations

from typing import Any

import torch
from benchmarks.reporting import DOCS, machine_facts
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from complex_transformers.analysis import frequency_table, period_summary, plot_frequency_density, plot_waves
from experiments.paper.protocol import NETWORKS, Cell, encoded, train_cell

__all__ = ["figure1", "figure3", "word_frequencies"]

IMAGES = DOCS / "images"
AT_LEAST, COUNT = 20, 50  # minimum count of a word in Table 7, words at each end


def trained(cell: Cell) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Return the model of a cell with the weights of its best epoch, and its tokenizer."""
    return train_cell(cell)[0].model, encoded(cell.dataset, cell.fold)[1]


def frequent_words(dataset: str, at_least: int) -> list[str]:
    """Return the words that are frequent enough in the training split to have trained frequencies."""
    parts, tokenizer, _ = encoded(dataset, 0)
    counts = torch.bincount(torch.tensor([i for ids in parts["train"]["input_ids"] for i in ids]))
    words = tokenizer.convert_ids_to_tokens((counts >= at_least).nonzero().flatten().tolist())
    return [word for word in words if word not in tokenizer.all_special_tokens]


def figure1(dataset: str, seed: int, words: list[str]) -> None:
    """Plot the waves of some words of a trained Transformer."""
    model, tokenizer = trained(Cell(dataset, "Transformer", "complex-order", seed))
    plot_waves(model, tokenizer, words).savefig(IMAGES / "paper-figure1.png", dpi=120)


def figure3(dataset: str, seed: int) -> None:
    """Plot the density of the words' mean absolute frequency, for every network."""
    models = {name: trained(Cell(dataset, name, "complex-order", seed))[0] for name in NETWORKS}
    plot_frequency_density(models).savefig(IMAGES / "paper-figure3.png", dpi=120)


def word_frequencies(cell: Cell) -> dict[str, Any]:
    """Return the words with the largest and the smallest mean absolute frequency, and quantiles of the periods."""
    model, tokenizer = trained(cell)
    table = frequency_table(model, tokenizer, frequent_words(cell.dataset, AT_LEAST))
    return {
        "at_least": AT_LEAST,
        "words": [[row.word, row.frequency] for row in (*table[:COUNT], *table[-COUNT:])],
        "periods": period_summary(model),
        "machine": machine_facts(),
    }
