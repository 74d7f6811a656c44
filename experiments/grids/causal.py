# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex and real Llamas trained from scratch, at equal width (and cost) and at equal parameters.

    python -m experiments.run causal-choice      # every row with every learning rate, on validation
    python -m experiments.run causal             # the best of them with three other seeds

The table goes to ``docs/choose.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.reporting import read_lines

from experiments.grid import Commands, Place

__all__ = ["GRIDS", "RATES", "ROWS", "ChosenCommands"]

RATES = ("1e-3", "2e-3", "4e-3")
FINAL_SEEDS = (1, 2, 3)
# data -> files of its splits, tokens, and the sizes of the real network with equal parameters
DATA = {
    "text8": (("train-5.8m", "dev-0.5m", "test-0.5m"), "--tokenizer character", (88, 266)),
    "wikitext-2": (("train", "valid", "test"), "--tokenizer bpe --vocab_size 4000", (112, 276)),
}
NETWORKS = {
    "rotary": "--position_type rotary",
    "rotary_word": "--position_type rotary_word",
    "complex_order": "--position_type complex_order",
    "complex_order-slow": "--position_type complex_order --frequency_scale 0.01",
    "real": "--position_type rotary --number_field real",
}


def _options(data: str) -> dict[str, str]:
    files, tokens, (width, between) = DATA[data]
    parts = zip(("train", "validation", "test"), files, strict=True)
    common = " ".join([tokens, *(f"--{part}_file $DATA/lm/{data}/{file}.txt.gz" for part, file in parts)])
    equal = f"{NETWORKS['real']} --hidden_size {width} --intermediate_size {between}"
    networks = {**NETWORKS, "real-equal-parameters": equal}
    return {f"{data},{name}": f"{common} {options}" for name, options in networks.items()}


ROWS = {row: options for data in DATA for row, options in _options(data).items()}
TRAINING: Mapping[str, Any] = {
    "script": "examples/language-modeling/run_clm.py",
    # Options of a row come later and override these.
    "common": (
        "--hidden_size 128 --intermediate_size 352 --num_hidden_layers 3 --num_attention_heads 4 --block_size 256 "
        "--per_device_train_batch_size 8 --per_device_eval_batch_size 16 --max_steps 1500 --warmup_steps 100 "
        "--lr_scheduler_type cosine --weight_decay 0.1 --eval_steps 1500 --save_steps 1500 --save_total_limit 1 "
        "--bf16 true --use_cpu $CPU"
    ),
}


@dataclass(frozen=True)
class ChosenCommands(Commands):
    """Commands with the learning rate that was best on validation in another grid; ties go to the first."""

    choice: str = ""

    def command(self, row: str, seed: int, place: Place) -> list[str]:
        return [*super().command(row, seed, place), "--learning_rate", self.best(row, place)]

    def best(self, row: str, place: Place) -> str:
        """Return the learning rate of a row; with ``dry_run``, the first one if none is chosen yet.

        Raises:
            ValueError: some learning rates were not run.
        """
        path = place.results / f"{self.choice}.jsonl"
        losses = {line["row"]: line["validation"]["loss"] for line in read_lines(path)}
        tried = {rate: losses.get(f"{row},{rate}") for rate in RATES}
        known = {rate: loss for rate, loss in tried.items() if loss is not None}
        if len(known) < len(RATES):
            if place.dry_run:
                return RATES[0]
            raise ValueError(f'{row} has no learning rate yet. Run python -m experiments.run {self.choice} "{row},*".')
        return min(known, key=lambda rate: known[rate])


CHOICES = {f"{row},{rate}": f"{options} --learning_rate {rate}" for row, options in ROWS.items() for rate in RATES}
GRIDS = (
    Commands("causal-choice", CHOICES, (0,), **TRAINING),
    ChosenCommands("causal", ROWS, FINAL_SEEDS, **TRAINING, choice="causal-choice"),
)
