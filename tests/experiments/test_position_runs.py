# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs of the grid ``positions``: equal parameters, one protocol, and windows read as a whole."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from experiments.grids.positions import GRIDS, RATES_OF, ROWS

from complex_transformers.analysis import count_parameters
from experiments import positions

CHOICE, FINAL, LONG = GRIDS


def parameters(row: str) -> int:
    with torch.device("meta"):
        return count_parameters(ROWS[row].model())


def test_rows_have_every_rate_and_equal_parameters_where_claimed() -> None:
    assert set(CHOICE.rows) == {f"{row},{rate}" for row in ROWS for rate in RATES_OF[row]}
    assert not set(FINAL.seeds) & set(CHOICE.seeds)
    for data in positions.DATA:
        for name in ("rotary", "polar"):
            wanted = parameters(f"{data},complex,{name}")
            assert parameters(f"{data},real-equal-parameters,{name}") == pytest.approx(wanted, rel=0.01)
            assert parameters(f"{data},real,{name}") > 1.2 * wanted


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that repeats itself, a tiny network and few tokens per step."""
    stream = torch.arange(2000) % 7
    monkeypatch.setattr(positions, "tokens", lambda data: dict.fromkeys(("train", "validation", "test"), stream))
    monkeypatch.setattr(positions, "SIZES", {**positions.SIZES, "hidden_size": 16, "intermediate_size": 16})
    monkeypatch.setitem(positions.PROTOCOL, "tokens_per_step", 128)
    monkeypatch.setitem(positions.PROTOCOL, "scored_windows", 2)


@pytest.mark.parametrize("name", ["rotary", "polar"])
def test_a_run_learns_and_is_read_further(small: None, name: str) -> None:
    run = replace(ROWS[f"text8,complex,{name}"], learning_rate=2e-2, steps=60, length=16, window=64)
    first, again = positions.train_and_validate(run, 0), positions.train_and_validate(run, 0)
    assert first["validation"] == again["validation"]
    assert first["validation"]["loss"] < 0.5 * math.log(7)
    curves = positions.train_and_test(run, 0)["perplexity_by_range"]
    assert list(curves) == (["as trained", "linear", "yarn"] if name == "rotary" else ["as trained"])
    for curve in curves.values():
        assert list(curve)[-1] == "64"
        assert all(value >= 1.0 for value in curve.values())
    assert curves["as trained"]["16"] < 3.0


def test_long_rows_read_sixteen_times_the_trained_length() -> None:
    assert {(run.length, run.window) for run in LONG.rows.values()} == {(512, 8192)}
