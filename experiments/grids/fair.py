# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Table 2 with the same tuning budget for every row, and real rows with equal parameters.

Every row has a pool of settings of the same size. ``fair-choice`` trains each of them once and scores it on
validation; ``fair`` trains the best of them with other seeds and tests it once.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.reporting import read_lines

from experiments.grid import Functions, Grid, Place
from experiments.grids.paper import quietly
from experiments.paper.protocol import EMBEDDINGS, PAPER_NETWORKS, Cell, run_cell, settings, validate_cell

__all__ = ["DATASETS", "EQUAL", "FINAL_SEEDS", "GRIDS", "POOL", "Row", "deal", "fair_grids", "pool"]

DATASETS = ("trec", "mr", "sst2")
POOL = 4  # settings per row
SEED = 0  # of the draw and of the tuning runs
FINAL_SEEDS = (1, 2, 3)

# Values of each setting. They are dealt out in an order drawn by SEED, so that
# every value is tried. The order is the same for all embeddings of a network.
COMMON: dict[str, Sequence[Any]] = {
    "learning_rate": (5e-4, 1e-3, 2e-3, 4e-3),
    "initializer_range": (0.02, 0.1, 0.3, 1.0),
    "hidden_dropout_prob": (0.1, 0.3, 0.3, 0.5),
}
# For complex-order only: initial frequencies, and their learning rate relative to the others.
WAVES: dict[str, Sequence[Any]] = {
    "frequency_scale": (1.0, 1.0, 0.01, 0.01),
    "frequency_learning_rate": (0.1, 1.0, 1.0, 10.0),
}
# For complex Transformers only.
ATTENTION: dict[str, Sequence[Any]] = {
    "attention_score": ("modulus", "modulus", "real", "real"),
    "readout": ("modulus", "scaled_modulus", "concat", "concat"),
}
TRAINING = ("learning_rate", "frequency_learning_rate")
# Not tuned: the default `projected` is on par with it here (decision 0004).
FIXED: dict[str, dict[str, Any]] = {"LSTM": {"gate": "real_part"}}

# Sizes at which a real network has as many parameters as the complex one, within 2 %, not counting positions that no
# text reaches. FastText and GCN are within 3 and 5.4 % at equal stored width, since most parameters are embeddings.
EQUAL: dict[str, dict[str, int]] = {
    "LSTM": {"recurrent_size": 80},
    "CNN": {"num_filters": 72, "intermediate_size": 72},
    "Transformer": {"hidden_size": 120, "intermediate_size": 240},
}
EQUAL_ON_TREC = {**EQUAL, "Transformer": {"hidden_size": 116, "intermediate_size": 232}}  # smaller vocabulary


def _dealt(values: Mapping[str, Sequence[Any]], *seed: object) -> list[dict[str, Any]]:
    generator = random.Random(" ".join(map(str, seed)))
    columns = {name: generator.sample(list(column), POOL) for name, column in values.items()}
    return [{name: column[index] for name, column in columns.items()} for index in range(POOL)]


def pool(network: str, embedding: str) -> list[dict[str, Any]]:
    """Return the settings of a row, the same for every data set."""
    is_complex = EMBEDDINGS[embedding][1] == "complex"
    return deal(network, embedding, COMMON, ATTENTION if network == "Transformer" and is_complex else {})


def deal(
    network: str, embedding: str, common: Mapping[str, Sequence[Any]], more: Mapping[str, Sequence[Any]]
) -> list[dict[str, Any]]:
    """Return the settings drawn from the shared values, ``more``, and the frequencies of complex-order."""
    own = {**(WAVES if embedding == "complex-order" else {}), **more}
    drawn = zip(_dealt(common, SEED, network), _dealt(own, SEED, network, embedding), strict=True)
    found = [{**common, **more} for common, more in drawn]
    for setting in found:
        if "frequency_learning_rate" in setting:
            setting["frequency_learning_rate"] *= setting["learning_rate"]
    return found


@dataclass(frozen=True)
class Row:
    """A network and an embedding on a data set, before its setting is chosen."""

    dataset: str
    network: str
    embedding: str
    equal: bool = False

    @property
    def name(self) -> str:
        """The row's name in the result files."""
        return f"{self.dataset},{self.network},{self.embedding}{',equal' if self.equal else ''}"

    def pool(self) -> list[dict[str, Any]]:
        """Return the settings to choose from."""
        return pool(self.network, self.embedding)

    def cell(self, setting: dict[str, Any]) -> Cell:
        """Return the cell with a setting of its pool."""
        equal = EQUAL_ON_TREC if self.dataset == "trec" else EQUAL
        options = {name: value for name, value in setting.items() if name not in TRAINING}
        training = {name: value for name, value in setting.items() if name in TRAINING}
        sizes = equal[self.network] if self.equal else {}
        fixed = FIXED.get(self.network, {}) if EMBEDDINGS[self.embedding][1] == "complex" else {}
        given = {"options": tuple({**fixed, **sizes, **options}.items()), "training": tuple(training.items())}
        return Cell(self.dataset, self.network, self.embedding, SEED, **given)


ROWS = {
    row.name: row
    for dataset in DATASETS
    for equal in (False, True)
    for network in (EQUAL if equal else PAPER_NETWORKS)
    for embedding, (_, field) in EMBEDDINGS.items()
    if field == "real" or not equal
    for row in [Row(dataset, network, embedding, equal)]
}


@dataclass(frozen=True)
class Chosen(Functions):
    """Rows trained with the setting that was best on validation in another grid; the first one wins a tie."""

    choice: str = ""

    def cell(self, row: str, index: int) -> Cell:
        """Return the training cell of a row with setting ``index`` of its pool."""
        return self.rows[row].cell(self.rows[row].pool()[index])

    def check(self, row: str, found: Mapping[str, Any]) -> None:
        cell = replace(self.cell(row, found["choice"]), seed=found["seed"])
        if (found["cell"], found["settings"]) != tuple(json.loads(json.dumps((asdict(cell), settings(cell))))):
            raise ValueError(f"{row} was measured with a setting of another pool. Remove its lines.")

    def run(self, row: str, seed: int, place: Place) -> dict[str, Any] | None:
        if place.dry_run:
            return None
        index = self.best(row, place)
        cell = self.cell(row, index)
        return {"settings": settings(cell), "choice": index, **self.function(cell, seed)}

    def best(self, row: str, place: Place) -> int:
        """Return the index of the setting that is best on validation.

        Raises:
            ValueError: some settings were not run.
        """
        path = place.results / f"{self.choice}.jsonl"
        lines = {line["row"]: line["validation_accuracy"] for line in read_lines(path)}
        scores = [lines.get(f"{row},{index}") for index in range(len(self.rows[row].pool()))]
        if None in scores:
            raise ValueError(f'{row} has no setting yet. Run python -m experiments.run {self.choice} "{row},?".')
        return scores.index(max(scores))


def setting_of(cell: Cell) -> dict[str, Any]:
    """Return the settings of a tuning run, with its options."""
    return {**settings(cell), "options": dict(cell.options)}


def fair_grids(name: str, rows: Mapping[str, Row]) -> tuple[Grid, Grid]:
    """Return ``name-choice``, every setting of every row on validation, and ``name``, the best of them."""
    choices = {
        f"{row.name},{index}": row.cell(value) for row in rows.values() for index, value in enumerate(row.pool())
    }
    return (
        Functions(f"{name}-choice", choices, (SEED,), quietly(validate_cell), setting_of),
        Chosen(name, rows, FINAL_SEEDS, quietly(run_cell), choice=f"{name}-choice"),
    )


GRIDS = fair_grids("fair", ROWS)
