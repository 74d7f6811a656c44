# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Causal decoders: every row uses the learning rate that is best on validation; parameters are equal where claimed."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from experiments.grid import Place
from experiments.grids.causal import GRIDS, NETWORKS, RATES, ROWS

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForCausalLM
from complex_transformers.analysis import count_parameters

CHOICE, FINAL = GRIDS


def test_the_best_rate_on_validation_is_taken(tmp_path: Path) -> None:
    losses = dict(zip(RATES, (1.5, 1.2, 1.2), strict=True))
    for rate, loss in list(losses.items())[:2]:
        line = {"row": f"text8,rotary,{rate}", "seed": 0, "validation": {"loss": loss}}
        with (tmp_path / "causal-choice.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
    with pytest.raises(ValueError, match="text8,rotary has no learning rate yet"):
        FINAL.command("text8,rotary", 1, Place(tmp_path))
    with (tmp_path / "causal-choice.jsonl").open("a") as file:
        file.write(json.dumps({"row": f"text8,rotary,{RATES[2]}", "seed": 0, "validation": {"loss": 1.2}}) + "\n")
    assert FINAL.command("text8,rotary", 1, Place(tmp_path))[-2:] == ["--learning_rate", RATES[1]]


def test_every_row_has_every_rate() -> None:
    assert set(CHOICE.rows) == {f"{row},{rate}" for row in ROWS for rate in RATES}
    assert not set(FINAL.seeds) & set(CHOICE.seeds)


@pytest.mark.parametrize(("data", "words"), [("text8", 28), ("wikitext-2", 4000)])
def test_rows_of_equal_parameters_have_them(data: str, words: int) -> None:
    counts = {}
    for name in (*NETWORKS, "real-equal-parameters"):
        options = FINAL.command(f"{data},{name}", 1, Place(dry_run=True))
        given = dict(pairwise(options))  # later options override earlier ones
        sizes = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
        values = {size: int(given[f"--{size}"]) for size in sizes}
        field, positions = given.get("--number_field", "complex"), given.get("--position_type", "rotary")
        config = ComplexLlamaConfig(vocab_size=words, number_field=field, position_type=positions, **values)
        with torch.device("meta"):
            counts[name] = count_parameters(ComplexLlamaForCausalLM(config))
    assert counts["real-equal-parameters"] == pytest.approx(counts["rotary"], rel=0.01)
    assert counts["real"] > 1.2 * counts["rotary"]
