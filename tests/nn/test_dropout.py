# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from complex_transformers.nn import ComplexDropout
from oracles import DTYPES, TOLERANCE, assert_close, randn, z


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_whole_numbers_are_dropped_at_the_given_rate(p, dtype):
    x = randn(50, 400, dtype=dtype, grad=True)
    out = ComplexDropout(p)(x)
    kept = z(out) != 0
    assert np.array_equal(kept, (z(out).real != 0) & (z(out).imag != 0))  # never one part alone
    assert kept.mean() == pytest.approx(1.0 - p, abs=0.02)
    assert_close(z(out)[kept], z(x)[kept] / (1.0 - p), TOLERANCE[dtype])
    assert 0.05 < kept[:, 0].mean() < 0.99  # rows have masks of their own
    assert len(np.unique(kept, axis=0)) == 50
    out.sum().backward()
    assert_close(z(x.grad), np.where(kept, (1 + 1j) / (1.0 - p), 0), TOLERANCE[dtype])


def test_identity_in_evaluation_and_at_rate_zero():
    x = randn(4, 8)
    assert ComplexDropout(0.5).eval()(x) is x
    assert ComplexDropout(0.0)(x) is x
    assert not ComplexDropout(1.0)(x).any()
