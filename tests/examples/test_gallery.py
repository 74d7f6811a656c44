# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from example_runs import load_example
from PIL import Image

from complex_transformers import build_tokenizer
from families import Case

PICTURES = "gallery/make_pictures.py"
POSITIONS = "gallery/draw_positions.py"


@pytest.mark.full
def test_pictures(run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = build_tokenizer(["return the file", "the number"])
    Case("complex_order", "commuting").without_dropout(vocab_size=len(tokenizer)).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    soundfile.write(tmp_path / "clip.wav", np.sin(np.arange(4000) * 2 * np.pi * 44 / 320).astype(np.float32), 8000)
    paths = run(
        *(PICTURES, "--classifier", tmp_path / "model", "--words", "return", "number"),
        *("--clip", tmp_path / "clip.wav", "--steps", 2),
    )
    assert [path.name for path in paths] == ["waves.png", "attention.png", "spectrum.png"]
    spectrum = np.asarray(Image.open(paths[2]).convert("HSV"))
    assert len(np.unique(np.asarray(Image.open(paths[0])))) > 20
    hue, bright = spectrum[..., 0], (spectrum[..., 2] > 200) & (spectrum[..., 1] > 100)
    loudest = (spectrum[..., 2] * bright.astype(int)).sum(1).argmax()
    colours = hue[loudest][bright[loudest]]
    assert len(colours) > 300
    assert np.percentile(colours, 90) - np.percentile(colours, 10) < 12  # a steady tone has one colour


@pytest.mark.slow
def test_the_network_of_the_picture_looks_backwards() -> None:
    attention = load_example(PICTURES).reversing_attention(600)
    assert attention.target_tokens == [*attention.source_tokens[-2::-1], "</s>"]
    looked_at = [row.index(max(row)) for row in attention.word_weights[:7]]
    assert looked_at == [6, 5, 4, 3, 2, 1, 0]


def test_pictures_of_positions_show_what_the_layers_compute(run: Callable[..., Any]) -> None:
    paths = run(POSITIONS)
    pictures = load_example(POSITIONS).FIGURES
    assert [path.stem for path in paths] == list(pictures)
    assert all(path.stat().st_size < 60_000 for path in paths)

    def curves(name: str) -> list[np.ndarray]:
        return [np.asarray(line.get_ydata()) for line in pictures[f"positions-{name}"]().axes[0].lines[1:]]

    assert [curve[:40].argmax() for curve in curves("rotary")] == [0, 10, 20]  # content moves the peak
    highest = curves("polar")
    assert [curve[:40].argmax() for curve in highest] == [0, 0, 0]  # content scales the peak
    moduli = np.log1p(np.exp([1.0, 0.0, -1.0]))
    assert np.allclose([curve[0] for curve in highest], moduli[0] * moduli)
    assert [np.ptp(curve) > 1.0 for curve in curves("word")] == [False, False, True]
    real, imaginary = curves("imaginary")
    assert real[0] == pytest.approx(1.0)
    assert imaginary[0] == pytest.approx(0.0)
    assert imaginary[1000:].mean() > real[1000:].mean()
