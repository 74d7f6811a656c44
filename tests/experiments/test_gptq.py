# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Uniform grids and GPTQ for real weights, against loops in double precision that solve for every column anew."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from experiments.lift.gptq import DAMPING, SHARES, Grid, gptq, nearest
from experiments.lift.learned_scales import LEARNED, LearnedScale

GRIDS = {
    "2 bits, rows": Grid(0.0, 3.0, shifted=True),
    "3 bits, groups": Grid(0.0, 7.0, shifted=True, group_size=5),
    "2 bits, groups, published": Grid(0.0, 3.0, shifted=True, group_size=5, published=True),
    "ternary": Grid(-1.0, 1.0),
    "balanced, groups": Grid(-1.5, 1.5, group_size=7),
}
every_grid = pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)


def draw(rows: int = 7, columns: int = 12, tokens: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return weights ``[out, in]`` and correlated inputs ``[tokens, in]``."""
    random = np.random.default_rng(0)
    mixing = random.normal(size=(columns, columns)) / 3 + 0.1 * np.eye(columns)
    return random.normal(size=(rows, columns)), random.normal(size=(tokens, columns)) @ mixing


def half(value: float) -> float:
    return float(np.float16(value))


def cells(weight: np.ndarray, grid: Grid) -> Iterator[tuple[int, slice]]:
    """Yield every row and group of columns."""
    size = grid.group_size or weight.shape[1]
    for row in range(len(weight)):
        for start in range(0, weight.shape[1], size):
            yield row, slice(start, min(start + size, weight.shape[1]))


def level(value: float, scale: float, offset: float, grid: Grid) -> float:
    """Return the nearest level by trying all of them; the lowest with scale 0."""
    levels = np.arange(grid.low, grid.high + 1)
    return levels[np.argmin(np.abs(value - offset - scale * levels))] if scale else grid.low


def searched(values: np.ndarray, grid: Grid) -> tuple[float, float]:
    """Return the scale and offset of a group: the whole range, or the share of it that has the least squared error."""
    tried = []
    for share in (1.0, *(() if grid.published else SHARES)):
        low, high = share * min(values.min(), 0), share * max(values.max(), 0)
        if grid.shifted:
            scale, offset = half((high - low) / (grid.high - grid.low)), half(low)
        else:
            scale, offset = half(max(high, -low) / grid.high), 0.0
        rounded = [offset + scale * level(value, scale, offset, grid) for value in values]
        tried.append((np.square(values - rounded).sum(), scale, offset))
    return min(tried, key=lambda trial: trial[0])[1:]


def fitted(values: np.ndarray, levels: np.ndarray, weights: np.ndarray, grid: Grid) -> tuple[float, float]:
    """Return the weighted least-squares scale and offset of a group."""
    known = [levels, np.ones_like(levels)] if grid.shifted else [levels]
    roots = np.sqrt(weights)
    if len(set(levels)) == 1 and (grid.shifted or levels[0] == 0.0):
        return 0.0, half(np.average(values, weights=weights)) if grid.shifted else 0.0
    found = np.linalg.lstsq(np.stack(known, axis=1) * roots[:, None], values * roots, rcond=None)[0]
    scale = half(max(found[0], 0.0))
    return scale, half(np.average(values - scale * levels, weights=weights)) if grid.shifted else 0.0


def feed_back(
    weight: np.ndarray, damped: np.ndarray, scales: np.ndarray, offsets: np.ndarray, grid: Grid
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Round every column in turn; the columns that are left minimise the output error, by the normal equations."""
    left, levels, weights = weight.copy(), np.zeros_like(weight), np.zeros(len(damped))
    order = sorted(range(len(damped)), key=lambda column: -damped[column, column])
    for place, column in enumerate(order):
        behind = order[place + 1 :]
        coupling = np.linalg.solve(damped[np.ix_(behind, behind)], damped[behind, column]) if behind else np.zeros(0)
        weights[column] = damped[column, column] - damped[column, behind] @ coupling
        for row in range(len(weight)):
            scale, offset = scales[row, column], offsets[row, column]
            levels[row, column] = level(left[row, column], scale, offset, grid)
            rest = left[row, column] - offset - scale * levels[row, column]
            left[row, behind] += coupling * rest
    return levels, left, weights


def loop(weight: np.ndarray, gram: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight rounded by GPTQ, and rounded to the nearest levels."""
    damped = gram + DAMPING * np.trace(gram) / len(gram) * np.eye(len(gram))
    scales, offsets = np.zeros_like(weight), np.zeros_like(weight)
    for row, part in cells(weight, grid):
        scales[row, part], offsets[row, part] = searched(weight[row, part], grid)
    near = np.vectorize(lambda v, s, o: o + s * level(v, s, o, grid))(weight, scales, offsets)

    def errors(rounded: np.ndarray, by: np.ndarray) -> np.ndarray:
        return np.array([difference @ by @ difference for difference in weight - rounded])

    best, least = near, np.full(len(weight), np.inf)
    for _ in range(1 if grid.published else 3):
        levels, left, weights = feed_back(weight, damped, scales, offsets, grid)
        rounded = offsets + scales * levels
        error = errors(rounded, damped)
        best = np.where((error < least)[:, None], rounded, best)
        least = np.minimum(error, least)
        for row, part in cells(weight, grid):
            scales[row, part], offsets[row, part] = fitted(left[row, part], levels[row, part], weights[part], grid)
    return np.where((errors(best, gram) < errors(near, gram))[:, None], best, near), near


@every_grid
def test_columns_are_rounded_as_by_the_loop(grid: Grid) -> None:
    weight, x = draw()
    expected, near = loop(weight, x.T @ x, grid)
    found = gptq(torch.from_numpy(weight), torch.from_numpy(x.T @ x), grid).values().numpy()
    np.testing.assert_allclose(nearest(torch.from_numpy(weight), grid).values().numpy(), near, rtol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    errors = [np.square(x @ (weight - rounded).T).sum(0) for rounded in (found, near)]
    assert (errors[0] <= errors[1]).all()
    assert errors[0].sum() < 0.8 * errors[1].sum()


def test_white_features_have_the_nearest_levels() -> None:
    weight = torch.from_numpy(draw()[0])
    white = 7.0 * torch.eye(12, dtype=torch.float64)
    for grid in GRIDS.values():
        plain = replace(grid, published=True)  # fits would have a lower error
        assert torch.equal(gptq(weight, white, plain).values(), nearest(weight, plain).values())


def test_constant_rows_and_features_that_are_zero() -> None:
    weight, x = torch.randn(6, 140), torch.randn(50, 140)  # more columns than a block, single precision
    weight[0], weight[1], x[:, 3] = 0.0, 0.25, 0.0
    for grid in (Grid(0.0, 3.0, shifted=True, group_size=64), Grid(-1.5, 1.5), Grid(-1.0, 1.0)):
        found = gptq(weight, x.t() @ x, grid).values()
        assert found.isfinite().all()
        assert not found[0].any()
        errors = [(x @ (weight - values).t()).square().sum(0) for values in (found, nearest(weight, grid).values())]
        assert errors[0].sum() < 0.5 * errors[1].sum()


@pytest.mark.parametrize("rule", LEARNED)
def test_learned_scales_and_their_gradients_are_the_formulas(rule: str) -> None:
    learned = LEARNED[rule]
    low, high = learned.grid.low, learned.grid.high
    weight = torch.tensor([[-3.1, -2.1, -1.3, -0.9, -0.2, 0.1, 0.4, 0.8, 1.2, 3.0]])
    parameter = torch.tensor([[1.5 if learned.stretched else 0.75]])
    layer = LearnedScale(learned, parameter)
    original = weight.clone().requires_grad_()
    coming = torch.linspace(-1.0, 2.0, 10)[None]
    (layer(original) * coming).sum().backward()
    levels = high - low + 1
    values, from_parameter, passes = [], 0.0, []
    for w, grad in zip(weight[0].tolist(), coming[0].tolist(), strict=True):
        a = parameter.item()
        if learned.stretched:  # ParetoQ: a (round(clip(w / a, -1, 1) k / 2 - shift) + shift) / (k / 2)
            shift = high % 1
            clipped = max(-1 + 1e-2, min(1 - 1e-2, w / a))
            value = (round(clipped * levels / 2 - shift) + shift) / (levels / 2)
            inside = abs(w / a) < 1
        else:  # LSQ: s round(clip(w / s, -Q_n, Q_p))
            value = round(max(low, min(high, w / a)))
            inside = low < w / a < high
        values.append(a * value)
        passes.append(inside * grad)
        from_parameter += grad * (value - w / a if inside else value)
    torch.testing.assert_close(layer(weight), torch.tensor([values]))
    torch.testing.assert_close(original.grad, torch.tensor([passes]))
    expected = from_parameter / math.sqrt(10 * math.floor(high))
    assert layer.scale.grad is not None
    assert layer.scale.grad.item() == pytest.approx(expected, rel=1e-5)


def test_first_scales() -> None:
    weight = torch.tensor([[1.0, -2.0, 0.5, 0.5], [4.0, 0.0, 0.0, 0.0]])
    assert LEARNED["lsq"].first(weight).tolist() == [[2.0], [2.0]]  # 2 mean|w| / sqrt(1)
    assert LEARNED["seq"].first(weight).tolist() == [[2.0], [4.0]]  # max|w|
