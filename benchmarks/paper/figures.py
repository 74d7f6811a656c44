# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures 1 to 3 and Table 7 of the paper: waves, time of an epoch, frequencies that training has found."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from benchmarks.paper.protocol import EMBEDDINGS, NETWORKS, Cell, build_model, encoded, train_cell
from benchmarks.paper.runner import PAPER_RESULTS
from benchmarks.reporting import DOCS, machine_facts, machine_line, markdown_table, write_json, write_part
from benchmarks.timing import ratio, time_rounds
from complex_transformers import frequency_table, period_summary, plot_frequency_density, plot_waves

__all__ = ["figure1", "figure2", "figure3", "table7"]

PAGE = DOCS / "paper.md"
IMAGES = DOCS / "images"


def trained(cell: Cell) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """The model of a cell with the weights of its best epoch, and its tokenizer."""
    return train_cell(cell)[0].model, encoded(cell.dataset, cell.fold)[1]


def frequent_words(dataset: str, at_least: int) -> list[str]:
    """Words of the training part that occur often enough for their waves to have been trained."""
    parts, tokenizer, _ = encoded(dataset, 0)
    counts = torch.bincount(torch.tensor([i for ids in parts["train"]["input_ids"] for i in ids]))
    words = tokenizer.convert_ids_to_tokens((counts >= at_least).nonzero().flatten().tolist())
    return [word for word in words if word not in tokenizer.all_special_tokens]


def _save(figure: Any, name: str) -> str:
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / name, dpi=120)
    return f"![{Path(name).stem}](images/{name})"


def figure1(dataset: str, seed: int, words: list[str]) -> None:
    """Waves of some words of a trained Transformer."""
    model, tokenizer = trained(Cell(dataset, "Transformer", "complex-order", seed))
    write_part(PAGE, "figure1", _save(plot_waves(model, tokenizer, words), "paper-figure1.png"))


def figure2(dataset: str, rounds: int) -> None:
    """Seconds of a training epoch for every network and embedding, and the ratio to the network without positions.

    One batch of 32 texts of median length, forward and backward, interleaved; an epoch is as many as it has batches.
    """
    parts, tokenizer, labels = encoded(dataset, 0)
    rows = sorted(parts["train"], key=lambda row: len(row["input_ids"]))
    middle = rows[len(rows) // 2 - 16 : len(rows) // 2 + 16]
    batch = dict(tokenizer.pad([{"input_ids": row["input_ids"]} for row in middle], return_tensors="pt"))
    batch["labels"] = torch.tensor([row["label"] for row in middle])
    batches = -(-len(rows) // 32)
    table, figures = [], {}
    for network in NETWORKS:
        steps = {}
        for embedding in EMBEDDINGS:
            torch.manual_seed(0)
            model, _ = build_model(Cell(dataset, network, embedding, 0), tokenizer.get_vocab(), len(labels))

            def step(model: PreTrainedModel = model) -> None:
                model.zero_grad(set_to_none=True)
                model(**batch).loss.backward()

            steps[embedding] = step
        times = time_rounds(steps, rounds)
        for embedding, (_, field) in EMBEDDINGS.items():
            seconds = batches * statistics.median(times[embedding])
            against = ratio(times[embedding], times["none"]).median
            figures[f"{network},{embedding}"] = {"seconds_per_epoch": seconds, "ratio_to_none": against}
            table.append([f"{network}, {embedding} ({field})", f"{seconds:.1f} s", f"{against:.2f}"])
    facts = machine_facts()
    write_json(PAPER_RESULTS / "figure2.json", {"dataset": dataset, "figures": figures, "machine": facts})
    header = ["network, embedding (field)", "epoch", "ratio to no positions"]
    write_part(PAGE, "figure2", f"{markdown_table(header, table)}\n\n{dataset.upper()}; {machine_line(facts)}")


def figure3(dataset: str, seed: int) -> None:
    """Density of the mean absolute frequency of the words, for every network."""
    models = {name: trained(Cell(dataset, name, "complex-order", seed))[0] for name in NETWORKS}
    write_part(PAGE, "figure3", _save(plot_frequency_density(models), "paper-figure3.png"))


def table7(dataset: str, seed: int, at_least: int, count: int) -> None:
    """Words of the greatest and the smallest mean absolute frequency of a trained Transformer."""
    model, tokenizer = trained(Cell(dataset, "Transformer", "complex-order", seed))
    table = frequency_table(model, tokenizer, frequent_words(dataset, at_least))
    summary = period_summary(model)
    rows = [
        ["greatest, falling", " ".join(row.word for row in table[:count])],
        ["smallest, rising", " ".join(row.word for row in reversed(table[-count:]))],
    ]
    result = {
        "dataset": dataset,
        "seed": seed,
        "at_least": at_least,
        "words": [[row.word, row.frequency] for row in (*table[:count], *table[-count:])],
        "periods": summary,
    }
    write_json(PAPER_RESULTS / "table7.json", result)
    quartiles = ", ".join(f"{name} {value:.1f}" for name, value in summary.items() if name != "below_two")
    spread = f"delta of these words: {table[0].frequency:.4f} to {table[-1].frequency:.4f} rad per position"
    write_part(PAGE, "table7", f"{markdown_table(['frequencies', 'words'], rows)}\n\nPeriods: {quartiles}; {spread}.")
