# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
import torch
from oracles import r, weight
from scipy import stats

from complex_transformers.nn import INITIALIZERS, ComplexLinear, RealLinear, initialize_

FAN_IN, FAN_OUT = 120, 360  # numbers of the field

# E|w|^2 by the papers: Glorot & Bengio 2010, He et al. 2015, Trabelsi et al. 2017 section 3.6.
VARIANCE = {"glorot": 2.0 / (FAN_IN + FAN_OUT), "he": 2.0 / FAN_IN}


@pytest.mark.parametrize("name", sorted(VARIANCE))
@pytest.mark.parametrize("share", [False, True])
def test_complex_variance_and_its_parts(name, share):
    layer = ComplexLinear(2 * FAN_IN, 2 * FAN_OUT, share_parts=share)
    with torch.no_grad():
        layer.bias.fill_(7.0)
    layer.reset_parameters(name)
    w = weight(layer)
    assert np.mean(np.abs(w) ** 2) == pytest.approx(VARIANCE[name], rel=0.03)
    assert np.mean(w.real**2) == pytest.approx(VARIANCE[name] / 2, rel=0.03)
    assert np.mean(w.imag**2) == pytest.approx(VARIANCE[name] / 2, rel=0.03)
    assert abs(np.mean(w)) < 4 * np.sqrt(VARIANCE[name] / w.size)
    assert not layer.bias.any()


@pytest.mark.parametrize("name", sorted(VARIANCE))
def test_real_variance(name):
    layer = RealLinear(FAN_IN, FAN_OUT)
    layer.reset_parameters(name)
    assert np.mean(r(layer.weight) ** 2) == pytest.approx(VARIANCE[name], rel=0.03)
    assert not layer.bias.any()


def test_glorot_is_the_default_of_both_fields():
    assert np.mean(np.abs(weight(ComplexLinear(2 * FAN_IN, 2 * FAN_OUT))) ** 2) == pytest.approx(
        VARIANCE["glorot"], rel=0.03
    )
    assert np.mean(r(RealLinear(FAN_IN, FAN_OUT).weight) ** 2) == pytest.approx(VARIANCE["glorot"], rel=0.03)


def test_modulus_is_rayleigh_and_phase_uniform():
    w = weight(ComplexLinear(2 * FAN_IN, 2 * FAN_OUT))[:, :40].ravel()
    sigma = np.sqrt(VARIANCE["glorot"] / 2)
    assert stats.kstest(np.abs(w), stats.rayleigh(scale=sigma).cdf).pvalue > 1e-3
    assert stats.kstest(np.angle(w), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(w.real, w.imag)[0, 1]) < 0.03


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("shape", [(6, 6), (5, 9), (9, 5)])
def test_unitary(shape, share):
    d_out, d_in = shape
    layer = ComplexLinear(2 * d_in, 2 * d_out, share_parts=share, dtype=torch.float64)
    layer.reset_parameters("unitary")
    w = weight(layer)
    gram = w.conj().T @ w if d_out >= d_in else w @ w.conj().T
    np.testing.assert_allclose(gram, np.eye(min(shape)), atol=1e-12)
    if not share:
        assert np.abs(w.imag).max() > 0.1


@pytest.mark.parametrize("shape", [(6, 6), (5, 9), (9, 5)])
def test_orthogonal_in_the_real_field(shape):
    layer = RealLinear(shape[1], shape[0], dtype=torch.float64)
    layer.reset_parameters("unitary")
    w = r(layer.weight)
    np.testing.assert_allclose(w.T @ w if shape[0] >= shape[1] else w @ w.T, np.eye(min(shape)), atol=1e-12)


def test_unitary_is_haar_distributed():
    # QR alone makes the diagonal of R positive and biases Q; Haar entries are symmetric around 0 with E|w|^2 = 1/n.
    corners = []
    for _ in range(400):
        layer = ComplexLinear(4, 4)
        layer.reset_parameters("unitary")
        corners.append(weight(layer)[0, 0])
    corners = np.array(corners)
    assert abs(corners.mean()) < 0.1
    assert np.mean(np.abs(corners) ** 2) == pytest.approx(0.5, abs=0.05)
    assert stats.kstest(np.angle(corners), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3


def test_normal_is_the_deviation_of_each_part():
    parts = torch.empty(300, 300), torch.empty(300, 300)
    initialize_("normal", *parts)
    for part in parts:
        assert part.std().item() == pytest.approx(0.02, rel=0.02)
    initialize_("normal", parts[0], gain=3.0)
    assert parts[0].std().item() == pytest.approx(0.06, rel=0.02)


def test_receptive_field_counts():
    parts = torch.empty(64, 32, 5), torch.empty(64, 32, 5)
    initialize_("glorot", *parts)
    mean = sum(part.square().mean() for part in parts).item()
    assert mean == pytest.approx(2.0 / ((32 + 64) * 5), rel=0.05)


@pytest.mark.parametrize("name", sorted(INITIALIZERS))
def test_every_initializer_follows_the_seed_and_the_gain(name, seed):
    results = []
    for gain in (1.0, 1.0, 2.0):
        parts = torch.empty(8, 8), torch.empty(8, 8)
        torch.manual_seed(seed)
        initialize_(name, *parts, gain=gain)
        results.append(torch.stack(parts))
    assert torch.equal(results[0], results[1])
    torch.testing.assert_close(2.0 * results[0], results[2])


def test_deep_stack_keeps_its_variance():
    # A unitary stack is an isometry, a Glorot stack of square layers keeps E|z|^2 (the thesis used one that does not).
    for name, tolerance in (("unitary", 1e-4), ("glorot", 0.5)):
        x = torch.randn(64, 512)
        start = x.square().mean()
        for _ in range(10):
            layer = ComplexLinear(512, 512, bias=False)
            layer.reset_parameters(name)
            with torch.no_grad():
                x = layer(x)
        assert (x.square().mean() / start).item() == pytest.approx(1.0, rel=tolerance)


def test_bad_values():
    with pytest.raises(ValueError, match=r"\['glorot', 'he', 'normal', 'unitary'\], got 'orthogonal'"):
        initialize_("orthogonal", torch.empty(2, 2))
    with pytest.raises(ValueError, match=r"two axes, got shape \(3,\)"):
        initialize_("he", torch.empty(3))
    with pytest.raises(ValueError, match=r"two axes, got shape \(3, 3, 3\)"):
        initialize_("unitary", torch.empty(3, 3, 3))
