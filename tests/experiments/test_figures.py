# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures of the sources: they show the results, and their pages show them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from benchmarks.reporting import ROOT, add_line
from experiments.thesis.data import Part, Task

from complex_transformers.analysis.plotting import new_figure
from experiments import figures


@pytest.mark.parametrize("name", figures.FIGURES)
def test_every_figure_is_small_and_shown_with_its_command(name: str) -> None:
    drawing = figures.FIGURES[name]
    text = (ROOT / drawing.page).read_text(encoding="utf-8")
    assert f"images/{drawing.file})" in text
    assert f"python -m experiments.figures {name}" in text
    assert (figures.IMAGES / drawing.file).stat().st_size < 100_000


def test_parts_of_a_run_have_one_color(tmp_path: Path) -> None:
    for seed in range(5):
        curves = {"real": [0.1, 0.2 + seed], "imag": [0.3, 0.4 + seed]}
        add_line(tmp_path / "thesis-dynamics.jsonl", {"row": "quadrant-real", "seed": seed, **curves})
    (axis,) = figures.weights(tmp_path).axes
    assert [list(line.get_ydata()) for line in axis.lines][2:4] == [[0.1, 1.2], [0.3, 1.4]]
    assert [line.get_color() for line in axis.lines] == ["C0", "C0", "C1", "C1", "C2", "C2"]
    assert [line.get_linestyle() for line in axis.lines] == ["-", "--"] * 3


def test_bleu_is_a_mean_over_seeds_of_groups_with_enough_sentences(tmp_path: Path) -> None:
    for seed, bleu in enumerate((30.0, 34.0)):
        group = {"shortest": 1, "longest": 10, "sentences": 20, "bleu": bleu}
        few = {"shortest": 11, "longest": 20, "sentences": 2, "bleu": 0.0}
        line = {"row": "bahdanau", "seed": seed, "bleu_by_length": [group, few]}
        add_line(tmp_path / "synconmt.jsonl", line)
    (axis,) = figures.lengths(tmp_path).axes
    assert list(axis.lines[0].get_ydata()) == [32.0]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1 to 10\n(20)"]


def test_words_are_those_of_both_ends(tmp_path: Path) -> None:
    pairs = [[f"w{i}", 1.0 - i / 100] for i in range(100)]
    add_line(tmp_path / "paper-table7.jsonl", {"row": "sst2", "seed": 0, "words": pairs})
    high, low = figures.words(tmp_path).axes
    assert [axis.get_yticklabels()[0].get_text() for axis in (high, low)] == ["w0", "w99"]
    assert low.lines[0].get_xdata()[:2] == pytest.approx([0.01, 0.02])


def test_losses_are_drawn_at_their_steps(tmp_path: Path) -> None:
    settings = {"rule": "binary", "stages": None, "rates": [1e-4], "steps": 40}
    for row, bits in {"ternary": 2.0, "binary": 1.0, "ternary-distilled": 2.0}.items():
        own = {**settings, "distilled": row.endswith("distilled")}
        line = {"row": row, "seed": 0, "settings": own, "bits": bits, "curve": [8.0 - bits, 4.0]}
        add_line(tmp_path / "lift-training.jsonl", line)
    (axis,) = figures.bits(tmp_path).axes
    assert [list(line.get_ydata()) for line in axis.lines] == [[7.0, 4.0], [6.0, 4.0]]
    assert list(axis.lines[0].get_xdata()) == [20, 40]


def test_errors_are_crossed_out() -> None:
    pixels = torch.tensor([[[1.0, 1.0], [0.5, 0.5]], [[-1.0, 0.0], [0.0, -3.0]]]).unsqueeze(2)
    part = Part({"pixel_values": pixels}, torch.tensor([0, 1]))
    axis = new_figure(1.0, 1.0).subplots()
    figures.draw_sums(axis, Task(part, part, part, {}), torch.tensor([0, 0]), ["a", "b"])
    assert [points.get_offsets().tolist() for points in axis.collections] == [[[2, 1]], [[-1, -3]], [[-1, -3]]]
    assert axis.get_title() == "50.0 % correct"
