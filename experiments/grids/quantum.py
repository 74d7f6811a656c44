# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""States and measurements against their real twin and FastText on four data sets, by the protocol of ``fair``.

``quantum-choice`` trains each setting of a row once and scores it on validation; ``quantum`` trains the best
of them with three other seeds and tests it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiments.grids.fair import COMMON, Row, deal, fair_grids

__all__ = ["DATASETS", "GRIDS", "SHOWN"]

DATASETS = ("trec", "mr", "subj", "sst2")
# Network -> its embeddings.
SHOWN = {"Quantum": ("none", "complex-vanilla", "complex-order"), "FastText": ("none",)}

# Values of the four settings, as ``fair.COMMON`` has them for the networks of the paper.
STATES: dict[str, Sequence[Any]] = {
    "learning_rate": (2e-3, 4e-3, 4e-3, 8e-3),
    "hidden_dropout_prob": (0.0, 0.1, 0.1, 0.3),
    "mixture": ("weight", "weight", "norm", "mean"),
    "pooling": ("sentence", "sentence", "sentence", "max"),
}


@dataclass(frozen=True)
class StateRow(Row):
    """A row with the pool of states for ``Quantum``, and a pool twice as large for other networks."""

    def pool(self) -> list[dict[str, Any]]:
        """Return the settings to choose from."""
        if self.network == "Quantum":
            return deal(self.network, self.embedding, STATES, {})
        # The pool of states was chosen after some runs; FastText may use its learning rates and dropouts, too.
        shared = {name: STATES[name] for name in ("learning_rate", "hidden_dropout_prob")}
        return [*super().pool(), *deal(self.network, self.embedding, {**COMMON, **shared}, {})]


ROWS = {
    row.name: row
    for dataset in DATASETS
    for network, embeddings in SHOWN.items()
    for row in (StateRow(dataset, network, embedding) for embedding in embeddings)
}
GRIDS = fair_grids("quantum", ROWS)
