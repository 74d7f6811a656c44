# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Relative attention: its shift, its sinusoids and its inputs; the network's tests hold its oracle."""

import math

import pytest
import torch
from oracles import randomize

from complex_transformers.nn import RelativeMultiheadAttention, relative_positions, relative_shift


@pytest.mark.parametrize(("length", "keys"), [(1, 1), (1, 5), (4, 4), (3, 7)])
def test_the_shift_takes_every_score_to_its_key(length, keys):
    distances = torch.arange(keys, -1, -1).expand(2, length, keys + 1).contiguous()
    shifted = relative_shift(distances)
    assert shifted.shape == (2, length, keys)
    for query in range(length):
        for key in range(keys - length + query + 1):
            assert shifted[0, query, key] == keys - length + query - key


def test_the_shift_copies_nothing():
    scores = torch.randn(2, 3, 4, 8)
    shifted = relative_shift(scores)
    assert shifted.untyped_storage().data_ptr() == scores.untyped_storage().data_ptr()


def test_sinusoids_of_distances():
    table = relative_positions(5, 6, dtype=torch.float64)
    assert table.shape == (6, 6)
    for row, distance in enumerate((5, 4, 3, 2, 1, 0)):
        for m in range(3):
            angle = distance / 10000 ** (2 * m / 6)
            assert table[row, m].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[row, 3 + m].item() == pytest.approx(math.cos(angle), abs=1e-12)
    clamped = relative_positions(5, 6, clamp_len=2, dtype=torch.float64)
    assert torch.equal(clamped[:4], table[3].expand(4, -1))
    assert torch.equal(clamped[3:], table[3:])
    assert relative_positions(3, 4, dtype=torch.bfloat16).dtype == torch.bfloat16


@pytest.mark.parametrize("field", ["real", "complex"])
def test_gradients_are_those_of_differences(field):
    torch.manual_seed(0)
    layer = randomize(RelativeMultiheadAttention(8, 2, number_field=field).double())
    x = torch.randn(1, 3, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda value: layer(value)[0], x)
    layer(x)[0].square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in layer.parameters())


def test_weights_are_causal_and_dropped_while_training():
    layer = randomize(RelativeMultiheadAttention(8, 2, dropout=0.5))
    x = torch.randn(2, 6, 8)
    weights = layer.eval()(x)[1]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 6))
    assert torch.equal(weights, weights.tril())
    dropped = layer.train()(x)[1]
    kept = dropped != 0
    assert 0.2 < kept[weights > 0].float().mean() < 0.8
    torch.testing.assert_close(dropped[kept], 2 * weights[kept])


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="width holds sines and cosines and must be even, got 5; use 6"):
        relative_positions(3, 5)
    with pytest.raises(ValueError, match="clamp_len must be 1 or more, or None for distances as they are, got 0"):
        relative_positions(3, 4, clamp_len=0)
    with pytest.raises(ValueError, match="'split_softmax' is not defined for relative scores"):
        RelativeMultiheadAttention(8, 2, normalization="split_softmax")
    with pytest.raises(ValueError, match=r"positions must be those of 3 keys, \[4, ...\], got 6"):
        RelativeMultiheadAttention(8, 2)(torch.randn(1, 3, 8), positions=relative_positions(5, 8))
