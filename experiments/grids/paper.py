# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows of the tables of the ComplexOrder paper (ICLR 2020) and its slides, with their printed values."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import datasets
import torch
import transformers

from experiments.grid import Functions
from experiments.paper.data import DATASETS, FOLDS
from experiments.paper.figures import word_frequencies
from experiments.paper.periods import period_run
from experiments.paper.protocol import EMBEDDINGS, PAPER_NETWORKS, Cell, run_cell, settings, validate_cell

__all__ = ["GCN_TABLE", "GRIDS", "TABLE2", "TABLE4", "TABLE5", "TABLE6", "WIDTHS", "Published", "Scheme"]

# Columns of the paper that have a data set here.
COLUMNS = ("mr", "subj", "sst2", "trec")


def _rows(*rows: tuple[float, float, float, float]) -> dict[str, dict[str, float]]:
    return {embedding: dict(zip(COLUMNS, row, strict=True)) for embedding, row in zip(EMBEDDINGS, rows, strict=True)}


# ComplexOrder Table 2, test accuracy; in the order of EMBEDDINGS.
TABLE2: dict[str, dict[str, dict[str, float]]] = {
    "FastText": _rows(
        (0.765, 0.916, 0.788, 0.874),
        (0.774, 0.922, 0.791, 0.874),
        (0.776, 0.921, 0.792, 0.880),
        (0.773, 0.918, 0.803, 0.872),
        (0.787, 0.929, 0.809, 0.892),
    ),
    "LSTM": _rows(
        (0.775, 0.896, 0.807, 0.858),
        (0.778, 0.915, 0.811, 0.858),
        (0.776, 0.912, 0.813, 0.865),
        (0.765, 0.907, 0.784, 0.784),
        (0.790, 0.926, 0.819, 0.869),
    ),
    "CNN": _rows(
        (0.809, 0.928, 0.856, 0.898),
        (0.816, 0.938, 0.856, 0.890),
        (0.815, 0.938, 0.838, 0.918),
        (0.811, 0.937, 0.823, 0.900),
        (0.825, 0.951, 0.864, 0.939),
    ),
    "Transformer": _rows(
        (0.669, 0.847, 0.736, 0.802),
        (0.737, 0.859, 0.753, 0.820),
        (0.731, 0.863, 0.761, 0.834),
        (0.715, 0.848, 0.742, 0.856),
        (0.746, 0.895, 0.813, 0.896),
    ),
}
# Slides, "PE in GCN".
GCN_TABLE: dict[str, dict[str, float]] = _rows(
    (0.786, 0.934, 0.826, 0.906),
    (0.781, 0.931, 0.822, 0.884),
    (0.548, 0.928, 0.818, 0.886),
    (0.762, 0.918, 0.805, 0.886),
    (0.781, 0.931, 0.816, 0.900),
)


@dataclass(frozen=True)
class Scheme:
    """A row of ComplexOrder Table 4: the sharing scheme, and the paper's accuracy on SST."""

    name: str
    embedding: str
    options: tuple[tuple[str, object], ...]
    accuracy: float

    @property
    def share_parts(self) -> bool:
        """Re(W) = Im(W) in q, k, v."""
        return ("share_parts", True) in self.options


_SHARED = (("share_parts", True),)
_SHARINGS = (
    ("period shared by dimensions", (("frequency_sharing", "dimension"),), 0.797, 0.794),
    ("period shared by words", (("frequency_sharing", "word"),), 0.805, 0.797),
    ("amplitude shared by dimensions", (("amplitude_sharing", "dimension"),), 0.798, 0.792),
    ("amplitude shared by words", (("amplitude_sharing", "word"),), 0.804, 0.801),
)
TABLE4: tuple[Scheme, ...] = (
    Scheme("complex-order", "complex-order", (), 0.813),
    Scheme("initial phases", "complex-order", (("phase", "learned"),), 0.785),
    *(Scheme(name, "complex-order", options, value) for name, options, value, _ in _SHARINGS),
    Scheme("no position (complex-vanilla)", "complex-vanilla", (), 0.764),
    *(Scheme(name, "complex-order", options + _SHARED, value) for name, options, _, value in _SHARINGS),
    Scheme("no position (complex-vanilla)", "complex-vanilla", _SHARED, 0.743),
    Scheme("vanilla Transformer (TPE)", "TPE", (), 0.761),
)


@dataclass(frozen=True)
class Published:
    """A table of published figures: its rows are name, printed value (* from other papers), grid and row here."""

    unit: str
    grid: str
    place: str
    rows: tuple[tuple[str, str, str, str], ...]
    digits: int = 1
    lower_is_better: bool = False


