# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import DTYPES, TOLERANCE, assert_close, halves, r, randn, z
from torch.autograd import gradcheck

from complex_transformers.nn import ModulusAvgPool1d, ModulusMaxPool1d
from complex_transformers.nn.pooling import modulus_average_pool, modulus_max_pool


def average(values: np.ndarray) -> np.ndarray:
    """Thesis 2.28 over axis 0."""
    return np.abs(values).sum(0) / len(values) + 0j


def largest(values: np.ndarray) -> np.ndarray:
    """Thesis 2.29 over axis 0, feature by feature."""
    out = np.zeros(values.shape[1], complex)
    for j in range(values.shape[1]):
        best = 0
        for i in range(1, len(values)):
            if abs(values[i, j]) > abs(values[best, j]):
                best = i
        out[j] = values[best, j]
    return out


POOLS = [(modulus_average_pool, ModulusAvgPool1d, average), (modulus_max_pool, ModulusMaxPool1d, largest)]


@pytest.mark.parametrize(("function", "layer", "oracle"), POOLS)
@given(data=st.data())
def test_pooling_over_the_kept_elements(function, layer, oracle, data):
    length, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    dtype = data.draw(st.sampled_from(DTYPES))
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=length, max_size=length)))
    x = randn(2, length, 2 * d, dtype=dtype)
    mask = torch.from_numpy(keep).expand(2, length)
    for i in range(2):
        if function is modulus_max_pool and dtype in (torch.bfloat16, torch.float16):
            continue  # rounding makes equal moduli: which of them wins is left open
        expected = oracle(z(x)[i][keep]) if keep.any() else np.zeros(d, complex)
        assert_close(z(function(x, mask))[i], expected, TOLERANCE[dtype])
        assert_close(z(function(x))[i], oracle(z(x)[i]), TOLERANCE[dtype])


@pytest.mark.parametrize(("function", "layer", "oracle"), POOLS)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 4), st.data())
def test_windows(function, layer, oracle, length, kernel, stride, data):
    if length < kernel:
        return
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=length, max_size=length)))
    x = randn(1, length, 4)
    out = z(layer(kernel, stride)(x))
    masked = z(layer(kernel, stride)(x, torch.from_numpy(keep).unsqueeze(0)))
    assert out.shape == masked.shape == (1, (length - kernel) // stride + 1, 2)
    for w in range(out.shape[1]):
        window, kept = z(x)[0, w * stride :][:kernel], keep[w * stride :][:kernel]
        assert_close(out[0, w], oracle(window))
        assert_close(masked[0, w], oracle(window[kept]) if kept.any() else np.zeros(2, complex))


def test_stride_defaults_to_the_window():
    x = randn(1, 7, 4)
    assert ModulusMaxPool1d(3)(x).shape == (1, 2, 4)
    assert torch.equal(ModulusMaxPool1d(3)(x), ModulusMaxPool1d(3, 3)(x))


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("layer", [ModulusMaxPool1d, ModulusAvgPool1d])
def test_gradients(layer, field):
    mask = torch.tensor([[1, 1, 0, 1, 1], [0, 0, 1, 1, 1]])
    assert gradcheck(lambda x: layer(3, 2, number_field=field)(x, mask), (randn(2, 5, 4, grad=True),))


def test_largest_modulus_keeps_its_phase_and_takes_the_gradient():
    x = halves(np.array([[[1 + 1j], [-3 - 4j], [4.0 + 0j]]])).requires_grad_()
    out = modulus_max_pool(x)
    assert z(out).item() == -3 - 4j
    out.sum().backward()
    assert_close(z(x.grad)[0, :, 0], np.array([0, 1 + 1j, 0]))


def test_first_of_equal_moduli_wins():
    x = halves(np.array([[[0.0 + 0j], [3 + 4j], [4 + 3j], [-5.0]]]))
    assert z(modulus_max_pool(x)).item() == 3 + 4j


@pytest.mark.parametrize("function", [modulus_average_pool, modulus_max_pool])
@pytest.mark.parametrize("field", ["complex", "real"])
def test_padding_and_other_rows_have_no_influence(function, field):
    x = randn(3, 4, 6)
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 1, 1]])
    expected = function(x, mask, field)
    for poison in (float("nan"), 1e30):
        poisoned = x.masked_fill(mask.unsqueeze(-1) == 0, poison)
        assert torch.equal(function(poisoned, mask, field), expected)
    broken = x.clone()
    broken[1, 2] = float("nan")
    out = function(broken, mask, field)
    assert torch.equal(out[[0, 2]], expected[[0, 2]])
    assert out[1].isnan().any()
    torch.testing.assert_close(function(x[:1, :2], None, field), expected[:1])


def test_rotation():
    x, angle = randn(2, 5, 6), np.exp(0.9j)
    rotated = halves(z(x) * angle)
    assert_close(z(modulus_max_pool(rotated)), z(modulus_max_pool(x)) * angle)
    assert_close(z(modulus_average_pool(rotated)), z(modulus_average_pool(x)))


def test_real_twin_is_the_pooling_of_absolute_values():
    x = randn(2, 6, 3)
    windows = r(x).reshape(2, 3, 2, 3)
    assert_close(r(ModulusAvgPool1d(2, number_field="real")(x)), np.abs(windows).mean(2))
    index = np.abs(windows).argmax(2)[:, :, None]
    assert_close(r(ModulusMaxPool1d(2, number_field="real")(x)), np.take_along_axis(windows, index, 2)[:, :, 0])


def test_float16_average_of_large_moduli_does_not_overflow():
    x = torch.full((1, 300, 2), 600.0, dtype=torch.float16)
    expected = np.full((1, 1), 600.0 * np.sqrt(2.0)) + 0j
    assert_close(z(modulus_average_pool(x, torch.ones(1, 300))), expected, 1e-3)
    assert_close(z(modulus_average_pool(x)), expected, 1e-3)


def test_bad_values():
    with pytest.raises(ValueError, match="kernel_size and stride must be positive, got 0 and None"):
        ModulusMaxPool1d(0)
    with pytest.raises(ValueError, match="got 2 and 0"):
        ModulusAvgPool1d(2, 0)
    with pytest.raises(ValueError, match="window of 5 does not fit a sequence of 4"):
        ModulusMaxPool1d(5)(randn(1, 4, 4))
    with pytest.raises(ValueError, match=r"\['complex', 'real'\]"):
        ModulusMaxPool1d(2, number_field="dual")
    with pytest.raises(ValueError, match="even"):
        modulus_max_pool(randn(1, 4, 3))
    with pytest.raises(TypeError, match="complex128"):
        modulus_average_pool(torch.zeros(1, 4, 4, dtype=torch.complex128))
