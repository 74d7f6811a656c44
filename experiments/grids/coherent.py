# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers with phase-coherent attention on three data sets, by the protocol of ``fair``.

``fair-coherent-choice`` trains each setting of a row once and scores it on validation; ``fair-coherent`` trains the
best of them with three other seeds and tests it once. Rows with softmax are in ``fair``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from experiments.grids.fair import COMMON, DATASETS, EMBEDDINGS, Row, deal, fair_grids
from experiments.paper.protocol import Cell

__all__ = ["GRIDS", "ROWS"]

# The bias of the weights starts at -log 32, where a sentence has about 20 tokens.
COHERENT = {"attention_score": "cosine", "attention_normalization": "sigmoid", "max_position_embeddings": 32}
# Embeddings with equal stored width, and with equal parameters.
SHOWN = (("complex-order", False), ("complex-vanilla", False), ("TPE", False), ("TPE", True))


@dataclass(frozen=True)
class CoherentRow(Row):
    """A Transformer with cosine scores and sigmoid weights, whose score is not tuned."""

    def pool(self) -> list[dict[str, Any]]:
        """Return the settings to choose from."""
        is_complex = EMBEDDINGS[self.embedding][1] == "complex"
        readouts = {"readout": ("modulus", "scaled_modulus", "concat", "concat")} if is_complex else {}
        return deal(self.network, self.embedding, COMMON, readouts)

    def cell(self, setting: dict[str, Any]) -> Cell:
        """Return the cell with a setting of its pool."""
        found = super().cell(setting)
        return replace(found, options=(*COHERENT.items(), *found.options))


ROWS = {
    row.name: row
    for dataset in DATASETS
    for row in (CoherentRow(dataset, "Transformer", embedding, equal) for embedding, equal in SHOWN)
}
GRIDS = fair_grids("fair-coherent", ROWS)
