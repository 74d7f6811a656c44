# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rotary positions against numpy in float64, far from the beginning, and as words turn them."""

import math

import numpy as np
import pytest
import torch

from complex_transformers.nn import RotaryPositions, RotaryWordPositions, functional as CF
from complex_transformers.nn.attention.rotary import rotary_frequencies
from oracles import assert_close, assert_refused, r, randn, randomize, z

FAR = torch.tensor([[0, 1, 2, 1000, 65_537, 999_999, 1_000_000, 123_456_789]])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("theta", [10000.0, 500.0])
def test_factors_are_exact_at_any_position(theta, dtype):
    factors = RotaryPositions(6, theta)(FAR, dtype)
    assert factors.shape == (1, 1, 8, 12)
    assert factors.dtype == dtype
    frequency = theta ** (-np.arange(6) / 6)
    expected = np.exp(1j * FAR[0].numpy()[:, None] * frequency)
    # In float64 the phase itself is rounded: half a digit of 1e8 rad.
    assert_close(z(factors)[0, 0], expected, 1e-7 if dtype == torch.float64 else 3e-7)


def test_the_first_features_alone_rotate():
    factors = z(RotaryPositions(6, 500.0, partial_rotary_factor=0.5)(FAR, torch.float64))[0, 0]
    angles = FAR[0].numpy()[:, None] * 500.0 ** (-np.arange(3) / 3)
    assert_close(factors[:, :3], np.exp(1j * angles), 1e-7)
    assert (factors[:, 3:] == 1.0).all()


def test_scores_depend_on_distances_alone():
    query, key, rotary = randn(1, 1, 1, 12), randn(1, 1, 1, 12), RotaryPositions(6)
    scores = []
    for shift in (0, 7, 1_000_000):
        at = [rotary(torch.tensor([[place + shift]]), torch.float64) for place in (12, 5)]
        q, k = CF.multiply(query, at[0]), CF.multiply(key, at[1])
        scores.append((q * k).sum().item())
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-7)
    expected = (z(query) * z(key).conj() * np.exp(7j * 10000.0 ** (-np.arange(6) / 6))).sum().real
    assert scores[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_words_without_offsets_turn_like_all_others(dtype):
    ids = torch.randint(0, 9, (2, 8))
    words = RotaryWordPositions(9, 6, 500.0)(ids, FAR, dtype)
    assert torch.equal(words, RotaryPositions(6, 500.0)(FAR, dtype).expand_as(words))


def test_every_word_turns_at_its_own_speed():
    layer = randomize(RotaryWordPositions(9, 4)).double()
    ids, positions = torch.randint(0, 9, (2, 5)), torch.tensor([[0, 1, 2, 3, 40], [0, 0, 1, 2, 3]])
    frequency = 10000.0 ** (-np.arange(4) / 4) + r(layer.frequency)[ids]
    expected = np.exp(1j * frequency * positions.numpy()[..., None])
    factors = layer(ids, positions, torch.float64)
    assert_close(z(factors)[:, 0], expected, 1e-9)
    weights = torch.randn_like(factors)
    (gradient,) = torch.autograd.grad((factors * weights).sum(), layer.frequency)
    slope = (z(weights)[:, 0].conj() * 1j * positions.numpy()[..., None] * expected).real
    by_word = np.zeros((9, 4))
    np.add.at(by_word, ids.numpy(), slope)
    assert_close(r(gradient), by_word, 1e-9)


def test_offsets_stay_in_float32_and_are_resized():
    layer = RotaryWordPositions(9, 4)
    assert layer.to(torch.bfloat16).frequency.dtype == torch.float32
    with torch.no_grad():
        layer.frequency.normal_()
    before = layer.frequency.detach().clone()
    layer.resize(11)
    assert torch.equal(layer.frequency[:9], before)
    torch.testing.assert_close(layer.frequency[9:], before.mean(0).expand(2, -1))
    layer.resize(3)
    assert torch.equal(layer.frequency, before[:3])
    layer.reset_parameters()
    assert not layer.frequency.any()


def test_bad_values():
    for theta in (0.0, -1.0, math.inf, math.nan, "x", None, True):
        assert_refused(f"rope_theta must be positive and finite, got {theta!r}", RotaryPositions, 4, theta)
    assert_refused("num_features must be positive, got 0", RotaryPositions, 0)
    assert_refused("num_embeddings and num_features must be positive, got 0 and 4", RotaryWordPositions, 0, 4)
    assert_refused(
        r"input_ids must lie in \[0, 9\), got 9", RotaryWordPositions(9, 4), torch.tensor([[9]]), FAR[:, :1]
    )
    assert rotary_frequencies(3).dtype == torch.float64
