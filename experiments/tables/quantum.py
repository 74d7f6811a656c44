# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of ``docs/models/complex_quantum.md``: states and measurements against their real twin and FastText."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.grids.paper import TABLE2
from experiments.grids.quantum import SHOWN
from experiments.paper.protocol import EMBEDDINGS
from experiments.tables.paper import accuracy_table, whole_rows
from experiments.tables.runs import MISSING

__all__ = ["TABLES"]

# The semantic Hilbert space network with vectors of 300 dimensions (Wang et al., WWW 2019).
PRINTED = {"complex-vanilla": {"mr": 0.801, "subj": 0.927, "sst2": 0.839, "trec": 0.882}}


def quantum_table(results: Path) -> str:
    """Tabulate test accuracies by network and embedding, with the setting chosen for each data set."""
    whole = whole_rows(results / "quantum.jsonl")
    if not whole:
        return MISSING
    tables = []
    for network, embeddings in SHOWN.items():
        labels = {embedding: EMBEDDINGS[embedding][1] for embedding in embeddings}
        tables.append(accuracy_table(whole, [network], labels, {"Quantum": PRINTED} | TABLE2))
    first, *others = tables
    return "\n".join([first, *(line for table in others for line in table.splitlines()[2:])])


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/models/complex_quantum.md": {"quantum": quantum_table},
}
