# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from complex_transformers.nn import FrequencyKernel, ZTransform, dct, dft, inverse_dft, spectrum2d, transforms
from complex_transformers.nn.transforms import real_dft, sequence_dft
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, finite, halves, r, randn, randomize, z


def dft_oracle(values: np.ndarray, sign: float) -> np.ndarray:
    """sum_t f(t) exp(sign 2 pi i k t / N), term by term (Thesis 2.11)."""
    n = values.shape[-1]
    out = np.zeros_like(values)
    for k in range(n):
        for t in range(n):
            out[..., k] += values[..., t] * np.exp(sign * 2j * np.pi * k * t / n)
    return out


@given(st.integers(1, 9), st.sampled_from(DTYPES))
def test_dft_has_the_minus_sign_and_its_inverse_the_plus(n, dtype):
    x = randn(2, 3, 2 * n, dtype=dtype)
    assert_close(z(dft(x)), dft_oracle(z(x), -1.0), TOLERANCE[dtype])
    assert_close(z(inverse_dft(x)), dft_oracle(z(x), 1.0) / n, TOLERANCE[dtype])
    assert_close(z(inverse_dft(dft(x))), z(x), TOLERANCE[dtype] * 3)
    assert dft(x).dtype == dtype


@given(st.integers(1, 9), st.sampled_from(DTYPES))
def test_dct(n, dtype):
    x = randn(2, n, dtype=dtype)
    t = np.arange(n)
    expected = np.stack([(r(x) * np.cos(np.pi * k * (2 * t + 1) / (2 * n))).sum(-1) for k in range(n)], -1)
    assert_close(r(dct(x)), expected, TOLERANCE[dtype] * 3)


def test_dct_of_a_long_signal_keeps_its_angles():
    n = 3000
    x = torch.zeros(n, dtype=torch.float32)
    x[n - 1] = 1.0
    k = np.arange(n)
    assert_close(r(dct(x)), np.cos(np.pi * k * (2 * n - 1) / (2 * n)), 1e-6)


@given(st.integers(1, 6), st.sampled_from(DTYPES))
def test_z_transform(d, dtype):
    layer = randomize(ZTransform(2 * d), scale=0.3).to(dtype)
    x = randn(2, 3, 2 * d, dtype=dtype)
    a = np.exp(r(layer.log_modulus)) * np.exp(1j * r(layer.phase))
    assert_close(z(layer(x)), z(x) * a ** -np.arange(d), TOLERANCE[dtype])  # Thesis 4.8, 4.9


def test_z_transform_starts_as_a_row_of_the_dft_and_resets():
    layer, d = ZTransform(10).double(), 5
    a = np.exp(2j * np.pi * np.arange(d) / d)
    x = randn(3, 2 * d)
    assert_close(z(layer(x)), z(x) * a ** -np.arange(d), 1e-5)
    randomize(layer).reset_parameters()
    assert_close(z(layer(x)), z(x) * a ** -np.arange(d), 1e-5)


def test_z_transform_of_a_wide_model_keeps_its_phase():
    layer, d = ZTransform(2 * 4096), 4096
    with torch.no_grad():
        layer.phase.uniform_(-3.0, 3.0)
    out = z(layer(halves(np.ones((1, d)), torch.float32)))[0]
    turn = out * np.exp(1j * np.arange(d) * r(layer.phase))
    assert np.abs(np.angle(turn)).max() < 1e-3


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_powers_do_not_overflow(dtype):
    layer = ZTransform(2000).to(dtype)
    for value in (-5.0, 5.0):
        with torch.no_grad():
            layer.log_modulus.fill_(value)
        x = randn(2, 2000, dtype=dtype, grad=True)
        out = layer(x)
        out.sum().backward()
        assert finite(out, x.grad, layer.log_modulus.grad, layer.phase.grad)


def masked_dft(x):
    return sequence_dft(x, torch.arange(x.shape[1]).expand(x.shape[:2]) < 4)


TRANSFORMS = [dft, inverse_dft, dct, ZTransform(64), FrequencyKernel(64)]


@pytest.mark.parametrize("dtype", DTYPES[2:])
@pytest.mark.parametrize("function", TRANSFORMS)
def test_narrow_numbers_are_computed_in_float32(function, dtype):
    if isinstance(function, torch.nn.Module):
        randomize(function, scale=0.1).to(dtype)
    x = randn(50, 64, dtype=dtype)
    out = function(x)
    expected = function.float()(x.float()) if isinstance(function, torch.nn.Module) else function(x.float())
    assert torch.equal(out, expected.to(dtype))


@pytest.mark.parametrize("function", [dft, dct, sequence_dft, masked_dft, real_dft, spectrum2d])
@pytest.mark.parametrize("exporting", [False, True])
def test_autocast_leaves_transforms_exact(function, exporting, monkeypatch):
    monkeypatch.setattr(transforms, "is_exporting", lambda: exporting)
    x = randn(2, 6, 8, dtype=torch.float32)
    expected = function(x)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(function(x), expected)


@pytest.mark.parametrize("function", TRANSFORMS)
def test_loud_narrow_numbers_stay_finite(function):
    if isinstance(function, torch.nn.Module):
        randomize(function).half()
    angle = 2.0 * np.pi * np.arange(32) / 32
    square = np.sign(np.cos(angle)) - 1j * np.sign(np.sin(angle))  # even the mean of its moduli is above 1
    x = halves(6e4 * square, torch.float16).requires_grad_()
    out = function(x)
    out.sum().backward()
    assert finite(out, x.grad)
    assert out.abs().max() == torch.finfo(torch.float16).max


def test_frequency_kernel_is_a_circular_convolution_in_time():
    layer, n = randomize(FrequencyKernel(10).double()), 5
    f, kernel = np.random.randn(2, n) + 1j * np.random.randn(2, n), r(layer.real) + 1j * r(layer.imag)
    assert_close(z(layer(halves(f))), f * kernel)
    g = dft_oracle(kernel, 1.0) / n
    convolution = np.zeros_like(f)
    for t in range(n):
        for s in range(n):
            convolution[:, t] += f[:, s] * g[(t - s) % n]
    assert_close(z(inverse_dft(layer(dft(halves(f))))), convolution)  # Thesis 5.9, 5.10


def test_frequency_kernel_starts_as_the_identity_and_resets():
    layer, x = FrequencyKernel(8), torch.randn(3, 8)
    assert torch.equal(layer(x), x)
    randomize(layer).reset_parameters()
    assert torch.equal(layer(x), x)


@pytest.mark.parametrize("layer", [ZTransform, FrequencyKernel])
def test_odd_widths(layer):
    assert_refused("even, got 7. Use 8", layer, 7)
