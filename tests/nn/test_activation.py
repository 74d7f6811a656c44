# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.special import erf
from torch.autograd import gradcheck

from complex_transformers.nn import ACT2CFN, HiroseTanh, SplitPReLU, get_activation
from complex_transformers.nn.arithmetic import NUMBER_FIELDS
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, finite, halves, numbers, of_parts, randn, z

B = np.array([0.25, -0.375, 0.0])  # the bias of modrelu and the slopes of split_prelu, exact in every dtype


def _parts(function):
    return partial(of_parts, function)


def _sigmoid(v):
    return 1.0 / (1.0 + np.exp(-v))


# Thesis 2.45-2.51; Virtue et al. 2017; Guberman 2016; Hendrycks & Gimpel 2016 (gelu); Wang et al. 2025 (relu2); on
# complex128, three features.
ORACLES = {
    "identity": lambda v: v,
    "split_relu": _parts(lambda v: np.maximum(v, 0.0)),
    "split_gelu": _parts(lambda v: 0.5 * v * (1.0 + erf(v / np.sqrt(2.0)))),
    "split_gelu_tanh": _parts(lambda v: 0.5 * v * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (v + 0.044715 * v**3)))),
    "split_silu": _parts(lambda v: v * _sigmoid(v)),
    "split_tanh": _parts(np.tanh),
    "split_sigmoid": _parts(_sigmoid),
    "split_prelu": _parts(lambda v: np.where(v > 0, v, B * v)),
    "tanh": lambda v: np.sinh(v) / np.cosh(v),
    "modrelu": lambda v: np.maximum(np.abs(v) + B, 0.0) * v / np.abs(v),
    "hirose_tanh": lambda v: np.tanh(np.abs(v)) * v / np.abs(v),
    "modulus": lambda v: np.abs(v) + 0j,
    "squared_modulus": lambda v: np.abs(v) ** 2 + 0j,
    "cardioid": lambda v: 0.5 * (1.0 + np.cos(np.angle(v))) * v,
    "relu2": lambda v: np.where((v.real > 0) | (v.imag > 0), v.real**2 + 1j * v.imag**2, 0.0),
    "zrelu": lambda v: np.where((np.angle(v) >= 0) & (np.angle(v) <= np.pi / 2), v, 0.0),
}


def make(name, field="complex", dtype=torch.float64):
    activation = get_activation(name, 6 if field == "complex" else 3, field)
    with torch.no_grad():
        for parameter in activation.parameters():
            parameter.copy_(torch.from_numpy(B))
    return activation.to(dtype)


def test_every_activation_has_an_oracle():
    assert set(ACT2CFN) == set(ORACLES)


@pytest.mark.parametrize("field", NUMBER_FIELDS)
@pytest.mark.parametrize("name", sorted(ACT2CFN))
@given(shape=st.lists(st.integers(1, 4), min_size=0, max_size=2), dtype=st.sampled_from(DTYPES))
def test_formula(name, field, shape, dtype):
    x = randn(*shape, 6 if field == "complex" else 3, dtype=dtype)
    values = numbers(field, x)
    expected = ORACLES[name](values + 0j)
    if field == "real":
        expected = expected.real
    tolerance = TOLERANCE[dtype] * (4 if name == "tanh" else 1)
    assert_close(numbers(field, make(name, field, dtype)(x)), expected, tolerance)


def test_holomorphic_tanh_near_its_poles_and_far_away():
    pole = 1j * np.pi / 2
    near = np.array([pole + 0.01, pole - 0.01j, -pole + 0.003 + 0.002j])
    assert_close(z(make("tanh")(halves(near))), np.sinh(near) / np.cosh(near), 1e-9)
    assert_close(z(make("tanh")(halves(np.array([800 + 1j, -800 - 3j])))), np.array([1, -1 + 0j]))
    for dtype in DTYPES:
        x = halves(np.array([pole, -pole, pole + 1e-5]), dtype).requires_grad_()
        out = make("tanh", dtype=dtype)(x)
        (gradient,) = torch.autograd.grad(out.sum(), x)
        assert finite(out, gradient)
        assert out.abs().max() <= 1e3


