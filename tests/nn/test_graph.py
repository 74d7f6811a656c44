# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Graphs over the words of a text and their convolution."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch.autograd import gradcheck

from complex_transformers.nn import GraphConvolution, normalize_adjacency, window_adjacency
from oracles import (
    DTYPES,
    TOLERANCE,
    assert_close,
    assert_refused,
    assert_slopes,
    bias,
    finite,
    numbers,
    r,
    randn,
    randomize,
    weight,
)

MASKS = st.lists(st.booleans(), min_size=1, max_size=8)


def window_oracle(mask: np.ndarray, window: int) -> np.ndarray:
    edges = np.zeros((len(mask), len(mask)))
    places = np.flatnonzero(mask)
    for i, first in enumerate(places):
        for j, second in enumerate(places):
            edges[first, second] = 0 < abs(i - j) <= window
    return edges


def normalized_oracle(adjacency: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Kipf & Welling 2017, Eq. 2, on the real tokens alone."""
    out = np.zeros_like(adjacency)
    pairs = np.ix_(mask, mask)
    edges = np.maximum(adjacency, adjacency.T)[pairs] + np.eye(mask.sum())
    root = np.diag(edges.sum(1) ** -0.5)
    out[pairs] = root @ edges @ root
    return out


def poisoned(adjacency: torch.Tensor, mask: torch.Tensor, value: float) -> torch.Tensor:
    """Another value at every edge from or to padding."""
    return adjacency.masked_fill((mask.unsqueeze(-1) & mask.unsqueeze(-2)) == 0, value)


@given(MASKS, st.integers(1, 9), st.sampled_from([torch.bool, torch.long, torch.float32]))
def test_window(keep, window, dtype):
    mask = torch.tensor([keep, [True] * len(keep)])
    edges = window_adjacency(mask.to(dtype), window)
    assert edges.dtype == torch.float32
    for row in range(2):
        assert np.array_equal(r(edges[row]), window_oracle(mask[row].numpy(), window))


def test_window_follows_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        assert window_adjacency(torch.ones(1, 3), 1).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("window", [0, -1])
def test_window_below_one(window):
    assert_refused(f"window must be positive, got {window}", window_adjacency, torch.ones(1, 3), window)


@given(MASKS, st.sampled_from(DTYPES), st.booleans())
def test_normalisation(keep, dtype, symmetric):
    mask = np.array(keep)
    adjacency = torch.rand(1, len(keep), len(keep)) * (torch.rand(1, len(keep), len(keep)) < 0.6)
    adjacency = (torch.maximum(adjacency, adjacency.mT) if symmetric else adjacency).to(dtype)
    out = normalize_adjacency(adjacency, torch.from_numpy(mask)[None])
    assert out.dtype == dtype
    assert_close(r(out[0]), normalized_oracle(r(adjacency[0]), mask), TOLERANCE[dtype])
    everyone = normalized_oracle(r(adjacency[0]), np.ones_like(mask))
    assert_close(r(normalize_adjacency(adjacency)[0]), everyone, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [torch.bool, torch.long, torch.int8])
def test_edges_of_any_dtype(dtype):
    adjacency = window_adjacency(torch.ones(2, 4), 1)
    assert torch.equal(normalize_adjacency(adjacency.to(dtype)), normalize_adjacency(adjacency))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e30])
def test_edges_of_padding_have_no_influence(value):
    mask = torch.tensor([[0, 1, 1, 1], [1, 0, 1, 0]])
    adjacency = torch.rand(2, 4, 4)
    expected = normalize_adjacency(adjacency, mask)
    got = poisoned(adjacency, mask, value).requires_grad_()
    out = normalize_adjacency(got, mask)
    assert torch.equal(out, expected)
    assert not out[poisoned(torch.ones(2, 4, 4), mask, 0.0) == 0].any()
    out.sum().backward()
    assert finite(got.grad)


def test_wrong_adjacency():
    mask = torch.ones(2, 4)
    for shape in [(4, 4), (2, 4), (2, 4, 3), (2, 1, 4, 4)]:
        assert_refused(r"\[batch, length, length\], got shape", normalize_adjacency, torch.rand(shape))
    for shape in [(2, 3, 3), (1, 4, 4)]:
        message = r"mask must have shape .*, got \(2, 4\) \(the batch and length of adjacency\)"
        assert_refused(message, normalize_adjacency, torch.rand(shape), mask)
    for value in (-0.1, float("nan"), float("inf"), -float("inf")):
        adjacency = torch.rand(2, 4, 4)
        adjacency[1, 2, 3] = value
        for keep in (None, mask):
            assert_refused("adjacency must be finite and non-negative, got", normalize_adjacency, adjacency, keep)


def test_gradient_of_the_weights():
    mask = torch.tensor([[1, 1, 1, 0], [0, 1, 1, 1]])
    adjacency = (torch.rand(2, 4, 4, dtype=torch.float64) + 0.1).requires_grad_()
    assert gradcheck(lambda a: normalize_adjacency(a, mask), (adjacency,))


@pytest.mark.parametrize("field", ["complex", "real"])
@given(data=st.data())
def test_convolution(field, data):
    d_in, d_out, n = (data.draw(st.integers(1, 4)) for _ in range(3))
    dtype, with_bias = data.draw(st.sampled_from(DTYPES)), data.draw(st.booleans())
    widths = (2 * d_in, 2 * d_out) if field == "complex" else (d_in, d_out)
    layer = randomize(GraphConvolution(*widths, bias=with_bias, number_field=field)).to(dtype)
    x = randn(2, n, widths[0], dtype=dtype)
    adjacency = normalize_adjacency(torch.rand(2, n, n, dtype=torch.float64)).to(dtype)
    expected = r(adjacency) @ numbers(field, x) @ weight(layer.linear).T + bias(layer.linear)
    assert_close(numbers(field, layer(x, adjacency)), expected, TOLERANCE[dtype])


def test_gradient_of_the_adjacency():
    assert_slopes(GraphConvolution(4, 6), randn(2, 3, 4, grad=True), randn(2, 3, 3, grad=True))


def test_wrong_sizes_and_names():
    assert_refused("even", GraphConvolution, 3, 4)
    assert_refused(r"\['complex', 'real'\]", GraphConvolution, 4, 4, number_field="dual")
