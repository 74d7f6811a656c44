# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounding that knows what a layer reads, against a loop in complex128 that solves for every column anew."""

import numpy as np
import pytest
import torch

from complex_transformers import nn as cnn
from complex_transformers.nn.unit_linear import rounded_weights
from oracles import z
from refusals import refused

PAIRS = {"complex": 1, "conjugate": 1, "widely_linear": 2}
UNITS = np.array([1, 1j, -1, -1j])
every_type = pytest.mark.parametrize("linear_type", PAIRS)


def draw(linear_type, rows=6, columns=10, texts=60):
    """Weights, and correlated features as halves."""
    parts = [torch.randn(rows, columns, dtype=torch.float64) for _ in range(2 * PAIRS[linear_type])]
    mixing = torch.randn(2 * columns, 2 * columns, dtype=torch.float64) / 3
    x = torch.randn(texts, 2 * columns, dtype=torch.float64) @ (mixing + 0.1 * torch.eye(2 * columns))
    return parts, x


def matrix(parts):
    return np.concatenate([(a + 1j * b).numpy() for a, b in zip(parts[::2], parts[1::2], strict=True)], axis=1)


def value(weights):
    return np.concatenate([torch.complex(*cnn.unit_values(c, s.double())).numpy() for c, s in weights], axis=1)


def features(linear_type, x):
    numbers = z(x)
    return {
        "complex": numbers,
        "conjugate": numbers.conj(),
        "widely_linear": np.concatenate([numbers, numbers.conj()], axis=1),
    }[linear_type]


def loop(parts, gram, stages, granularity, damping):
    """Every column in turn; then the columns that are left are those of the least error, by the normal equations."""
    nearest = rounded_weights(parts, stages, granularity)
    scales = [s.double().numpy() for _, s in nearest for _ in range(parts[0].shape[1])]
    wanted = matrix(parts)
    left, rounded = wanted.copy(), np.zeros_like(wanted)
    damped = gram + damping * np.trace(gram).real / len(gram) * np.eye(len(gram))
    order = sorted(range(len(gram)), key=lambda j: -gram[j, j].real)
    for place, j in enumerate(order):
        rest = left[:, j].copy()
        for scale in scales[j]:
            code = np.array([max(range(4), key=lambda c: (w * UNITS[c].conj()).real) for w in rest])
            step = np.where(code % 2 == 0, scale[0], scale[1]) * UNITS[code]
            rounded[:, j] += step
            rest -= step
        behind = order[place + 1 :]
        if behind:
            error = left[:, j] - rounded[:, j]
            shift = np.linalg.solve(damped[np.ix_(behind, behind)], np.outer(damped[behind, j], error))
            left[:, behind] += shift.T
    return rounded


@every_type
def test_what_layers_read(linear_type):
    _, x = draw(linear_type)
    read = features(linear_type, x)
    stored = cnn.stored_gram(x.view(3, 20, -1))
    np.testing.assert_allclose(cnn.gram_matrix(stored, linear_type).numpy(), read.conj().T @ read, atol=1e-11)


@every_type
@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_columns_are_those_of_the_loop(linear_type, granularity, stages):
    parts, x = draw(linear_type)
    read = features(linear_type, x)
    gram = read.conj().T @ read
    found = cnn.calibrated_weights(parts, torch.from_numpy(gram), stages, granularity, 0.05)
    expected = loop(parts, gram, stages, granularity, 0.05)
    wanted = matrix(parts)
    errors = {}
    for name, rounded in (
        ("nearest", value(rounded_weights(parts, stages, granularity))),
        ("found", value(found)),
        ("loop", expected),
    ):
        errors[name] = np.square(np.abs(read @ (wanted - rounded).T)).sum(0)
    # Rows whose nearest units are better keep them.
    better = np.where(errors["loop"] <= errors["nearest"], errors["loop"], errors["nearest"])
    np.testing.assert_allclose(errors["found"], better, rtol=1e-9)
    assert (errors["found"] <= errors["nearest"]).all()
    assert errors["found"].sum() < errors["nearest"].sum()
    np.testing.assert_allclose(
        cnn.squared_errors(torch.from_numpy(wanted - expected), torch.from_numpy(gram)).numpy(), errors["loop"]
    )


@every_type
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_white_features_have_the_nearest_units(linear_type, stages):
    parts, _ = draw(linear_type)
    white = 7.0 * torch.eye(10 * PAIRS[linear_type], dtype=torch.complex128)
    found = cnn.calibrated_weights(parts, white, stages)
    for ours, nearest in zip(found, rounded_weights(parts, stages, "row"), strict=True):
        assert all(map(torch.equal, ours, nearest))


def test_many_columns_and_features_that_repeat():
    """More columns than a block, fewer texts than columns, one feature always 0, in single precision."""
    parts = [torch.randn(8, 150) for _ in range(2)]
    x = torch.randn(40, 300) @ torch.randn(300, 300)
    x[:, 3] = x[:, 153] = 0.0
    gram = cnn.gram_matrix(cnn.stored_gram(x), "complex")
    read = features("complex", x)
    rounded = cnn.calibrated_weights(parts, gram, 2)
    wanted = matrix(parts)
    errors = [
        np.square(np.abs(read @ (wanted - value(weights)).T)).sum()
        for weights in (rounded, rounded_weights(parts, 2, "row"))
    ]
    assert errors[0] < 0.5 * errors[1]


def test_what_cannot_be_told_from():
    parts, x = draw("complex")
    gram = cnn.gram_matrix(cnn.stored_gram(x), "complex")
    refused("the calibration is empty", cnn.stored_gram, torch.zeros(0, 4))
    refused("NaN or infinite features", cnn.stored_gram, torch.full((2, 2), torch.nan))
    refused("reads 10 complex features, and .* shape", cnn.calibrated_weights, parts, gram[:4, :4])
    refused("mean square of the calibration's features is 0.0", cnn.calibrated_weights, parts, 0 * gram)
    refused("damping must be positive, got 0.0", cnn.calibrated_weights, parts, gram, damping=0.0)
    refused("no Cholesky factor", cnn.calibrated_weights, parts, gram - 0.9 * torch.diag(gram.diagonal()))
    refused("the weights hold nan", cnn.calibrated_weights, [torch.nan * parts[0], parts[1]], gram)
