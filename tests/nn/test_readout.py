# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from complex_transformers.nn import Readout
from complex_transformers.nn.readout import READOUTS
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, bias, halves, r, randn, randomize, weight, z

NAMES = sorted(READOUTS)
CASES = [(name, field) for name in NAMES for field in READOUTS[name]]
cases = pytest.mark.parametrize(("name", "field"), CASES)


def oracle(readout, x):
    """Logits by the formulas: SynCoNMT Eq. 15, Thesis 2.52, a real layer on halves or on moduli."""
    p, name = readout.projection, readout.readout
    if name.startswith("scaled"):
        plain = Readout(readout.in_features, readout.out_features, name.removeprefix("scaled_"))
        plain.projection = p
        return r(readout.scale) * oracle(plain, x) + r(readout.bias)
    if name in ("modulus", "squared_modulus"):
        return np.abs(z(x) @ weight(p).T + bias(p)) ** (2 if name == "squared_modulus" else 1)
    if name == "probability_amplitude":
        return np.log(np.abs(z(x) @ weight(p).T + bias(p)) ** 2 + 1e-6)
    features = np.abs(z(x)) if readout.readout == "feature_modulus" else r(x)
    return features @ r(p.weight).T + bias(p)


@cases
@given(d=st.integers(1, 4), out=st.integers(1, 5), dtype=st.sampled_from(DTYPES), with_bias=st.booleans())
def test_formula(name, field, d, out, dtype, with_bias):
    readout = randomize(Readout(2 * d, out, name, field, bias=with_bias)).to(dtype)
    x = randn(2, 3, 2 * d, dtype=dtype)
    logits = readout(x)
    assert logits.shape == (2, 3, out)
    assert logits.dtype == dtype
    assert_close(r(logits), oracle(readout, x), TOLERANCE[dtype] * 2)


def test_phase_of_the_features_is_invisible_where_it_should_be():
    x = randn(3, 6)
    turned = halves(z(x) * np.exp(1.1j))
    for name in NAMES:
        readout = randomize(Readout(6, 2, name).double())
        if name != "concat":
            with torch.no_grad():
                readout.projection.bias.zero_()
        same = np.allclose(r(readout(turned)), r(readout(x)), atol=1e-10)
        assert same == (name != "concat")


@cases
@pytest.mark.parametrize(("size", "mean"), [(5, True), (5, False), (2, True)])
def test_resize(name, field, size, mean):
    readout = randomize(Readout(6, 3, name, field).double())
    readout.requires_grad_(False)
    old = {n: p.clone() for n, p in readout.projection.named_parameters()}
    x = randn(4, 6)
    before = r(readout(x))
    readout.resize(size, mean_resizing=mean)
    assert readout.out_features == size
    assert not any(p.requires_grad for p in readout.parameters())
    after = r(readout(x))
    assert after.shape == (4, size)
    assert_close(after, oracle(readout, x))
    assert_close(after[:, :3], before[:, :size])
    if size > 3 and mean:  # a new class has the mean weight and the mean bias
        for n, p in readout.projection.named_parameters():
            if p.dim() == 2:
                torch.testing.assert_close(p[3:], old[n].mean(0).expand(2, -1))
            else:
                parts = old[n].view(-1, 3).mean(1)
                torch.testing.assert_close(p.view(-1, size)[:, 3:], parts[:, None].expand(-1, 2))


def test_bad_values():
    assert_refused(r"readout must be one of \['concat', 'feature_modulus', 'modulus', 'prob", Readout, 4, 2, "norm")
    assert_refused(r"number_field must be one of \['complex', 'real'\], got 'dual'", Readout, 4, 2, "concat", "dual")
    for name in set(NAMES) - {"concat"}:
        with pytest.raises(ValueError, match="readout must be 'concat' with number_field='real', got"):
            Readout(4, 2, name, "real")
        with pytest.raises(ValueError, match=r"even, got 5\. Use 6"):
            Readout(5, 2, name)
        assert_refused("complex64", Readout(4, 2, name), torch.zeros(1, 4, dtype=torch.complex64), error=TypeError)


def test_an_amplitude_can_say_no_to_a_label():
    """sigmoid of the logits is |z|^2 / (1 + |z|^2): 0 at 0, where sigmoid(|z|^2) is 1/2 (Thesis 2.52, 2.38)."""
    for name, at_zero in (("probability_amplitude", 1e-6), ("squared_modulus", 0.5)):
        readout = randomize(Readout(6, 3, name).double())
        with torch.no_grad():
            readout.projection.bias.zero_()
        assert_close(r(torch.sigmoid(readout(torch.zeros(2, 6, dtype=torch.float64)))), np.full((2, 3), at_zero), 1e-9)
    readout = randomize(Readout(6, 3, "probability_amplitude").double())
    x = randn(4, 6)
    square = np.abs(z(x) @ weight(readout.projection).T + bias(readout.projection)) ** 2
    assert_close(r(torch.softmax(readout(x), dim=-1)), square / square.sum(axis=-1, keepdims=True), 1e-4)
    assert_close(r(torch.sigmoid(readout(x))), square / (1 + square), 1e-4)
