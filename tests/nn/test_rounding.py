# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights as sums of units and features in whole steps, against loops over single numbers."""

import cmath
import math

import pytest
import torch

from complex_transformers import nn as cnn
from oracles import round_by_loop
from refusals import refused


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_units_are_those_of_the_loop(stages):
    real, imag = torch.randn(2, 6, 5, dtype=torch.float64)
    expected = round_by_loop(torch.complex(real, imag).flatten().tolist(), stages)
    found = torch.complex(*cnn.round_to_units(real, imag, stages)).flatten()
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.complex128), rtol=1e-12, atol=1e-12)
    assert {part.dtype for part in cnn.round_to_units(real.bfloat16(), imag.bfloat16(), stages)} == {torch.bfloat16}


def test_a_sector_holds_its_lower_edge():
    signs = torch.tensor([[1, -1], [1, 1], [-1, 1], [-1, -1], [1, 0], [-1, 0]], dtype=torch.float64)  # exactly there
    rounded = torch.complex(*cnn.round_to_units(signs[:, 0], signs[:, 1]))
    assert rounded.tolist() == [1, 1j, -1, -1j, 1, -1]
    quarters = [cmath.phase(complex(*sign)) / (math.pi / 4) for sign in signs.tolist()]
    assert quarters == pytest.approx([-1, 1, 3, -3, 0, 4])


def test_one_axis_alone_and_zeros():
    real, imag = cnn.round_to_units(torch.tensor([3.0, -1.0]), torch.zeros(2))
    assert real.tolist() == [2.0, -2.0]
    assert imag.tolist() == [0.0, 0.0]
    real, imag = cnn.round_to_units(torch.zeros(3), torch.zeros(3))
    assert real.tolist() == pytest.approx([1e-6] * 3)  # the least scale, as in the released code


@pytest.mark.parametrize(("bits", "num_parts"), [(8, 2), (4, 2), (8, 1)])
def test_steps_are_those_of_the_loop(bits, num_parts):
    x = torch.randn(3, 4, 10, dtype=torch.float64)
    found = cnn.round_parts(x, bits, num_parts)
    top = 2 ** (bits - 1) - 1
    for token, ours in zip(
        x.view(-1, num_parts, 10 // num_parts), found.view(-1, num_parts, 10 // num_parts), strict=True
    ):
        for part, rounded in zip(token.tolist(), ours.tolist(), strict=True):
            scale = top / max(map(abs, part))
            assert rounded == pytest.approx([round(number * scale) / scale for number in part], abs=1e-12)
    assert not torch.equal(found, x)


def test_the_gradient_passes_straight_through():
    x = torch.randn(2, 6, requires_grad=True)
    weight = torch.randn(2, 6)
    (cnn.round_parts(x, 8) * weight).sum().backward()
    assert torch.equal(x.grad, weight)
    assert cnn.round_parts(x, None) is x
    assert cnn.round_parts(torch.zeros(2, 4), 8).tolist() == [[0.0] * 4] * 2


@pytest.mark.parametrize("number_field", ["complex", "real"])
def test_layers_read_rounded_features(number_field):
    """Both inner inputs, too: with 2 bits a part has at most three values."""
    options = {"number_field": number_field, "activation_bits": 2}
    seen = []
    for layer in (cnn.GroupedQueryAttention(16, 2, **options), cnn.GatedFeedForward(16, 24, **options)):
        for name, module in layer.named_modules():
            if name.endswith("_proj"):
                module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        layer(torch.randn(1, 3, 16))
    assert len(seen) == 7
    for features in seen:
        for part in features.unflatten(-1, (2 if number_field == "complex" else 1, -1)).flatten(0, 2):
            assert len(part.unique()) <= 3
            assert part.abs().max() > 0


def test_bits_are_checked():
    for layer in (cnn.GroupedQueryAttention, cnn.GatedFeedForward):
        refused("activation_bits must be 2 or more, or None .* got 1", layer, 16, 2, activation_bits=1)
