# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from functools import partial

import numpy as np
import pytest
import torch
from scipy import stats

from complex_transformers.nn import ComplexLinear, RealLinear, initialize_
from complex_transformers.nn.initialization import INITIALIZERS
from oracles import assert_refused, r, weight

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
    assert np.mean(w.real**2) == pytest.approx(VARIANCE[name] / 2, rel=0.03)
    assert np.mean(w.imag**2) == pytest.approx(VARIANCE[name] / 2, rel=0.03)
    assert abs(np.mean(w)) < 4 * np.sqrt(VARIANCE[name] / w.size)
    assert not layer.bias.any()


@pytest.mark.parametrize("name", [*sorted(VARIANCE), None])
def test_real_variance(name):
    layer = RealLinear(FAN_IN, FAN_OUT)
    if name is not None:
        layer.reset_parameters(name)
    assert np.mean(r(layer.weight) ** 2) == pytest.approx(VARIANCE[name or "glorot"], rel=0.03)  # the default
    assert not layer.bias.any()


def test_modulus_is_rayleigh_and_phase_uniform():
    w = weight(ComplexLinear(2 * FAN_IN, 2 * FAN_OUT))[:, :40].ravel()
    sigma = np.sqrt(VARIANCE["glorot"] / 2)
    assert stats.kstest(np.abs(w), stats.rayleigh(scale=sigma).cdf).pvalue > 1e-3
    assert stats.kstest(np.angle(w), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(w.real, w.imag)[0, 1]) < 0.03


def unitary(layer):
    layer.reset_parameters("unitary")
    return layer


@pytest.mark.parametrize("layer", [ComplexLinear, partial(ComplexLinear, share_parts=True), RealLinear])
@pytest.mark.parametrize("shape", [(6, 6), (6, 10), (10, 6)])
def test_unitary(shape, layer):
    w = weight(unitary(layer(*shape, dtype=torch.float64)))
    gram = w.conj().T @ w if len(w) >= w.shape[1] else w @ w.conj().T
    np.testing.assert_allclose(gram, np.eye(min(w.shape)), atol=1e-12)
    assert (layer is ComplexLinear) <= (np.abs(w.imag).max() > 0.1)


def test_unitary_is_haar_distributed():
    # QR alone makes the diagonal of R positive and biases Q; Haar entries are symmetric around 0 with E|w|^2 = 1/n.
    corners = np.array([weight(unitary(ComplexLinear(4, 4)))[0, 0] for _ in range(400)])
    assert abs(corners.mean()) < 0.1
    assert np.mean(np.abs(corners) ** 2) == pytest.approx(0.5, abs=0.05)
    assert stats.kstest(np.angle(corners), stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3


def test_normal_is_the_deviation_of_each_part():
    parts = torch.empty(300, 300), torch.empty(300, 300)
    initialize_("normal", *parts)
    for part in parts:
        assert part.std().item() == pytest.approx(0.02, rel=0.02)


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


def test_bad_values():
    message = r"\['glorot', 'he', 'normal', 'unitary'\], got 'orthogonal'"
    assert_refused(message, initialize_, "orthogonal", torch.empty(2, 2))
    assert_refused(r"must be 2-D for 'unitary', got shape \(3, 3, 3\)", initialize_, "unitary", torch.empty(3, 3, 3))
