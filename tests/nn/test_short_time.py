# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch.autograd import gradcheck

from complex_transformers.nn import frame, inverse_short_time_dft, make_window, num_frames, short_time_dft
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, finite, r, randn, z

signal = pytest.importorskip("scipy.signal")


def spectrum_oracle(x: np.ndarray, window: np.ndarray, hop: int) -> np.ndarray:
    """sum_t w(t) x(start + t) exp(-2 pi i k t / L), term by term (Thesis 2.11)."""
    length = len(window)
    frames = 1 + (len(x) - length) // hop
    out = np.zeros((frames, length // 2 + 1), dtype=complex)
    for i in range(frames):
        for k in range(length // 2 + 1):
            for t in range(length):
                out[i, k] += window[t] * x[i * hop + t] * np.exp(-2j * np.pi * k * t / length)
    return out


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 12), st.sampled_from(DTYPES))
def test_short_time_dft_term_by_term(length, hop, more, dtype):
    x, window = randn(length + more, dtype=dtype), make_window("hamming", length, torch.float64)
    assert_close(z(short_time_dft(x, window, hop)), spectrum_oracle(r(x), r(window), hop), TOLERANCE[dtype])
    assert short_time_dft(x, window, hop).dtype == dtype


@pytest.mark.parametrize("name", ["hamming", "hann", "rectangular"])
@pytest.mark.parametrize("length", [1, 8, 9])
def test_windows_are_those_of_scipy(name, length):
    expected = signal.get_window({"rectangular": "boxcar"}.get(name, name), length, fftbins=True)
    assert_close(r(make_window(name, length, torch.float64)), expected, 1e-12)


@given(st.integers(2, 12), st.integers(1, 12), st.integers(0, 30), st.sampled_from(DTYPES[:2]))
def test_overlap_add_is_the_exact_inverse(length, hop, more, dtype):
    x, window = randn(2, length + more, dtype=dtype), make_window("hamming", length)
    spectrum = short_time_dft(x, window, min(hop, length), pad_end=True)
    back = inverse_short_time_dft(spectrum, window, min(hop, length), length=x.shape[-1])
    # A Hamming window is 0.08 at its ends: what is restored there was rounded beside numbers 12 times its size.
    assert_close(r(back), r(x), TOLERANCE[dtype] * 20)
    assert back.dtype == dtype


def test_inverse_of_a_changed_spectrum_is_the_nearest_signal():
    window, hop, n = make_window("hamming", 8, torch.float64), 3, 23
    target = short_time_dft(randn(n), window, hop) + 0.3 * randn(6, 10)
    target[:, [5, 9]] = 0.0  # the bins of frequency 0 and of half the sampling rate are real
    best = inverse_short_time_dft(target, window, hop)
    basis = torch.stack([frame(one, 8, hop).flatten() for one in torch.eye(n, dtype=torch.float64)], dim=-1)
    weighted = (basis.view(6, 8, n) * window.unsqueeze(-1)).view(-1, n)
    frames = torch.fft.irfft(torch.complex(*target.chunk(2, dim=-1)), n=8).flatten()
    assert_close(r(best), r(torch.linalg.lstsq(weighted, frames).solution), 1e-9)


@given(st.integers(1, 7), st.integers(1, 9), st.integers(0, 20))
def test_padding_the_end_keeps_every_sample(length, hop, more):
    x = torch.arange(1.0, length + more + 1)
    full, padded = frame(x, length, hop), frame(x, length, hop, pad_end=True)
    assert torch.equal(padded[: len(full)], full)
    assert len(padded) == num_frames(len(x), length, hop, pad_end=True)
    starts = range(0, len(padded) * hop, hop)
    assert starts[-1] + length >= len(x)
    expected = [[float(s + t + 1) if s + t < len(x) else 0.0 for t in range(length)] for s in starts]
    assert padded.tolist() == expected


def test_gradient_of_the_window():
    assert gradcheck(lambda w: short_time_dft(torch.ones(9, dtype=torch.float64), w, 2), (randn(5, grad=True),))


def test_loud_narrow_samples_stay_finite():
    x = torch.full((40,), 6e4, dtype=torch.float16, requires_grad=True)
    out = short_time_dft(x, make_window("hamming", 16), 8)
    out.sum().backward()
    assert finite(out, x.grad)


def test_bad_values():
    hann, hamming = (make_window(name, 8) for name in ("hann", "hamming"))
    samples, spectrum = torch.zeros(20), torch.zeros(3, 10)
    message = r"window must be one of \['hamming', 'hann', 'rectangular'\], got 'kaiser'"
    assert_refused(message, make_window, "kaiser", 8)
    assert_refused("num_samples must be at least window_length=8, got 5", short_time_dft, samples[:5], hann, 4)
    assert_refused(r"window must be 1-D, got shape \(1, 8\)", short_time_dft, samples, hann.unsqueeze(0), 4)
    message = r"dtype torch.int16. Convert integers with .float\(\)"
    assert_refused(message, short_time_dft, samples.to(torch.int16), hann, 4, error=TypeError)
    assert_refused("complex64", short_time_dft, samples.to(torch.complex64), hann, 4, error=TypeError)
    message = "got weight 0 at sample 0. Use a hamming window"
    assert_refused(message, inverse_short_time_dft, spectrum, hann, 4)
    assert_refused("got weight 0 at sample 8. .*at most 8", inverse_short_time_dft, spectrum, hamming, 9)
    message = "x must have width 10 for a window of 8 samples, got 12"
    assert_refused(message, inverse_short_time_dft, torch.zeros(3, 12), hann, 4)
    message = r"length must lie in \[1, 16\], the samples of 3 frames, got 17"
    assert_refused(message, inverse_short_time_dft, spectrum, hamming, 4, length=17)
