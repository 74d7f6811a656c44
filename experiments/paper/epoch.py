# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Figure 2 of the ComplexOrder paper: time per epoch for every network and embedding."""

from __future__ import annotations

import statistics
from typing import Any

import torch
from benchmarks.race import Case, Outcome
from benchmarks.reporting import DOCS, machine_line, markdown_table
from benchmarks.timing import loss_step, ratio, time_rounds

from experiments.paper.protocol import EMBEDDINGS, NETWORKS, Cell, build_model, encoded

__all__ = ["FIGURE2", "case", "table"]

DATASET = "trec"


def case(rounds: int) -> Outcome:
    """Seconds of a training epoch for every network and embedding, and the ratio to the network without positions.

    Times one batch of 32 texts of median length, forward and backward, interleaved, times the number of batches.
    """
    parts, tokenizer, labels = encoded(DATASET, 0)
    rows = sorted(parts["train"], key=lambda row: len(row["input_ids"]))
    middle = rows[len(rows) // 2 - 16 : len(rows) // 2 + 16]
    batch = dict(tokenizer.pad([{"input_ids": row["input_ids"]} for row in middle], return_tensors="pt"))
    batch["labels"] = torch.tensor([row["label"] for row in middle])
    batches = -(-len(rows) // 32)
    found = []
    for network in NETWORKS:
        steps = {}
        for embedding in EMBEDDINGS:
            torch.manual_seed(0)
            model, _ = build_model(Cell(DATASET, network, embedding, 0), tokenizer.get_vocab(), len(labels))
            steps[embedding] = loss_step(model, **batch)
        times = time_rounds(steps, rounds)
        found += [
            {
                "network": network,
                "embedding": embedding,
                "seconds_per_epoch": batches * statistics.median(times[embedding]),
                "ratio_to_none": ratio(times[embedding], times["none"]).median,
            }
            for embedding in EMBEDDINGS
        ]
    return Outcome(found)


def table(data: dict[str, Any]) -> str:
    """Write a row for each network and embedding."""
    rows = [
        [
            f"{found['network']}, {found['embedding']} ({EMBEDDINGS[found['embedding']][1]})",
            f"{found['seconds_per_epoch']:.1f} s",
            f"{found['ratio_to_none']:.2f}",
        ]
        for found in data["rows"]
    ]
    text = markdown_table(["network, embedding (field)", "epoch", "ratio to no positions"], rows)
    return f"{text}\n\n{DATASET.upper()}; {machine_line(data['machine'])}"


FIGURE2 = Case(case, 15, table, DOCS / "paper.md", "figure2")
