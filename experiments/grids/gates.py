# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Choice of the default gate: every gate of LSTM and GRU, compared on validation (decision 0004)."""

from __future__ import annotations

from complex_transformers.nn import GATES
from experiments.grid import Functions
from experiments.grids.paper import quietly
from experiments.paper.protocol import Cell, settings, validate_cell

__all__ = ["GRIDS"]

DATASETS = ("trec", "mr")
KINDS = ("lstm", "gru")


def rows() -> dict[str, Cell]:
    """Return the cells of every gate, and of the real network without positions (protocol of ComplexOrder Table 2)."""
    cells = [
        Cell(dataset, "LSTM", embedding, 0, options=(("rnn_type", kind), *gate))
        for dataset in DATASETS
        for kind in KINDS
        for embedding, gates in {"complex-order": GATES, "none": (None,)}.items()
        for gate in ((() if name is None else (("gate", name),)) for name in gates)
    ]
    return {cell.row: cell for cell in cells}


GRIDS = (Functions("gates", rows(), (0, 1, 2), quietly(validate_cell), settings),)
