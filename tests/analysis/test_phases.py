# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Phases as colours, and pictures of states and spectra."""

import colorsys

import numpy as np
import pytest
import torch

from complex_transformers.analysis import phase_colours, plot_phases, plot_spectrum
from complex_transformers.nn import from_complex, rotate
from refusals import refused

RATE = 8000


def hues(colours):
    """Of red, green and blue, ``[..., 3] -> [...]``, by Python's own formula, in turns."""
    return np.apply_along_axis(lambda colour: colorsys.rgb_to_hsv(*colour)[0], -1, colours)


def test_the_hue_is_the_phase_and_turns_with_it():
    turns = torch.tensor([0.0, 1 / 3, 0.5, 2 / 3, 0.9], dtype=torch.float64)
    states = from_complex(torch.polar(torch.tensor([1.0, 2.0, 3.0, 0.1, 5.0], dtype=torch.float64), 2 * np.pi * turns))
    brightness = torch.tensor([1.0, 0.5, 0.25, 0.75, 1.0])
    colours = phase_colours(states, brightness)
    assert colours.shape == (5, 3)
    assert colours.max(-1) == pytest.approx(brightness.numpy())
    assert hues(colours) == pytest.approx(turns.numpy(), abs=1e-6)
    assert [colour.argmax() for colour in colours[[0, 1, 3]]] == [0, 1, 2]  # red, green, blue
    turned = hues(phase_colours(rotate(states, torch.tensor([2 * np.pi * 0.05])), brightness))
    assert turned == pytest.approx(turns.numpy() + 0.05, abs=1e-6)


def test_a_picture_of_states(tmp_path):
    states = from_complex(torch.tensor([[2j, 0], [1, -0.5]]))
    figure = plot_phases(states, ["first", "second"])
    (axis,) = figure.axes
    picture = np.asarray(axis.images[0].get_array())
    assert picture.max(-1) == pytest.approx(np.array([[1.0, 0.0], [0.5, 0.25]]))
    assert hues(picture)[0, 0] == pytest.approx(0.25)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["first", "second"]
    figure.savefig(tmp_path / "states.png")
    plot_phases(torch.zeros(1, 4), ["nothing"])
    for states, names in ((torch.zeros(2, 4), ["one"]), (torch.zeros(0, 4), [])):
        refused("must have one entry for each", plot_phases, states, names)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_a_steady_tone_has_one_colour_at_its_pitch(kind):
    phase = 0.3
    wave = np.cos(2 * np.pi * (1000 * np.arange(4000) / RATE + phase)).astype(np.float32)
    (axis,) = plot_spectrum(kind(wave), RATE).axes
    picture = np.asarray(axis.images[0].get_array())
    bins = len(picture)
    loudest = picture.max(-1).mean(1).argmax()
    assert loudest / (bins - 1) * RATE / 2 == pytest.approx(1000)
    inside = picture[loudest, :400]  # frames that end before the tone does
    assert inside.max(-1) == pytest.approx(np.ones(len(inside)), abs=1e-3)
    assert hues(inside) == pytest.approx(np.full(len(inside), phase), abs=1e-3)
    assert axis.images[0].get_extent() == pytest.approx([0, 0.5, 0, 4])


def test_nepers_are_what_is_black():
    tone = np.cos(2 * np.pi * 1000 * np.arange(4000) / RATE)
    wave = tone + np.exp(-3) * np.cos(2 * np.pi * 3000 * np.arange(4000) / RATE)
    row = 3000 * 2 * 160 // RATE
    for nepers, brightness in ((6.0, 0.5), (2.0, 0.0)):
        picture = np.asarray(plot_spectrum(wave, RATE, nepers=nepers).axes[0].images[0].get_array())
        assert picture[row, 200].max() == pytest.approx(brightness, abs=1e-3)


def test_silence_is_black_and_a_quiet_tone_is_not():
    tone = np.cos(2 * np.pi * 1000 * np.arange(4000) / RATE)
    loud, quiet, silent = (
        np.asarray(plot_spectrum(factor * tone, RATE).axes[0].images[0].get_array()) for factor in (1.0, 1e-9, 0.0)
    )
    assert quiet == pytest.approx(loud, abs=1e-6)
    assert silent.max() == 0.0


def test_spectra_that_cannot_be():
    wave = np.zeros(100, np.float32)
    for wrong, message in (
        (np.zeros((2, 100), np.float32), r"one waveform \[samples\], got shape \(2, 100\)"),
        (np.full(400, np.nan), "samples must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            plot_spectrum(wrong, RATE)
    for options, message in (
        ({"window": 0.0}, "window_samples, hop_samples and samples must be positive, got 0, 8 and 100"),
        ({"hop": 1e-6}, "got 320, 0 and 100"),
    ):
        with pytest.raises(ValueError, match=message):
            plot_spectrum(wave, RATE, **options)
    refused("got 320, 8 and 0", plot_spectrum, wave[:0], RATE)
