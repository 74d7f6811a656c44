# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import itertools

import numpy as np
import pytest
import torch

from complex_transformers.nn import SpectralScaledAttention, positional_phase
from oracles import assert_close, assert_refused, r, randn, randomize, softmax, z

CHOICES = [*itertools.product(("modulus", "real"), ("probability_amplitude", "softmax"), ("add", "rotate", "none"))]


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


def test_bad_values():
    for sizes in ((7, 1), (12, 4), (12, 0)):
        assert_refused(f"embed_dim={sizes[0]}, num_heads={sizes[1]}", SpectralScaledAttention, *sizes)
    message = r"position_phase must be one of \['add', 'none', 'rotate'\], got 'turn'"
    assert_refused(message, SpectralScaledAttention, 12, 2, position_phase="turn")
    message = "or 'probability_amplitude', got 'split_softmax'"
    assert_refused(message, SpectralScaledAttention, 12, 2, normalization="split_softmax")