TABLE5 = Published(
    "BLEU",
    "multi30k-en-de",
    "test/bleu",
    (
        ("attentional encoder-decoder", "26.8 *", "synconmt", "bahdanau"),
        ("the same with linguistic features", "28.4 *", "synconmt", "bahdanau-relations"),
        ("the same with BPE", "34.2 *", "", ""),
        ("Transformer, equal stored width", "34.5 *", "multi30k-en-de", "sinusoidal_position-real"),
        ("Transformer, equal parameters", "", "multi30k-en-de", "sinusoidal_position-equal-parameters"),
        ("Transformer, complex-vanilla", "34.7", "multi30k-en-de", "complex_vanilla"),
        ("Transformer, complex-order", "35.8", "multi30k-en-de", "complex_order"),
    ),
)
TABLE6 = Published(
    "bits per character",
    "long-text8",
    "test/bits_per_token",
    (
        ("BN-LSTM", "1.36 *", "", ""),
        ("LN HM-LSTM", "1.29 *", "", ""),
        ("RHN, large mLSTM", "1.27 *", "", ""),
        ("Transformer-XL, equal stored width", "1.29", "long-text8", "real"),
        ("Transformer-XL, equal parameters", "", "long-text8", "real-equal-parameters"),
        ("complex-vanilla", "1.30", "long-text8", "complex_vanilla"),
        ("Transformer-XL, complex-order", "1.26", "long-text8", "complex_order"),
    ),
    digits=3,
    lower_is_better=True,
)

# Between a real row and a complex-order row, which has half as many elements for the meaning of a word.
WIDTHS: dict[str, tuple[str, tuple[tuple[str, Any], ...]]] = {
    "real, width 50": ("none", (("hidden_size", 50),)),
    "free complex table": ("complex-order", (("embedding_type", "word"),)),
}

# Average periods: initial frequencies of App. A and of App. C, and a learning rate that moves them.
_PERIODS = Cell("sst2", "Transformer", "complex-order", 0)
PERIODS = (
    replace(_PERIODS, dataset="trec"),
    _PERIODS,
    replace(_PERIODS, training=(("frequency_learning_rate", 0.03),)),
    replace(_PERIODS, options=(("frequency_init", "normal"),)),
)

# TPE with trained frequencies (section 3.1); with fixed ones it is a row of Table 2.
TRAINED_TPE = tuple(
    Cell(dataset, network, "TPE", 0, options=(("trained_positions", True),))
    for dataset in ("trec", "subj")
    for network in TABLE2
)

# Of complex LSTMs, chosen on TREC's validation split like the other options of this table.
GATE = (("gate", "modulus"),)


def _rows_of(cells: Iterable[Cell]) -> dict[str, Cell]:
    return {cell.row: cell for cell in cells}


def table2_rows(folds: Iterable[int], datasets: Iterable[str]) -> dict[str, Cell]:
    """Return every network with every embedding."""
    cells = _rows_of(
        Cell(dataset, network, embedding, 0, fold)
        for fold in folds
        for dataset in datasets
        for network in PAPER_NETWORKS
        for embedding in EMBEDDINGS
    )
    gated = {row: cell for row, cell in cells.items() if cell.network == "LSTM" and cell.number_field == "complex"}
    return {**cells, **{row: replace(cell, options=GATE) for row, cell in gated.items()}}


def quietly(function: Callable[[Cell], dict[str, Any]]) -> Callable[[Cell, int], dict[str, Any]]:
    """Wrap ``function`` to run on one thread without the output of Trainer."""

    def run(cell: Cell, seed: int) -> dict[str, Any]:
        torch.set_num_threads(1)
        datasets.disable_progress_bars()
        before = transformers.logging.get_verbosity()
        transformers.logging.set_verbosity_error()
        try:
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
                return function(replace(cell, seed=seed))
        finally:
            transformers.logging.set_verbosity(before)

    return run


GRIDS = (
    Functions("paper-table2", table2_rows([0], DATASETS), (0, 1, 2), quietly(run_cell), settings),
    # the other nine folds of data sets without a test split
    Functions("paper-table2-folds", table2_rows(range(1, FOLDS), ["subj", "mr"]), (0,), quietly(run_cell), settings),
    Functions(
        "paper-table4",
        _rows_of(Cell(d, "Transformer", s.embedding, 0, options=s.options) for d in DATASETS for s in TABLE4),
        (0, 1, 2),
        quietly(run_cell),
        settings,
    ),
    Functions(
        "paper-widths",
        _rows_of(Cell("mr", "FastText", name, 0, options=options) for name, options in WIDTHS.values()),
        (0, 1, 2),
        quietly(validate_cell),
        settings,
    ),
    Functions(
        "paper-table7",
        {name: Cell(name, "Transformer", "complex-order", 0) for name in DATASETS},
        function=quietly(word_frequencies),
    ),
    Functions("paper-trained-tpe", _rows_of(TRAINED_TPE), (0, 1, 2), quietly(run_cell), settings),
    Functions("paper-periods", _rows_of(PERIODS), (0, 1, 2), quietly(period_run), settings),
)
