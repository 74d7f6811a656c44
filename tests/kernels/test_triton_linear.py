# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The complex dense layer as a Triton kernel against complex128."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from complex_transformers.kernels.accelerator import linear as accelerated
from complex_transformers.nn import ComplexLinear, functional as CF, use_kernels
from interpreter import DEVICE
from oracles import TOLERANCE

HALF = (torch.bfloat16, torch.float16)
SHAPES = {"a tile": (5, 6, 4), "several tiles": (19, 18, 35), "a row": (1, 3, 2), "many features in": (2, 50, 1)}


def make(shape, dtype, bias=True):
    """Rows that are not next to each other in memory, weights as a layer holds them."""
    rows, d_in, d_out = SHAPES[shape]
    x = torch.randn(rows, 2, 2 * d_in).to(dtype)[:, 1].unflatten(0, (1, rows))
    parts = [torch.randn(d_out, d_in).to(dtype) / d_in**0.5 for _ in range(2)]
    return [value.to(DEVICE) for value in (x, *parts, *([torch.randn(2 * d_out).to(dtype)] if bias else []))]


def oracle(x, real, imag, bias=None):
    """W z + b in complex128."""
    z = torch.complex(*x.chunk(2, dim=-1)) @ torch.complex(real, imag).T
    out = torch.cat([z.real, z.imag], dim=-1)
    return out if bias is None else out + bias


def gradients(function, inputs, cotangent):
    leaves = [x.detach().requires_grad_() for x in inputs]
    out = function(*leaves)
    return [out, *torch.autograd.grad(out, leaves, cotangent.to(out))]


def assert_near(found, expected, dtype):
    for one, two in zip(found, expected, strict=True):
        assert one.dtype == dtype
        size = max(1.0, two.abs().max().item())
        torch.testing.assert_close(one.double(), two.double(), rtol=0.0, atol=TOLERANCE[dtype] * size)


def check(launched, shape, dtype, bias):
    inputs = make(shape, dtype, bias)
    cotangent = torch.randn(1, SHAPES[shape][0], 2 * SHAPES[shape][2])
    found = gradients(CF.linear, inputs, cotangent)
    assert launched == 3 * ["product"]
    expected = gradients(oracle, [x.double() for x in inputs], cotangent.to(dtype))
    assert_near(found, expected, dtype)


@pytest.mark.parametrize(
    ("shape", "dtype", "bias"), [("several tiles", torch.bfloat16, True), ("a tile", torch.float16, False)]
)
def test_product_and_its_gradients(launched, shape, dtype, bias):
    check(launched, shape, dtype, bias)


@pytest.mark.full
@pytest.mark.parametrize(("shape", "dtype", "bias"), product(SHAPES, HALF, (False, True)))
def test_every_shape_and_dtype(launched, shape, dtype, bias):
    check(launched, shape, dtype, bias)


def test_gradient_of_the_gradient(launched):
    inputs, cotangent = make("a tile", torch.float16), torch.randn(1, 5, 8)

    def twice(function, inputs):
        leaves = [x.detach().requires_grad_() for x in inputs]
        out = function(*leaves)
        first = torch.autograd.grad(out, leaves[:3], cotangent.to(out), create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), leaves[:3])

    found = twice(CF.linear, inputs)
    assert launched == ["product"]
    assert_near(found, twice(oracle, [x.double() for x in inputs]), torch.float16)


def test_autocast_multiplies_in_its_dtype(launched):
    layer = ComplexLinear(12, 8, device=DEVICE)
    x = torch.randn(3, 12, device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        out = layer(x)
        out.float().sum().backward()
    assert launched == 2 * ["product"]  # none for x
    assert out.dtype == torch.bfloat16
    assert layer.real.weight.grad.dtype == torch.float32
    with use_kernels(False), torch.autocast(DEVICE, torch.bfloat16):
        torch.testing.assert_close(out, layer(x), rtol=0.0, atol=0.05)


OTHERS = {
    "float32": lambda x, a, b: (x.float(), a.float(), b.float()),
    "two dtypes": lambda x, a, b: (x.half(), a, b),
    "no rows": lambda x, a, b: (x[:, :0], a, b),
    "many rows": lambda x, a, b: (x.expand(500, -1, -1), a, b),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_kernel_does_not_take_goes_the_plain_way(launched, name):
    inputs = OTHERS[name](*make("a tile", torch.bfloat16, bias=False))

    def attempt():
        try:
            return CF.linear(*inputs)
        except RuntimeError as error:  # as without kernels
            return str(error)

    found = attempt()
    assert not launched
    with use_kernels(False):
        expected = attempt()
    assert found == expected if isinstance(found, str) else torch.equal(found, expected)


def test_a_layer_without_kernels_is_near_to_that_with_them(launched):
    layer = ComplexLinear(36, 70).to(DEVICE, torch.bfloat16)
    x = torch.randn(2, 7, 36, device=DEVICE).bfloat16()
    with use_kernels(False):
        expected = layer(x)
    assert not launched
    torch.testing.assert_close(layer(x), expected, rtol=0.0, atol=0.05)
    assert launched == ["product"]
    assert accelerated.linear_operands(x, layer.real.weight, layer.imag.weight, layer.bias) is not None
