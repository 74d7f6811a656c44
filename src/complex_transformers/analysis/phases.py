# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of complex numbers: the hue shows the phase, the brightness the modulus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..data.extras import require
from ..nn import functional as CF, split
from ..nn.checks import check_positive
from ..nn.short_time import make_window, short_time_dft
from .plotting import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["phase_colours", "plot_phases", "plot_spectrum"]

SATURATION = 0.75


def phase_colours(z: Tensor, brightness: Tensor) -> np.ndarray:
    """Map halves ``[..., 2d]`` and a brightness ``[..., d]`` in [0, 1] to RGB ``[..., d, 3]`` in [0, 1].

    arg z = 0 is red, 2 pi / 3 green, -2 pi / 3 blue.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
    """
    colors = require("matplotlib.colors", "colours of phases need matplotlib", "analysis")
    real, imag = split(z.detach().float().cpu())
    hue = torch.atan2(imag, real) / (2 * torch.pi) % 1
    hsv = torch.stack([hue, torch.full_like(hue, SATURATION), brightness.detach().float().cpu()], dim=-1)
    rgb: np.ndarray = colors.hsv_to_rgb(hsv.numpy())
    return rgb


def _relative_to_largest(modulus: Tensor) -> Tensor:
    """Divide moduli by the largest; zeros stay zeros."""
    return modulus / modulus.max().clamp(min=torch.finfo(modulus.dtype).tiny)


def plot_phases(states: Tensor, names: Sequence[str]) -> Figure:
    """Plot hidden states ``[T, 2d]`` of a text: a row for each token, a column for each complex feature.

    The feature with the largest modulus is the brightest.

    Args:
        states: output of an embedding or a layer, for instance from ``pipeline("feature-extraction")``.
        names: labels of the rows.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
        ValueError: names and states differ in number, or are empty.
    """
    if len(names) != len(states) or len(states) == 0:
        raise ValueError(f"names must have one entry for each of {len(states)} states, got {len(names)}")
    modulus = CF.modulus(states.detach().float())
    colours = phase_colours(states, _relative_to_largest(modulus))
    figure = new_figure(8.0, 0.3 * len(names) + 1.0)
    axis = figure.subplots()
    axis.imshow(colours, aspect="auto", interpolation="nearest")
    axis.set_yticks(range(len(names)), list(names))
    axis.set(xlabel="complex feature", title="brightness |z|, colour arg z")
    return figure


def plot_spectrum(
    samples: Any, sampling_rate: int, window: float = 0.04, hop: float = 0.001, nepers: float = 8.0
) -> Figure:
    """Plot a short-time spectrum: brightness log |z|, colour arg z, rotated by the time of each frame.

    The rotation gives a steady tone the same colour in each frame.

    Args:
        samples: a waveform ``[samples]``, an array or a tensor.
        sampling_rate: sampling rate in Hz.
        window, hop: window and hop length in seconds.
        nepers: range of log |z| from black to the brightest.

    Raises:
        ImportError: ``matplotlib`` is missing (extra ``analysis``).
        ValueError: the waveform is empty, not finite or has several channels, or ``window`` or ``hop`` is below one
            sample.
    """
    wave = torch.as_tensor(samples)
    if wave.dim() != 1:
        raise ValueError(f"samples must be one waveform [samples], got shape {tuple(wave.shape)}. Plot one channel.")
    length, step = int(window * sampling_rate), int(hop * sampling_rate)
    check_positive(window_samples=length, hop_samples=step, samples=len(wave))
    if not bool(wave.isfinite().all()):
        raise ValueError("samples must be finite, got NaN or infinity")
    z = short_time_dft(wave, make_window("hann", length), step, pad_end=True)
    times = torch.arange(len(z)).unsqueeze(1) * step
    bins = torch.arange(length // 2 + 1)
    z = CF.rotate(z, -2 * torch.pi * bins * times / length)
    loud = _relative_to_largest(CF.modulus(z)).log()  # -inf for silence
    colours = phase_colours(z, (1 + loud / nepers).clamp(0, 1))
    figure = new_figure(8.0, 3.0)
    axis = figure.subplots()
    extent = (0, len(wave) / sampling_rate, 0, sampling_rate / 2000)
    axis.imshow(colours.transpose(1, 0, 2), origin="lower", aspect="auto", extent=extent)
    axis.set(xlabel="seconds", ylabel="kHz", title="brightness |z|, colour arg z")
    return figure
