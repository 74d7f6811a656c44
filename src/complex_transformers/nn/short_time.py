# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Framing, windows and the short-time Fourier transform with its exact inverse (Thesis 2.11, 5.2.1, 5.4).

Frame k starts at sample ``k * hop_length`` and is not centred, so a chunk that starts at a multiple of the hop has the
frames of the whole signal. FFTs run in float32 or better; results have the dtype of the input.
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
    """Return a periodic window ``[length]``: ``hamming`` (never 0), ``hann`` (first sample 0) or ``rectangular``."""
    check_choice("window", name, WINDOWS)
    if name == "rectangular":
        return torch.ones(length, dtype=dtype)
    make = torch.hamming_window if name == "hamming" else torch.hann_window
    return make(length, periodic=True, dtype=torch.float64).to(dtype)


def num_frames(num_samples: int, window_length: int, hop_length: int, pad_end: bool = False) -> int:
    """Return the number of full frames, or with ``pad_end`` of frames that cover every sample."""
    if num_samples < window_length:
        raise ValueError(f"num_samples must be at least window_length={window_length}, got {num_samples}. Zero-pad x.")
    rest = num_samples - window_length
    return 1 + (-(-rest // hop_length) if pad_end else rest // hop_length)


def frame(x: Tensor, window_length: int, hop_length: int, pad_end: bool = False) -> Tensor:
    """Split a signal into overlapping frames, ``[..., N] -> [..., T, window_length]``.

    Args:
        x: samples.
        window_length, hop_length: frame size and hop in samples.
        pad_end: zero-pad the last frame, so that no sample is dropped; otherwise only full frames are returned.

    Raises:
        ValueError: a signal shorter than a window.
    """
    count = num_frames(x.shape[-1], window_length, hop_length, pad_end)
    missing = (count - 1) * hop_length + window_length - x.shape[-1]
    return F.pad(x, (0, max(missing, 0))).unfold(-1, window_length, hop_length)


def short_time_dft(x: Tensor, window: Tensor, hop_length: int, pad_end: bool = False) -> Tensor:
    """Compute the short-time Fourier transform of a real signal, ``[..., N] -> [..., T, 2 bins]`` halves.

    The bins = L // 2 + 1 cover the frequencies from 0 to half the sampling rate.

    Args:
        x: real samples of a floating dtype.
        window: ``[L]`` real factors, see ``make_window``.
        hop_length, pad_end: see ``frame``.

    Raises:
        TypeError: samples that are complex or integers.
        ValueError: as in ``frame``; a window that is not 1-D.
    """
    if not x.is_floating_point():
        raise TypeError(f"x must be real floating-point samples, got dtype {x.dtype}. Convert integers with .float().")
    _check_window(window)
    wide = CF.wide(x)
    frames = frame(wide, len(window), hop_length, pad_end) * window.to(wide)
    # A bin is a sum over the window and may exceed the range of float16.
    return CF.narrow(CF.from_complex(torch.fft.rfft(frames, dim=-1)), x.dtype)


def inverse_short_time_dft(x: Tensor, window: Tensor, hop_length: int, length: int | None = None) -> Tensor:
    """Reconstruct a signal from its short-time spectrum by overlap-add: ``[..., T, 2 bins] -> [..., N]``.

    Frames are windowed again, summed and divided by the sum of squared windows. This is the exact inverse; for a
    modified spectrum it is the least-squares estimate (Griffin & Lim 1984).

    Args:
        x: halves of ``bins = L // 2 + 1`` complex bins.
        window, hop_length: as in ``short_time_dft``.
        length: samples to return, at most as many as the frames cover; default all.

    Raises:
        ValueError: a spectrum that does not fit the window, a sample without weight in any frame (the first with
            ``hann``; gaps if the hop exceeds the window), a length beyond the frames.
    """
    CF.check_halves(x)
    _check_window(window)
    if x.shape[-1] != 2 * (len(window) // 2 + 1):
        width = 2 * (len(window) // 2 + 1)
        raise ValueError(f"x must have width {width} for a window of {len(window)} samples, got {x.shape[-1]}")
    factors = window.to(x.device, torch.promote_types(x.dtype, torch.float32))
    frames = torch.fft.irfft(CF.to_complex(x), n=len(window), dim=-1) * factors
    count = (x.shape[-2] - 1) * hop_length + len(window)
    start = torch.arange(x.shape[-2], device=x.device) * hop_length
    index = (start.unsqueeze(-1) + torch.arange(len(window), device=x.device)).flatten()
    total = frames.new_zeros(*x.shape[:-2], count).index_add(-1, index, frames.flatten(-2))
    weight = frames.new_zeros(count).index_add(-1, index, factors.square().repeat(x.shape[-2]))
    length = count if length is None else length
    if not 0 < length <= count:
        raise ValueError(f"length must lie in [1, {count}], the samples of {x.shape[-2]} frames, got {length}")
    if not torch.compiler.is_compiling() and (unseen := (weight[:length] < 1e-8).nonzero().flatten()).numel():
        remedy = f"Use a hamming window and a hop_length of at most {len(window)} (got {hop_length})"
        raise ValueError(
            f"window must cover every sample to invert the frames, got weight 0 at sample {int(unseen[0])}. {remedy}."
        )
    return CF.narrow(total[..., :length] / weight[:length], x.dtype)


def _check_window(window: Tensor) -> None:
    if window.dim() != 1:
        raise ValueError(f"window must be 1-D, got shape {tuple(window.shape)}")
