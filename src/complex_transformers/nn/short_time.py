# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Framing, windows and the short-time Fourier transform with its exact inverse (Thesis 2.11, 5.2.1, 5.4).

Frame k holds the samples from ``k * hop_length`` on: nothing is centred, so frames of a piece of a signal that starts
at a multiple of the hop are frames of the signal. FFTs run in float32 or better and come back in the dtype of the
input.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from . import functional as CF
from .checks import check_choice

__all__ = ["frame", "inverse_short_time_dft", "make_window", "num_frames", "short_time_dft"]

WINDOWS = ("hamming", "hann", "rectangular")


def make_window(name: str, length: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A periodic window ``[length]``: ``hamming`` (never 0), ``hann`` (its first sample is 0) or ``rectangular``."""
    check_choice("window", name, WINDOWS)
    _check_sizes(length, 1)
    if name == "rectangular":
        return torch.ones(length, dtype=dtype)
    make = torch.hamming_window if name == "hamming" else torch.hann_window
    return make(length, periodic=True, dtype=torch.float64).to(dtype)


def num_frames(num_samples: int, window_length: int, hop_length: int, pad_end: bool = False) -> int:
    """Frames of a signal: those that are full, or with ``pad_end`` as many as hold every sample."""
    _check_sizes(window_length, hop_length)
    if num_samples < window_length:
        raise ValueError(
            f"a signal of {num_samples} samples is shorter than one window of {window_length}; pad it with zeros to "
            f"{window_length} samples or use a shorter window"
        )
    rest = num_samples - window_length
    return 1 + (-(-rest // hop_length) if pad_end else rest // hop_length)


def frame(x: Tensor, window_length: int, hop_length: int, pad_end: bool = False) -> Tensor:
    """Overlapping pieces of a signal, ``[..., N] -> [..., T, window_length]``.

    Args:
        x: samples.
        window_length, hop_length: samples of a frame, and from the start of one to the next.
        pad_end: fill the last frame up with zeros, so that no sample is left out; else only full frames.

    Raises:
        ValueError: a signal shorter than a window, sizes that are not positive.
    """
    count = num_frames(x.shape[-1], window_length, hop_length, pad_end)
    missing = (count - 1) * hop_length + window_length - x.shape[-1]
    return F.pad(x, (0, max(missing, 0))).unfold(-1, window_length, hop_length)


def short_time_dft(x: Tensor, window: Tensor, hop_length: int, pad_end: bool = False) -> Tensor:
    """F(k) of every windowed frame of a real signal: ``[..., N] -> [..., T, 2 bins]``, bins = L // 2 + 1.

    The frequencies from 0 to half the sampling rate; the others are their conjugates.

    Args:
        x: real samples of a floating dtype.
        window: ``[L]`` real factors, see ``make_window``.
        hop_length, pad_end: see ``frame``.

    Raises:
        TypeError: samples that are complex or integers.
        ValueError: as in ``frame``; a window that is no vector.
    """
    _check_real(x, "a signal")
    _check_window(window)
    wide = CF.wide(x)
    frames = frame(wide, len(window), hop_length, pad_end) * window.to(wide)
    # A bin is a sum of many samples: in float16 it may leave the range they are in.
    return CF.narrow(CF.from_complex(torch.fft.rfft(frames, dim=-1)), x.dtype)


def inverse_short_time_dft(x: Tensor, window: Tensor, hop_length: int, length: int | None = None) -> Tensor:
    """The signal of a short-time spectrum by overlap-add: ``[..., T, 2 bins] -> [..., N]``.

    Frames are windowed once more, added up and divided by the sum of squared windows: the exact inverse, and of a
    spectrum that was changed the signal nearest to it in the least-squares sense (Griffin & Lim 1984).

    Args:
        x: halves of ``bins = L // 2 + 1`` numbers.
        window, hop_length: as in ``short_time_dft``.
        length: samples to return, at most those the frames cover; default all.

    Raises:
        ValueError: halves that do not fit the window, a sample that no window reaches (with ``hann`` the first; with a
            hop above the window those in between), a length beyond the frames.
    """
    CF.check_halves(x)
    _check_window(window)
    _check_sizes(len(window), hop_length)
    if x.shape[-1] != 2 * (len(window) // 2 + 1):
        raise ValueError(
            f"a window of {len(window)} samples has {len(window) // 2 + 1} bins, so a spectrum is "
            f"{2 * (len(window) // 2 + 1)} wide, got {x.shape[-1]}"
        )
    factors = window.to(x.device, torch.promote_types(x.dtype, torch.float32))
    frames = torch.fft.irfft(CF.to_complex(x), n=len(window), dim=-1) * factors
    count = (x.shape[-2] - 1) * hop_length + len(window)
    start = torch.arange(x.shape[-2], device=x.device) * hop_length
    index = (start.unsqueeze(-1) + torch.arange(len(window), device=x.device)).flatten()
    total = frames.new_zeros(*x.shape[:-2], count).index_add(-1, index, frames.flatten(-2))
    weight = frames.new_zeros(count).index_add(-1, index, factors.square().repeat(x.shape[-2]))
    length = count if length is None else length
    if not 0 < length <= count:
        raise ValueError(f"{x.shape[-2]} frames cover {count} samples, length={length} does not fit")
    if not torch.compiler.is_compiling() and (unseen := (weight[:length] < 1e-8).nonzero().flatten()).numel():
        raise ValueError(
            f"sample {int(unseen[0])} has no weight in any frame and cannot be restored; use window='hamming', which "
            f"is never zero, and a hop_length of at most {len(window)} (got {hop_length})"
        )
    return CF.narrow(total[..., :length] / weight[:length], x.dtype)


def _check_real(x: Tensor, what: str) -> None:
    if not x.is_floating_point():
        raise TypeError(f"{what} must hold real floating-point numbers, got dtype {x.dtype}; convert it with .float()")


def _check_window(window: Tensor) -> None:
    _check_real(window, "a window")
    if window.dim() != 1:
        raise ValueError(f"a window is a vector, got shape {tuple(window.shape)}")


def _check_sizes(window_length: int, hop_length: int) -> None:
    if window_length < 1 or hop_length < 1:
        raise ValueError(
            f"window_length and hop_length must be positive numbers of samples, got {window_length} and {hop_length}"
        )
