# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Unit states and unitary maps against complex128: norms, directions, Cayley's formula, optimiser steps."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch.autograd import gradcheck

from complex_transformers.nn import UnitaryLinear, UnitNorm, unit_norm, vector_norm
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, numbers, r, randn, randomize

FIELDS = ("complex", "real")
fields = pytest.mark.parametrize("field", FIELDS)


def generator(layer):
    """A of the layer, from its free numbers row by row."""
    size = layer.generator.size
    a = np.zeros((size, size), complex)
    a[np.tril_indices(size, -1)] = r(layer.generator.skew)
    a -= a.T
    if layer.generator.symmetric is not None:
        below = np.zeros((size, size))
        below[np.tril_indices(size)] = r(layer.generator.symmetric)
        a += 1j * (below + np.tril(below, -1).T)
    assert np.array_equal(a.conj().T, -a)
    return a


def matrix(layer):
    w = r(layer.matrix())
    return w if layer.number_field == "real" else w[: len(w) // 2] + 1j * w[len(w) // 2 :]


@given(d=st.integers(1, 6), dtype=st.sampled_from(DTYPES), field=st.sampled_from(FIELDS), power=st.integers(-2, 4))
def test_unit_norm_is_the_direction(d, dtype, field, power):
    width = 2 * d if field == "complex" else d
    x = (randn(3, 4, width) * 10.0**power).to(dtype)
    out = UnitNorm()(x)
    assert out.dtype == dtype
    w = numbers(field, x)
    norms = np.linalg.norm(w, axis=-1, keepdims=True)
    assert_close(numbers(field, out), w / norms, TOLERANCE[dtype])
    assert_close(r(vector_norm(x)) / norms, np.ones_like(norms), 1e-6)


@pytest.mark.parametrize("size", [1e-30, 1e30, 3e38])
def test_norms_of_any_size(size):
    x = torch.tensor([[3.0, 0.0, -4.0, 0.0]]) * (size / 4)
    assert_close(r(vector_norm(x)) / size, np.array([[1.25 if size < 3e38 else 3.4028234e38 / 3e38]]), 1e-6)
    expected = [[0.6, 0.0, -0.8, 0.0]] if size > 1e-12 else [[0.0] * 4]
    assert_close(r(unit_norm(x)), np.array(expected), 1e-6)


def test_a_vector_of_zeros_has_no_direction_and_no_slope():
    for dtype in DTYPES:
        x = torch.zeros(2, 4, dtype=dtype, requires_grad=True)
        (unit_norm(x).sum() + vector_norm(x).sum()).backward()
        assert not unit_norm(x).any()
        assert not x.grad.any()


def test_slopes_of_the_direction():
    assert gradcheck(unit_norm, randn(3, 6, grad=True))
    assert gradcheck(vector_norm, randn(3, 6, grad=True))


@fields
@pytest.mark.parametrize("d", [1, 2, 5])
def test_cayley(field, d):
    layer = randomize(UnitaryLinear(2 * d if field == "complex" else d, number_field=field)).double()
    a, identity = generator(layer), np.eye(d)
    expected = np.linalg.solve(identity + a, identity - a)
    assert_close(matrix(layer).astype(complex), expected)
    assert_close(expected.conj().T @ expected, identity.astype(complex))
    x = randn(2, 3, layer.features)
    assert_close(numbers(field, layer(x)).astype(complex), numbers(field, x) @ expected.T)
    free = sum(parameter.numel() for parameter in layer.parameters())
    assert free == (d * d if field == "complex" else d * (d - 1) // 2)


@fields
@pytest.mark.parametrize("rate", [0.1, 10.0])
def test_it_is_unitary_after_any_step(field, rate):
    torch.manual_seed(0)
    layer = UnitaryLinear(24, number_field=field)
    optimizer = torch.optim.SGD(layer.parameters(), lr=rate)
    x, target = unit_norm(torch.randn(32, 24)), unit_norm(torch.randn(32, 24))
    start = matrix(layer)
    for _ in range(5):
        optimizer.zero_grad()
        (layer(x) - target).square().sum().backward()
        optimizer.step()
    w = matrix(layer)
    assert np.abs(w - start).max() > 0.1
    np.testing.assert_allclose(w.conj().T @ w, np.eye(len(w)), atol=1e-5)
    torch.testing.assert_close(vector_norm(layer(x)), torch.ones(32, 1), rtol=0, atol=1e-5)


@fields
def test_each_state_goes_through_its_own_map(field):
    layer = randomize(UnitaryLinear(6, number_field=field, num_maps=4)).double()
    x, ids = randn(3, 5, 6), torch.tensor([[2, 0, 2, 0, 0], [1, 2, 1, 0, 2], [2, 2, 1, 1, 0]])  # no state has map 3
    free = [(layer.generator.skew[k], None if field == "real" else layer.generator.symmetric[k]) for k in range(4)]
    found = numbers(field, layer(x, ids))
    for k, (skew, symmetric) in enumerate(free):
        one = UnitaryLinear(6, number_field=field).double()
        one.generator.skew.data = skew.detach()
        if symmetric is not None:
            one.generator.symmetric.data = symmetric.detach()
        w = matrix(one)
        whole = r(layer.matrix()[k])
        assert_close(whole if field == "real" else whole[: len(w)] + 1j * whole[len(w) :], w)
        assert_close(found[ids == k], numbers(field, x)[ids == k] @ w.T)
    parameters = list(layer.parameters())
    assert gradcheck(lambda x, *_: layer(x, ids), (x.requires_grad_(), *parameters))
    layer(x, ids).square()[..., 0].sum().backward()
    assert all(p.grad[:3].abs().sum((-1,)).min() > 0 and not p.grad[3].any() for p in parameters)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@fields
def test_it_is_solved_in_float32(field, dtype):
    layer = UnitaryLinear(16, std=1.0, number_field=field).to(dtype)
    w = matrix(layer)
    assert layer.matrix().dtype == torch.float32
    np.testing.assert_allclose(w.conj().T @ w, np.eye(len(w)), atol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer.float().matrix().dtype == torch.float32


def test_bad_values():
    for function in (unit_norm, vector_norm):
        assert_refused("complex64", function, torch.zeros(2, 3, dtype=torch.complex64), error=TypeError)
    assert_refused("even, got 5. Use 6", UnitaryLinear, 5)
    x, ids = torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.long)
    assert_refused("map_ids must be None without num_maps", UnitaryLinear(4), x, ids)
    several = UnitaryLinear(4, num_maps=2)
    assert_refused("map_ids must be given with num_maps", several, x)
    assert_refused(r"map_ids must have shape \(2, 3\), got \(2,\)", several, x, ids[:, 0])
    assert_refused(r"map_ids must lie in \[0, 2\), got 2. Use a larger num_maps", several, x, ids + 2)
    assert_refused("map_ids must be integers", several, x, ids.float(), error=TypeError)
    assert_refused(r"number_field must be one of \['complex', 'real'\], got 'dual'", UnitaryLinear, 4, 0.1, "dual")
