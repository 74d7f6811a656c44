# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The diagonal recurrence step by step in complex128: the Z-transform of what has been read; and its block."""

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from complex_transformers.kernels.diagonal_scan import diagonal_scan
from complex_transformers.nn import DiagonalRecurrence, LinearRecurrentBlock
from oracles import TOLERANCE, assert_close, assert_refused, bias, finite, r, randn, randomize, weight, z

FIELDS = ["complex", "real"]
# Up to 16 steps go one after the other; more are cut into pieces, of one length or with some steps left over.
LENGTHS = [1, 2, 16, 17, 25, 26, 30, 100]


def numbers(x, field):
    return z(x) if field == "complex" else r(x).astype(complex)


def factor_of(layer):
    frequency = 0.0 if layer.frequency is None else r(layer.frequency)
    return np.exp(-np.exp(r(layer.damping)) + 1j * frequency)


def z_transform(values, a, first):
    """sum_s a^(t-s) gamma x_s + a^(t+1) h_{-1} for each feature of ``[N, d]``, without a recurrence."""
    t = np.arange(len(values))
    powers = np.where(t[:, None] >= t, t[:, None] - t, 0)
    kernel = np.where((t[:, None] >= t)[..., None], a ** powers[..., None], 0.0)
    sums = np.einsum("tsd,sd->td", kernel, np.sqrt(1 - np.abs(a) ** 2) * values)
    return sums + a ** (t[:, None] + 1) * first


def make(field="complex", d=3, dtype=torch.float64, **options):
    width = 2 * d if field == "complex" else d
    return DiagonalRecurrence(width, field, **options).to(dtype), width


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("field", FIELDS)
def test_the_states_are_z_transforms_of_what_was_read(field, length, batch_first, dtype):
    layer, width = make(field, dtype=dtype, batch_first=batch_first)
    x, state = randn(length, 2, width, dtype=dtype), randn(2, width, dtype=dtype)
    if batch_first:
        out, last = layer(x.transpose(0, 1).contiguous(), state)
        assert out.is_contiguous()
        out = out.transpose(0, 1)
    else:
        out, last = layer(x, state)
    assert out.dtype == last.dtype == dtype
    for row in range(2):
        expected = z_transform(numbers(x[:, row], field), factor_of(layer), numbers(state[row], field))
        assert_close(numbers(out[:, row], field), expected, TOLERANCE[dtype])
        assert_close(numbers(last[row], field), expected[-1], TOLERANCE[dtype])


@pytest.mark.parametrize("length", [1, 3, 17, 20])
@pytest.mark.parametrize("field", FIELDS)
def test_gradients(field, length):
    parts = 2 if field == "complex" else 1
    dtype = torch.complex128 if parts == 2 else torch.float64
    a = torch.tensor([0.6 + 0.7j, -0.3 - 0.1j] if parts == 2 else [0.9, -0.5], dtype=dtype)
    gain = torch.tensor([0.4, 1.5], dtype=torch.float64)
    inputs = [randn(length, 2, 2 * parts), gain, a, randn(2, 2 * parts)]
    inputs = [value.detach().requires_grad_() for value in inputs]
    assert gradcheck(diagonal_scan, inputs)
    if length < 5:
        assert gradgradcheck(diagonal_scan, inputs)


@pytest.mark.parametrize("poison", [0.7, 1e30, float("nan")])
@pytest.mark.parametrize("places", [[0, 1, 2], [2, 3, 4], [0, 2, 3], []], ids=str)
@pytest.mark.parametrize("field", FIELDS)
def test_steps_that_do_not_count_carry_the_state_on(field, places, poison):
    layer, width = make(field)
    x, state = randn(5, 2, width), randn(2, width)
    mask = torch.ones(5, 2)
    mask[:, 0] = 0
    mask[places, 0] = 1
    expected, expected_last = layer(x, state)
    if places:
        alone, alone_last = layer(x[places, :1], state[:1])
    poisoned = torch.where(mask.bool().unsqueeze(-1), x, poison).requires_grad_()
    out, last = layer(poisoned, state, mask)
    assert_close(r(out[:, 1]), r(expected[:, 1]))
    assert_close(r(last[1]), r(expected_last[1]))
    assert_close(r(last[0]), r(alone_last[0] if places else state[0]))
    if places:
        assert_close(r(out[places, 0]), r(alone[:, 0]))
    assert not out[mask == 0].any()
    (grad,) = torch.autograd.grad(out.square().sum() + last.sum(), poisoned)
    assert finite(grad)
    assert not grad[mask == 0].any()


def test_states_carried_on_are_one_long_text():
    layer, width = make(d=4)
    x = randn(60, 2, width)
    whole, last = layer(x)
    state, parts = None, []
    for piece in x.split([1, 35, 1, 23]):
        out, state = layer(piece, state)
        parts.append(out)
    assert_close(r(torch.cat(parts)), r(whole))
    assert_close(r(state), r(last))


def test_a_common_phase_passes_through():
    layer, width = make(d=4)
    x, turn = randn(20, 2, width), np.exp(0.7j)
    turned = z(x) * turn
    out = layer(torch.from_numpy(np.concatenate([turned.real, turned.imag], -1)))[0]
    assert_close(z(out), z(layer(x)[0]) * turn)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_keeps_states_and_phases_in_float32(dtype):
    layer = DiagonalRecurrence(8).to(dtype)
    assert layer.damping.dtype == layer.frequency.dtype == torch.float32
    x = randn(300, 1, 8, dtype=dtype)
    out, last = layer(x)
    assert (out.dtype, last.dtype) == (dtype, torch.float32)
    expected = z_transform(z(x[:, 0]), factor_of(layer), 0.0)
    assert_close(z(last[0]), expected[-1], 1e-4)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(r(layer(x.float())[1]), r(last), 1e-4)


