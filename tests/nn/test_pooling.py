# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from complex_transformers.nn import ModulusAvgPool1d, ModulusAvgPool2d, ModulusMaxPool1d, ModulusMaxPool2d
from complex_transformers.nn.arithmetic import NUMBER_FIELDS
from complex_transformers.nn.pooling import modulus_average_pool, modulus_max_pool
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, halves, numbers, randn, z


def average(values: np.ndarray) -> np.ndarray:
    """Thesis 2.28 over axis 0."""
    return (np.abs(values).sum(0) / len(values)).astype(values.dtype)


def largest(values: np.ndarray) -> np.ndarray:
    """Thesis 2.29 over axis 0, feature by feature."""
    return np.take_along_axis(values, np.abs(values).argmax(0)[None], 0)[0]


LAYERS = [
    (ModulusAvgPool1d, 1, average),
    (ModulusAvgPool2d, 2, average),
    (ModulusMaxPool1d, 1, largest),
    (ModulusMaxPool2d, 2, largest),
]


@pytest.mark.parametrize("field", NUMBER_FIELDS)
@pytest.mark.parametrize(("layer", "num_dims", "oracle"), LAYERS)
@given(data=st.data())
def test_windows(layer, num_dims, oracle, field, data):
    axis = st.tuples(*[st.integers(1, 3)] * num_dims)
    one_number = data.draw(st.booleans())  # or one for each axis
    kernel, stride = ((data.draw(st.integers(1, 3)),) * num_dims if one_number else data.draw(axis) for _ in range(2))
    shape = tuple(k + data.draw(st.integers(0, 3)) for k in kernel)
    pool = layer(*((kernel[0], stride[0]) if one_number else (kernel, stride)), number_field=field)
    # Rounding to half precision makes equal moduli: which of them is taken as the largest is left open.
    dtype = data.draw(st.sampled_from(DTYPES if oracle is average else DTYPES[:2]))
    cells = int(np.prod(shape))
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=2 * cells, max_size=2 * cells))).reshape(2, *shape)
    x = randn(2, 6, *shape, dtype=dtype)
    given_values, out, masked = (
        numbers(field, result.movedim(1, -1)) for result in (x, pool(x), pool(x, torch.from_numpy(keep)))
    )
    steps = tuple((n - k) // s + 1 for n, k, s in zip(shape, kernel, stride, strict=True))
    features = given_values.shape[-1]
    assert out.shape == masked.shape == (2, *steps, features)
    for row, *place in itertools.product(range(2), *map(range, steps)):
        window = (row, *(slice(n * s, n * s + k) for n, s, k in zip(place, stride, kernel, strict=True)))
        values, kept = given_values[window].reshape(-1, features), keep[window].ravel()
        assert_close(out[(row, *place)], oracle(values), TOLERANCE[dtype])
        expected = oracle(values[kept]) if kept.any() else np.zeros_like(values[0])
        assert_close(masked[(row, *place)], expected, TOLERANCE[dtype])


def test_stride_defaults_to_the_window():
    x = randn(1, 4, 7)
    assert ModulusMaxPool1d(3)(x).shape == (1, 4, 2)
    assert torch.equal(ModulusMaxPool1d(3)(x), ModulusMaxPool1d(3, 3)(x))
    assert ModulusAvgPool2d((3, 2))(randn(1, 4, 7, 7)).shape == (1, 4, 2, 3)


def test_first_of_equal_moduli_wins():
    x = halves(np.array([[[0.0 + 0j], [3 + 4j], [4 + 3j], [-5.0]]]))
    assert z(modulus_max_pool(x)).item() == 3 + 4j


def test_float16_average_of_large_moduli_does_not_overflow():
    x = torch.full((1, 300, 2), 600.0, dtype=torch.float16)
    expected = np.full((1, 1), 600.0 * np.sqrt(2.0)) + 0j
    assert_close(z(modulus_average_pool(x, torch.ones(1, 300))), expected, 1e-3)
    assert_close(z(modulus_average_pool(x)), expected, 1e-3)


def test_bad_values():
    assert_refused(r"must have 2 sizes, got \(2, 2, 2\)", ModulusMaxPool2d, (2, 2, 2))
    assert_refused(r"\['complex', 'real'\]", ModulusMaxPool1d, 2, number_field="dual")
    message = r"4 axes \[batch, channels, ...\], got \(1, 4, 4\)"
    assert_refused(message, ModulusMaxPool2d(2), randn(1, 4, 4))
    # A mask of another shape would be broadcast without a word.
    message = r"mask must have shape \(2, 4\), got \(1, 4\) for x of shape \(2, 4, 4\)"
    assert_refused(message, ModulusMaxPool1d(2), randn(2, 4, 4), torch.ones(1, 4))
