# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs of the grid ``state-space-text``: equal parameters, every family, the protocol of ``positions``, the table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from benchmarks.reporting import RESULTS, add_line, read_lines
from experiments.equal_parameters import even_size
from experiments.grids import positions as positions_grid
from experiments.grids.state_space import FIELDS, GRIDS, KINDS, LLAMAS, RATES, ROWS
from experiments.tables import state_space as tables

from complex_transformers.analysis import count_parameters, perplexity_by_range
from experiments import positions

CHOICE, FINAL = GRIDS
FACTS = {"processor": "P", "vector_instructions": "V", "threads": 1, "cores": 2, "python": "3", "versions": {}}


def test_an_even_size_is_the_nearest() -> None:
    found = [even_size(lambda size: size**2, wanted) for wanted in (1, 25, 27, 36, 10**9)]
    assert found == [2, 4, 6, 6, 2048]


def test_networks_have_the_parameters_of_the_complex_llama() -> None:
    with torch.device("meta"):
        counts = {row: count_parameters(run.model()) for row, run in ROWS.items() if row.startswith("text8,")}
        llamas = [positions_grid.ROWS[name].model() for row, name in LLAMAS.items() if row.startswith("text8,")]
    assert len(counts) == 2 * len(KINDS)
    wanted, twin = map(count_parameters, llamas)
    assert twin == pytest.approx(wanted, rel=0.01)
    assert all(count == pytest.approx(wanted, rel=0.01) for count in counts.values())


def test_rows_have_every_rate_and_name_their_family() -> None:
    assert set(CHOICE.rows) == {f"{row},{rate}" for row in ROWS for rate in RATES}
    assert not set(FINAL.seeds) & set(CHOICE.seeds)
    found = [json.dumps(positions.settings(run)) for row, run in ROWS.items() if row.startswith("text8,")]
    assert len(set(found)) == len(found)  # the settings of a result tell the networks apart


def test_results_of_positions_keep_their_settings() -> None:
    grids = {grid.name: grid for grid in positions_grid.GRIDS}
    lines = [(grid, line) for grid in grids.values() for line in read_lines(RESULTS / f"{grid.name}.jsonl")]
    assert len(lines) > 50
    for grid, line in lines:
        grid.check(line["row"], line)


@pytest.mark.parametrize("name", ["mamba", "lru"])
def test_a_run_learns_and_is_read_further(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = torch.arange(2000) % 7
    monkeypatch.setattr(positions, "tokens", lambda data: dict.fromkeys(("train", "validation", "test"), stream))
    monkeypatch.setattr(positions, "SIZES", {**positions.SIZES, "hidden_size": 16, "intermediate_size": 16})
    monkeypatch.setitem(positions.PROTOCOL, "tokens_per_step", 128)
    monkeypatch.setitem(positions.PROTOCOL, "scored_windows", 2)
    row = ROWS[f"text8,complex,{name}"]
    small = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        **({"state_size": 4, "head_dim": 8} if name == "mamba" else {}),
    }
    options = tuple({**dict(row.options), **small}.items())
    run = replace(row, options=options, learning_rate=2e-2, steps=60, length=16, window=64)
    result = positions.train_and_test(run, 0)
    assert result["parameters"] == count_parameters(run.model())
    assert list(result["perplexity_by_range"]) == ["as trained"]
    curve = result["perplexity_by_range"]["as trained"]
    assert curve["16"] < 3.0
    assert list(curve)[-1] == "64"


def write(results: Path, row: str, bits: tuple[float, ...], grid: str = "state-space-text") -> None:
    for seed, each in enumerate(bits, start=1):
        curve = perplexity_by_range([2**each] * 256 + [2 ** (each + 1)] * (4096 - 256), positions.STEPS_PER_OCTAVE)
        line = {"row": row, "seed": seed, "parameters": 300_000, "settings": {"learning_rate": 0.002}}
        curves = {"as trained": {str(last): round(value, 4) for last, value in curve.items()}}
        add_line(
            results / f"{grid}.jsonl",
            {**line, "seconds": 61.0 + seed, "machine": FACTS, "perplexity_by_range": curves},
        )


def test_the_table_compares_a_network_with_its_real_twin(tmp_path: Path) -> None:
    assert tables.state_space_table(tmp_path, "text8") == tables.MISSING
    write(tmp_path, "text8,complex,mamba", (2.0, 2.1, 1.9))
    write(tmp_path, "text8,real,mamba", (2.5, 2.6, 2.4))
    write(tmp_path, "text8,complex,lru", (2.2,))
    write(tmp_path, "text8,complex,rotary", (1.8, 1.9), "positions")
    for rate, loss in zip(RATES, (4.0, 1.0, 2.0, 3.0, 5.0), strict=True):
        line = {"row": f"text8,complex,mamba,{rate}", "seed": 0, "validation": {"loss": loss}}
        add_line(tmp_path / "state-space-text-choice.jsonl", line)
    lines = tables.state_space_table(tmp_path, "text8").splitlines()
    beyond = " | ".join(["3.000 ± 0.100"] * 4)
    assert lines.pop(2).startswith("| Llama | complex | 2 | 300,000 | 0.002 | 1.850 ± 0.071 |")
    assert lines[2] == (f"| Mamba-3 | complex | 3 | 300,000 | 0.002 | 2.000 ± 0.100 | {beyond} | better | 62 s |")
    assert lines[3].endswith("|  | 62 s |")
    assert lines[4].startswith("| linear recurrence (LRU) | complex | 1 | 300,000 | 0.002 | 2.200 |")
    assert lines[-1].endswith("0 of 1 networks chose the smallest or the largest learning rate.")


def test_tables_know_every_row() -> None:
    for row in (*LLAMAS, *ROWS):
        data, field, network = row.split(",")
        assert (data in tables.DIGITS, field in FIELDS, network in tables.LABELS) == (True, True, True)