@pytest.mark.parametrize("field", FIELDS)
def test_stable_whatever_the_parameters(field):
    layer, width = make(field, dtype=torch.float32)
    for damping in (-200.0, -20.0, 0.0, 20.0, 200.0):
        torch.nn.init.constant_(layer.damping, damping)
        x = randn(2000, 1, width, dtype=torch.float32, grad=True)
        out, _ = layer(x)
        out.square().mean().backward()
        assert finite(out, x.grad, *(p.grad for p in layer.parameters()))
        assert (layer.factor().abs() <= 1.0).all()
        assert out.abs().max() < 50.0


def test_initial_factors_fill_the_ring_and_keep_the_variance():
    layer = DiagonalRecurrence(2 * 4000, min_modulus=0.5, max_modulus=0.99)
    a = factor_of(layer)
    assert 0.5 <= np.abs(a).min() < 0.52
    assert 0.98 < np.abs(a).max() <= 0.99
    assert np.mean(np.abs(a) ** 2) == pytest.approx((0.25 + 0.9801) / 2, rel=0.02)
    assert np.mean(a.imag > 0) == pytest.approx(0.5, abs=0.03)
    out, _ = layer(torch.randn(200, 1, 8000))
    assert out[100:].square().mean().item() == pytest.approx(1.0, rel=0.05)
    harmonic = DiagonalRecurrence(10, frequency_init="harmonic")
    np.testing.assert_allclose(r(harmonic.frequency), 2 * math.pi * np.arange(5) / 5, rtol=1e-6)
    assert DiagonalRecurrence(5, "real").frequency is None


@pytest.mark.parametrize("modulus", [1e-15, 1.0 - 1e-6])
def test_the_most_extreme_moduli_are_learned(modulus):
    layer = DiagonalRecurrence(8, min_modulus=modulus, max_modulus=modulus)
    np.testing.assert_allclose(-np.log(np.abs(factor_of(layer))), -math.log(modulus), rtol=0.05)
    out, _ = layer(torch.randn(50, 2, 8))
    out.square().sum().backward()
    assert layer.damping.grad.isfinite().all()
    assert (layer.damping.grad != 0).all()


@pytest.mark.parametrize("field", FIELDS)
def test_the_block_is_norm_product_recurrence_and_gate(field):
    width, states = (8, 6) if field == "complex" else (4, 3)
    block = randomize(LinearRecurrentBlock(width, states, number_field=field, layer_norm_eps=1e-3).double())
    x, state = randn(7, 2, width), randn(2, states)
    out, last = block(x, state)

    def affine(layer, values):
        if field == "complex":
            return values @ weight(layer).T + bias(layer)
        return values @ r(layer.weight).T + (0.0 if layer.bias is None else r(layer.bias))

    def normed(values, scale, shift):
        centred = values - values.mean(-1, keepdims=True)
        return centred / np.sqrt(values.var(-1, keepdims=True) + 1e-3) * scale + shift

    scale, shift = r(block.norm.weight), r(block.norm.bias)
    for row in range(2):
        values = numbers(x[:, row], field)
        if field == "complex":
            d = width // 2
            inner = normed(values.real, scale[:d], shift[:d]) + 1j * normed(values.imag, scale[d:], shift[d:])
        else:
            inner = normed(values.real, scale, shift)
        h = z_transform(affine(block.input_proj, inner), factor_of(block.recurrence), numbers(state[row], field))
        halves = np.concatenate([h.real, h.imag], -1) if field == "complex" else h.real
        gate = 1 / (1 + np.exp(-(halves @ r(block.gate.weight).T + r(block.gate.bias))))
        h = h if field == "complex" else h.real
        assert_close(numbers(out[:, row], field), values + affine(block.output_proj, h) * gate)
        assert_close(numbers(last[row], field), h[-1])


def test_bad_arguments():
    for moduli in ((0.0, 0.9), (1e-30, 0.9), (0.5, 1.0 - 1e-9), (0.5, 1.0), (0.5, 1.5), (0.9, 0.5), (-0.5, 0.9)):
        with pytest.raises(ValueError, match=rf"moduli must be positive, .* got {moduli[0]} and {moduli[1]}"):
            DiagonalRecurrence(4, min_modulus=moduli[0], max_modulus=moduli[1])
    with pytest.raises(ValueError, match=r"must be even, got 5\. Use 6"):
        DiagonalRecurrence(5)
    with pytest.raises(ValueError, match=r"frequency_init must be one of \['harmonic', 'uniform'\], got 'normal'"):
        DiagonalRecurrence(4, frequency_init="normal")
    assert_refused(r"number_field must be one of", LinearRecurrentBlock, 4, 4, number_field="dual")
    layer = DiagonalRecurrence(4)
    assert_refused(r"state must have shape \(2, 4\), got \(3, 4\)", layer, torch.zeros(5, 2, 4), torch.zeros(3, 4))
    assert_refused(r"\[length, batch\] = \(5, 2\), got \(2, 5\)", layer, torch.zeros(5, 2, 4), mask=torch.ones(2, 5))
    assert_refused(r"\[length, batch, 4\] .* got shape \(5, 4\)", layer, torch.zeros(5, 4))
    assert_refused("complex64", layer, torch.zeros(5, 2, 4, dtype=torch.complex64), error=TypeError)
