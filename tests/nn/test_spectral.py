# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
import torch
from oracles import assert_close, finite, r, randn, randomize, softmax, z
from torch.autograd import gradcheck

from complex_transformers.nn import SpectralScaledAttention, positional_phase

CHOICES = [
    (s, n, p) for s in ("modulus", "real") for n in ("probability_amplitude", "softmax") for p in ("add", "rotate")
]


def phase_oracle(length: int, d: int) -> np.ndarray:
    return np.array([[np.exp(1j * pos * 10000.0 ** (-j / d)) for j in range(d)] for pos in range(1, length + 1)])


def attention_oracle(layer: SpectralScaledAttention, x: np.ndarray) -> np.ndarray:
    """Thesis 5.8 with 2.40-2.44, one head and one pair of positions at a time, in complex128."""
    length, d = x.shape
    ppe = phase_oracle(length, d // 2)
    signals = x + np.concatenate([ppe.real, ppe.imag], axis=-1) if layer.position_phase == "add" else x
    k, t = np.arange(d // 2 + 1)[:, None], np.arange(d)[None]
    spectrum = signals @ np.exp(-2j * np.pi * k * t / d).T / np.sqrt(d)
    if layer.position_phase == "rotate":
        spectrum = spectrum * phase_oracle(length, d // 2 + 1)
    q, key = spectrum @ r(layer.q_proj.weight).T, spectrum @ r(layer.k_proj.weight).T
    v = x @ r(layer.v_proj.weight).T + r(layer.v_proj.bias)
    heads, m, out = layer.num_heads, d // 2 // layer.num_heads, []
    for h in range(heads):
        bins, values = slice(h * m, (h + 1) * m), v[:, h * (d // heads) : (h + 1) * (d // heads)]
        score = np.zeros((length, length), dtype=complex)
        for i in range(length):
            for j in range(length):
                score[i, j] = np.sum(q[i, bins] * np.conj(key[j, bins])) / np.sqrt(m)
        score = np.abs(score) if layer.score == "modulus" else score.real
        if layer.normalization == "softmax":
            weights = softmax(score)
        else:
            weights = score**2 / (1 + (score**2).sum(-1, keepdims=True))
        out.append(weights @ values)
    return np.concatenate(out, axis=-1) @ r(layer.out_proj.weight).T + r(layer.out_proj.bias)


@pytest.mark.parametrize(("score", "normalization", "position"), CHOICES)
def test_spectral_scaled_attention(score, normalization, position):
    layer = SpectralScaledAttention(12, 3, 0.0, score, normalization, position).double()
    x = randn(2, 5, 12)
    out, weights = randomize(layer)(x)
    assert weights.shape == (2, 3, 5, 5)
    # Positions are phases in float32.
    assert_close(r(out), np.stack([attention_oracle(layer, one) for one in r(x)]), 1e-6)


def test_positional_phase():
    assert_close(z(positional_phase(7, 5, randn(1))), phase_oracle(7, 5), 1e-6)
    far = z(positional_phase(100_000, 3, randn(1)))[-1]
    assert_close(far, np.exp(1j * 100_000 * 10000.0 ** (-np.arange(3) / 3)), 1e-2)
    assert positional_phase(4, 3, torch.zeros(1, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_scores_of_a_whole_spectrum_would_be_dot_products():
    # The note on Thesis 5.8: Parseval, with all frequencies of a real signal and no matrices.
    q, k = np.random.randn(8), np.random.randn(8)
    full = np.vdot(np.fft.fft(k), np.fft.fft(q)) / 8
    assert full == pytest.approx(q @ k)
    half = np.vdot(np.fft.rfft(k), np.fft.rfft(q)) / 8
    assert abs(half) != pytest.approx(abs(q @ k), rel=1e-3)


def test_values_are_in_the_time_domain_without_positions():
    # With queries of zero and softmax every frame is the mean of the values: of X itself, whatever the PPE.
    layer = randomize(SpectralScaledAttention(8, 2, normalization="softmax")).double()
    with torch.no_grad():
        layer.q_proj.weight.zero_()
    x = randn(1, 4, 8)
    assert_close(r(layer(x)[0][0]), r(layer.out_proj(layer.v_proj(x.mean(1))).expand(4, -1)))


@pytest.mark.parametrize("position", ["rotate", "none"])
def test_sign_of_the_signal_is_no_matter_to_the_weights(position):
    layer = randomize(SpectralScaledAttention(8, 2, position_phase=position)).double()
    x = randn(2, 5, 8)
    assert_close(r(layer(-x)[1]), r(layer(x)[1]))


def test_adding_positions_makes_the_sign_matter():
    layer = randomize(SpectralScaledAttention(8, 2, position_phase="add")).double()
    x = randn(2, 5, 8)
    assert not torch.allclose(layer(-x)[1], layer(x)[1], atol=1e-3)


def test_gradients():
    layer = randomize(SpectralScaledAttention(6, 1)).double()
    names = [name for name, _ in layer.named_parameters()]

    def function(x, *values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (x,))[0]

    values = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    assert gradcheck(function, (randn(1, 3, 6, grad=True), *values))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_numbers_and_zeros(dtype):
    layer = SpectralScaledAttention(16, 2).to(dtype)
    for x in (torch.zeros(1, 4, 16, dtype=dtype), 50.0 * randn(1, 4, 16, dtype=dtype)):
        x.requires_grad_()
        out = layer(x)[0]
        out.sum().backward()
        assert out.dtype == dtype
        assert finite(out, x.grad, *(p.grad for p in layer.parameters()))


def test_bad_values():
    for sizes in ((7, 1), (12, 4), (12, 0)):
        with pytest.raises(ValueError, match=f"embed_dim={sizes[0]}, num_heads={sizes[1]}"):
            SpectralScaledAttention(*sizes)
    with pytest.raises(ValueError, match=r"position_phase must be one of \['add', 'none', 'rotate'\], got 'turn'"):
        SpectralScaledAttention(12, 2, position_phase="turn")
    with pytest.raises(ValueError, match="split_softmax' makes complex weights"):
        SpectralScaledAttention(12, 2, normalization="split_softmax")
