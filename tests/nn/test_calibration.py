# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounding that knows what a layer reads, against a loop in complex128 that solves for every column anew."""

import itertools

import numpy as np
import pytest
import torch

from complex_transformers import nn as cnn
from complex_transformers.nn.low_bit.quantized_linear import rounded_weights
from oracles import joint_scales, z
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


def round_by(scales, wanted, damped):
    """Every column in turn; then the columns that are left are those of the least error, by the normal equations."""
    left, rounded, codes = wanted.copy(), np.zeros_like(wanted), {}
    order = sorted(range(len(damped)), key=lambda j: -damped[j, j].real)
    weights = np.zeros(len(damped))
    for place, j in enumerate(order):
        behind = order[place + 1 :]
        weights[j] = damped[j, j].real
        if behind:
            inverse = np.linalg.inv(damped[np.ix_(behind, behind)])
            weights[j] -= (damped[j, behind] @ inverse @ damped[behind, j]).real
        rest, codes[j] = left[:, j].copy(), []
        for scale in scales[j]:
            code = np.array([max(range(4), key=lambda c: (w * UNITS[c].conj()).real) for w in rest])
            codes[j].append(code)
            step = np.where(code % 2 == 0, scale[0], scale[1]) * UNITS[code]
            rounded[:, j] += step
            rest -= step
        if behind:
            shift = np.linalg.solve(damped[np.ix_(behind, behind)], np.outer(damped[behind, j], rest))
            left[:, behind] += shift.T
    return rounded, left, [codes[j] for j in range(len(damped))], weights


def fit(targets, codes, weights, granularity):
    """Scales ``[stages, 2, rows or 1]`` of the least weighted error: stage by stage, then of rows all together."""
    stages, rows, columns = len(codes[0]), *targets.shape
    groups = [[row] for row in range(rows)] if granularity == "row" else [list(range(rows))]
    scales = np.zeros((stages, 2, len(groups)))
    for (group, among), (axis, part) in itertools.product(enumerate(groups), enumerate((np.real, np.imag))):
        places = list(itertools.product(among, range(columns)))
        units = part(np.array([[UNITS[codes[j][stage][r]] for r, j in places] for stage in range(stages)]))
        wanted = part(np.array([targets[place] for place in places]))
        importance = np.array([weights[j] for _, j in places])
        left = wanted.copy()
        for stage, unit in enumerate(units):
            counted = sum(importance * np.abs(unit))
            scales[stage, axis, group] = np.float16(
                max(0.0, sum(importance * unit * left) / counted) if counted else 0.0
            )
            left -= scales[stage, axis, group] * unit
        if granularity == "row":
            scales[:, axis, group] = joint_scales(units, wanted, scales[:, axis, group], importance)
    return scales


def loop(parts, gram, stages, granularity, damping):
    """Rounded by the scales of the nearest units and by two further ones; of all four what errs least."""
    nearest, columns = rounded_weights(parts, stages, granularity), parts[0].shape[1]
    wanted = matrix(parts)
    damped = gram + damping * np.trace(gram).real / len(gram) * np.eye(len(gram))

    def error(rounded, by):
        errors = [(d.conj() @ by @ d).real for d in wanted - rounded]
        return np.array(errors if granularity == "row" else [sum(errors)] * len(errors))

    best, least = None, np.full(len(wanted), np.inf)
    scales = [s.double().numpy() for _, s in nearest]
    for _ in range(3):
        rounded, targets, codes, weights = round_by([s for s in scales for _ in range(columns)], wanted, damped)
        lower = error(rounded, damped) < least
        best = rounded if best is None else np.where(lower[:, None], rounded, best)
        least = np.minimum(least, error(rounded, damped))
        cuts = [slice(b * columns, (b + 1) * columns) for b in range(len(nearest))]
        scales = [fit(targets[:, cut], codes[cut], weights[cut], granularity) for cut in cuts]
    lower = error(best, gram) < error(value(nearest), gram)
    return np.where(lower[:, None], best, value(nearest))


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
    np.testing.assert_allclose(value(found), expected, rtol=1e-9)
    errors = {}
    for name, rounded in (("found", value(found)), ("nearest", value(rounded_weights(parts, stages, granularity)))):
        errors[name] = np.square(np.abs(read @ (wanted - rounded).T)).sum(0)
        difference, by = torch.from_numpy(wanted - rounded), torch.from_numpy(gram)
        np.testing.assert_allclose(cnn.squared_errors(difference, by).numpy(), errors[name])
    assert errors["found"].sum() < errors["nearest"].sum()
    assert granularity == "tensor" or (errors["found"] <= errors["nearest"]).all()


@every_type
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_white_features_have_units_at_least_as_near(linear_type, stages):
    parts, _ = draw(linear_type)
    white = 7.0 * torch.eye(10 * PAIRS[linear_type], dtype=torch.complex128)
    found, nearest = cnn.calibrated_weights(parts, white, stages), rounded_weights(parts, stages, "row")
    errors = [np.square(np.abs(value(weights) - matrix(parts))).sum(1) for weights in (found, nearest)]
    assert (errors[0] <= errors[1]).all()
    assert (errors[0] < errors[1]).any() == (stages > 1)  # codes by the joint scales
    if stages == 1:
        assert all(
            torch.equal(*pair)
            for ours, theirs in zip(found, nearest, strict=True)
            for pair in zip(ours, theirs, strict=True)
        )


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
    refused("calibration must have at least one token", cnn.stored_gram, torch.zeros(0, 4))
    refused(r"gram must have shape \(10, 10\), got \(4, 4\)", cnn.calibrated_weights, parts, gram[:4, :4])
    for factor in (0.0, torch.nan):
        words = f"finite and not all zero, got a mean square of {factor}"
        refused(words, cnn.calibrated_weights, parts, factor * gram)
    refused("weights must fit float16 scales, got nan", cnn.calibrated_weights, [torch.nan * parts[0], parts[1]], gram)
