# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers with phase-coherent attention: sentence classifiers by the protocol of ``fair``, and translation.

``fair-coherent-choice`` trains each setting of a row once and scores it on validation; ``fair-coherent`` trains the
best of them with three other seeds and tests it once. Rows with softmax are in ``fair``. ``multi30k-coherent`` has
both attentions and a learning rate chosen in ``multi30k-coherent-choice``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from experiments.grid import Commands
from experiments.grids.fair import COMMON, DATASETS, EMBEDDINGS, FINAL_SEEDS, Row, deal, fair_grids
from experiments.grids.rates import ChosenRateCommands
from experiments.grids.text import TRANSLATORS, pairs
from experiments.paper.protocol import Cell

__all__ = ["GRIDS", "RATES", "ROWS", "TRANSLATED"]

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

# Translation in a size whose runs take minutes. Real networks of the same stored width have 4 % more parameters.
TRANSLATED = {
    f"{row}{attention}": TRANSLATORS[f"{row}{attention}"]
    for row in ("complex_order", "sinusoidal_position-real")
    for attention in ("", "-coherent")
}
RATES = (1e-3, 2e-3, 4e-3, 8e-3)
SMALL = (
    "--overlap drop --lowercase true --vocab_size 4000 --hidden_size 128 --intermediate_size 256 --encoder_layers 2 "
    "--decoder_layers 2 --num_attention_heads 4 --hidden_dropout_prob 0.1 --attention_probs_dropout_prob 0.0 "
    "--label_smoothing 0.1 --per_device_train_batch_size 32 --lr_scheduler_type linear --metric_for_best_model loss"
)
SCRIPT = "examples/translation/run_translation.py"
CHOICE = Commands(
    "multi30k-coherent-choice",
    {f"{row},{rate}": f"{options} --learning_rate {rate}" for row, options in TRANSLATED.items() for rate in RATES},
    (0,),
    SCRIPT,
    f"{pairs('en', 'de', test=False)} {SMALL} --num_train_epochs 1",
)
FINAL = ChosenRateCommands(
    "multi30k-coherent",
    TRANSLATED,
    FINAL_SEEDS,
    SCRIPT,
    f"{pairs('en', 'de')} {SMALL} --num_train_epochs 2",
    choice=CHOICE.name,
    rates=RATES,
)
GRIDS = (*fair_grids("fair-coherent", ROWS), CHOICE, FINAL)