@pytest.mark.parametrize("m", [0.5, 1.0, 2.0])
def test_hirose_tanh_and_its_series_at_the_origin(m):
    activation = HiroseTanh(m=m)
    modulus = np.concatenate([np.logspace(-8, 1, 40), m**2 * np.array([0.00999999, 0.01, 0.01000001])])
    values = modulus * np.exp(1j * np.arange(modulus.size))
    expected = np.tanh(modulus / m**2) * values / modulus
    out = z(activation(halves(values)))
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    assert np.abs(out).max() <= 1.0
    assert gradcheck(activation, (torch.tensor([[1e-3, 2e-3]], dtype=torch.float64, requires_grad=True) * m**2,))
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    activation(x)[0].backward()
    assert x.grad.tolist() == [m**-2, 0.0]


def test_zrelu_on_the_borders_of_its_quadrant():
    x = np.array([2 + 0j, 3j, -1 + 1j, 1 - 1j, -1 - 1j, 1 + 1j])
    assert_close(z(get_activation("zrelu")(halves(x))), np.array([2, 3j, 0, 0, 0, 1 + 1j]))


def test_modrelu_starts_as_the_identity_and_resets():
    activation = get_activation("modrelu", 6)
    assert activation.bias.shape == (3,)
    x = torch.randn(4, 6)
    torch.testing.assert_close(activation(x), x)
    with torch.no_grad():
        activation.bias.fill_(-1e3)
    assert not activation(x).any()
    activation.reset_parameters()
    assert not activation.bias.any()


def test_prelu_learns_the_slopes_of_torch():
    x, twin = randn(5, 6, grad=True), torch.nn.PReLU(dtype=torch.float64)
    one, several = SplitPReLU().double(), get_activation("split_prelu", 6).double()
    assert (one.weight.shape, several.weight.shape) == ((1,), (3,))
    assert one.no_weight_decay == ("weight",)
    expected = twin(x)
    (slope,) = torch.autograd.grad(expected.square().sum(), twin.weight)
    for activation in (one, several):
        out = activation(x)
        torch.testing.assert_close(out, expected)
        (found,) = torch.autograd.grad(out.square().sum(), activation.weight)
        torch.testing.assert_close(found.sum(0, keepdim=True), slope)
    torch.testing.assert_close(get_activation("split_prelu", 6, "real")(x.float()), expected.float())
    with torch.no_grad():
        one.weight.fill_(7.0)
    one.reset_parameters()
    assert one.weight.item() == 0.25


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(ACT2CFN))
@pytest.mark.parametrize("field", ["complex", "real"])
def test_no_value_or_gradient_overflows_at_any_size(name, field, dtype):
    # A sweep over what the dtype can hold, not one extreme: quotients go wrong in the middle of it.
    low, high = {torch.float16: (-8, 4), torch.float64: (-30, 15)}.get(dtype, (-38, 15))
    sizes = 10.0 ** np.arange(low, high + 1)
    values = np.concatenate([[0.0], sizes, -sizes])
    if field == "complex":
        values = np.concatenate([values + 0j, 1j * values, values * (0.6 - 0.8j)])
    x = (halves if field == "complex" else torch.from_numpy)(values[:, None]).to(dtype).requires_grad_()
    for bias in (0.0, 0.25, -0.375) if name == "modrelu" else (None,):
        activation = get_activation(name, x.shape[-1], field).to(dtype)
        if bias is not None:
            torch.nn.init.constant_(activation.bias, bias)
        out = activation(x)
        gradients = torch.autograd.grad(out.sum(), [x, *activation.parameters()])
        for result in (out, *gradients):
            assert finite(result), (x[~torch.isfinite(result).all(-1)], bias)


def test_bad_values():
    assert_refused(r"activation must be one of \['cardioid', .*'zrelu'\], got 'relu'", get_activation, "relu")
    assert_refused("num_features must be given", get_activation, "modrelu")
    assert_refused(r"\['complex', 'real'\], got 'dual'", get_activation, "split_relu", number_field="dual")
