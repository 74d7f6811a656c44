# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables and picture of positions in language models: ranges, claims, rows that exist."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from benchmarks.reporting import add_line
from experiments.grids.positions import RATES, ROWS
from experiments.positions import STEPS_PER_OCTAVE
from experiments.tables import positions as tables
from PIL import Image

from complex_transformers.analysis import perplexity_by_range

FACTS = {"processor": "P", "vector_instructions": "V", "threads": 1, "cores": 2, "python": "3", "versions": {}}
EVERY_TABLE = [table for page in tables.TABLES.values() for table in page.values()]


def curve_with(bits: float, after: float, window: int, trained: int) -> dict[str, float]:
    """Return a curve with a constant loss up to the trained length, and another one beyond it."""
    curve = perplexity_by_range([2**bits] * trained + [2**after] * (window - trained), STEPS_PER_OCTAVE)
    return {str(last): round(value, 4) for last, value in curve.items()}


def write(results: Path, grid: str, row: str, values: tuple[float, ...], after: float, **scaled: float) -> None:
    trained, window = (512, 8192) if grid == "positions-512" else (256, 4096)
    for seed, bits in enumerate(values, start=1):
        curves = {name: curve_with(bits, bits + more, window, trained) for name, more in scaled.items()}
        curves = {"as trained": curve_with(bits, bits + after, window, trained), **curves}
        line = {
            "row": row,
            "seed": seed,
            "parameters": 300_000,
            "settings": {"learning_rate": 0.002},
            "machine": FACTS,
        }
        add_line(results / f"{grid}.jsonl", {**line, "perplexity_by_range": curves})


def test_mean_loss_of_a_range_is_the_mean_of_its_positions() -> None:
    losses = [1.0 + math.sin(position) for position in range(512)]
    curve = {str(last): value for last, value in perplexity_by_range(list(map(math.exp, losses)), 4).items()}
    for last in (2, 64, 256, 512):
        expected = sum(losses[last // 2 : last]) / (last - last // 2)
        assert tables.mean_loss(curve, last) == pytest.approx(expected, abs=1e-9)


def test_tables_show_the_rows_that_exist(tmp_path: Path) -> None:
    assert {table(tmp_path) for table in EVERY_TABLE} == {tables.MISSING}
    write(tmp_path, "positions", "text8,complex,rotary", (2.0, 2.1, 1.9), 2.0, linear=0.5, yarn=0.25)
    write(tmp_path, "positions", "text8,real,polar", (2.0,), 1.0)
    write(tmp_path, "positions", "wikitext-2,complex,polar", (6.0, 6.0), 0.0)
    for rate, loss in zip(RATES, (5.0, 4.0, 3.0, 2.0, 1.0), strict=True):
        line = {"row": f"text8,complex,rotary,{rate:g}", "seed": 0, "validation": {"loss": loss}}
        add_line(tmp_path / "positions-choice.jsonl", line)
    lines = tables.position_table(tmp_path, "text8").splitlines()
    assert lines[0].endswith("| learning rate | 129 to 256 (trained) | to 512 | to 1,024 | to 2,048 | to 4,096 |")
    beyond = " | ".join(["4.000 ± 0.100"] * 4)
    assert lines[2] == f"| rotary (RoPE) | complex | 3 | 300,000 | 0.002 | 2.000 ± 0.100 | {beyond} |"
    assert lines[3].startswith(
        "| rotary (RoPE), linear at inference | complex | 3 | 300,000 | 0.002 | 2.000 ± 0.100 | 2.5"
    )
    assert lines[5].startswith("| polar (PoPE) | real, equal width | 1 |")
    assert lines[-1].endswith("1 of 1 networks chose the smallest or the largest learning rate.")
    [words] = tables.position_table(tmp_path, "wikitext-2").splitlines()[2:-2]
    assert words.endswith("| 64.0 ± 0.0 |")
    short = tables.short_table(tmp_path).splitlines()
    assert short[2] == "| rotary (RoPE) | complex | 2.000 ± 0.100 | 4.000 ± 0.100 | 4.000 ± 0.100 |  |  |  |"
    assert short[6] == "| polar (PoPE) | complex |  |  |  | 64.0 ± 0.0 | 64.0 ± 0.0 | 64.0 ± 0.0 |"
    assert short[-1] == "Mean ± standard deviation over 1 or 2 or 3 seeds."


def test_claims_are_judged_against_the_standard_deviation(tmp_path: Path) -> None:
    write(tmp_path, "positions", "text8,real,rotary", (2.0, 2.1, 1.9), 2.0, yarn=0.5)
    write(tmp_path, "positions", "text8,real,polar", (1.95, 2.05, 1.85), 0.45)
    lines = tables.claims_table(tmp_path).splitlines()[2:]
    assert lines[0].endswith("than RoPE | **not reproduced**: better in 0 of 1, on par in 1 | not measured yet |")
    assert "extrapolates better than RoPE | **reproduced**: better in 4 of 4, on par in 0 |" in lines[1]
    assert "with YaRN | **not reproduced**: better in 0 of 4, on par in 4 |" in lines[2]
    write(tmp_path, "positions", "text8,complex,rotary", (2.0,), 2.0, yarn=0.5)
    write(tmp_path, "positions", "text8,complex,polar", (1.0,), 0.1)
    assert "| **cannot be told from one seed**: better in 1 of 1" in tables.claims_table(tmp_path)
    write(tmp_path, "positions", "wikitext-2,real,rotary", (6.0, 6.0), 1.0, yarn=1.0)
    write(tmp_path, "positions", "wikitext-2,real,polar", (5.0, 5.0), 1.0)
    assert "**in part**: better in 1 of 2, on par in 1" in tables.claims_table(tmp_path).splitlines()[2]


def test_the_picture_has_a_curve_for_each_kind_of_positions(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        tables.main(["--results", str(tmp_path)])
    write(tmp_path, "positions-512", "text8,complex,rotary", (2.0, 2.2), 2.0, linear=0.5, yarn=0.5)
    write(tmp_path, "positions-512", "text8,complex,polar", (2.0,), 0.5)
    lines = tables.long_table(tmp_path).splitlines()
    assert lines[0].endswith("(../images/positions-512.png)")
    assert lines[4].startswith("| rotary (RoPE) | 2.100 ± 0.141 | 4.100 ± 0.141 |")
    figure = tables.plot_ranges(tables.find_runs(tmp_path / "positions-512.jsonl", tables.LONG_ROWS), 512)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == [
        "rotary (RoPE)",
        "rotary (RoPE), linear",
        "rotary (RoPE), YaRN",
        "polar (PoPE)",
        "trained length",
    ]
    curve = figure.axes[0].lines[0]
    assert curve.get_xdata()[-1] == 8192
    assert curve.get_ydata()[-1] == pytest.approx(2**4.1, rel=1e-4)
    tables.main(["--results", str(tmp_path), "--output_file", str(tmp_path / "picture.png")])
    assert Image.open(tmp_path / "picture.png").width == 640


def test_tables_know_every_row_of_the_grid() -> None:
    for row in ROWS:
        data, network, positions = row.split(",")
        assert data in tables.DATA
        assert network in tables.NETWORKS
        assert positions in tables.POSITIONS
