# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions with gradients of their own within ``torch.func``, forward mode, batched gradients and autocast."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad

import complex_transformers.nn as cnn
import complex_transformers.nn.functional as CF
from oracles import randn, randomize

ATTENTION = partial(cnn.ComplexMultiheadAttention, 8, 2)
RELATIVE = partial(cnn.RelativeMultiheadAttention, 8, 2)
# A layer, what is asked of it, and a shape of its input.
CASES = {
    "modulus": (nn.Identity, lambda _, x: CF.modulus(x), (3, 8)),
    "linear, three products": (partial(cnn.ComplexLinear, 8, 6), nn.Module.__call__, (1024, 8)),
    "linear, few rows": (partial(cnn.ComplexLinear, 512, 512), nn.Module.__call__, (5, 512)),
    "linear, widely": (partial(cnn.WidelyLinear, 8, 6), nn.Module.__call__, (5, 8)),
    "linear, widely, few rows": (partial(cnn.WidelyLinear, 512, 512), nn.Module.__call__, (5, 512)),
    "linear, real": (partial(cnn.RealLinear, 160, 160), nn.Module.__call__, (3, 160)),
    "product": (nn.Identity, lambda _, x: CF.multiply(x, x.flip(-2)), (3, 8)),
    "product with one number": (nn.Identity, lambda _, x: CF.multiply(x, x[:1, 3:5]), (3, 8)),
    "layer norm": (partial(cnn.ComplexLayerNorm, 8), nn.Module.__call__, (5, 8)),
    "attention": (ATTENTION, lambda layer, x: layer(x, x, x, need_weights=False)[0], (2, 5, 8)),
    "attention, weights": (ATTENTION, lambda layer, x: layer(x, x, x)[0], (2, 5, 8)),
    "relative attention": (RELATIVE, lambda layer, x: layer(x)[0], (2, 5, 8)),
    "relative attention, real": (partial(RELATIVE, score="real"), lambda layer, x: layer(x)[0], (2, 5, 8)),
    "LSTM": (partial(cnn.ComplexLSTM, 8, 6), lambda layer, x: layer(x)[0], (3, 16, 8)),
    "diagonal recurrence": (partial(cnn.DiagonalRecurrence, 8), lambda layer, x: layer(x)[0], (5, 2, 8)),
}


def function_of(name, dtype=torch.float64):
    """The function in a dtype, and a shape of its input."""
    make, call, shape = CASES[name]
    return partial(call, randomize(make().to(dtype))), shape


@pytest.mark.parametrize("name", CASES)
def test_functions_of_many_inputs(name):
    function, shape = function_of(name)
    x = randn(2, *shape)

    def loss(value):
        return function(value).square().sum()

    torch.testing.assert_close(torch.func.vmap(function)(x), torch.stack([function(one) for one in x]))
    leaves = [one.clone().requires_grad_() for one in x]
    expected = torch.stack([torch.autograd.grad(loss(leaf), leaf)[0] for leaf in leaves])
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(loss))(x), expected)


@pytest.mark.parametrize("name", CASES)
def test_forward_mode(name):
    function, shape = function_of(name)
    x, tangent = randn(*shape), randn(*shape)
    expected = torch.autograd.functional.jvp(function, x, tangent)[1]
    torch.testing.assert_close(torch.func.jvp(function, (x,), (tangent,))[1], expected)
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(function(forward_ad.make_dual(x, tangent))).tangent
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", CASES)
def test_many_gradients_at_once(name):
    function, shape = function_of(name)
    x = randn(*shape, grad=True)
    out = function(x)
    cotangents = randn(3, *out.shape)
    (found,) = torch.autograd.grad(out, x, cotangents, retain_graph=True, is_grads_batched=True)
    for got, cotangent in zip(found, cotangents, strict=True):
        torch.testing.assert_close(got, torch.autograd.grad(out, x, cotangent, retain_graph=True)[0])


@pytest.mark.parametrize("name", CASES)
def test_a_backward_pass_under_autocast_of_a_forward_pass_without(name):
    function, shape = function_of(name, torch.float32)
    x = randn(*shape, dtype=torch.float32, grad=True)
    out = function(x)
    (expected,) = torch.autograd.grad(out, x, out.detach(), retain_graph=True)
    with torch.autocast("cpu", torch.bfloat16):
        (found,) = torch.autograd.grad(out, x, out.detach())
        assert torch.is_autocast_enabled("cpu")
    exact = (
        "modulus",
        "linear, three products",
        "layer norm",
        "diagonal recurrence",
        "product",
        "product with one number",
    )
    # Others have products of autograd's own, which it takes in half precision.
    assert torch.equal(found, expected) if name in exact else (found - expected).norm() < 0.05 * expected.norm()


def test_hessian_of_moduli():
    x = randn(6)
    expected = torch.autograd.functional.hessian(lambda v: CF.modulus(v).sum(), x)
    torch.testing.assert_close(torch.func.hessian(lambda v: CF.modulus(v).sum())(x), expected)
    found = torch.func.hessian(lambda v: CF.modulus(v).sum())(torch.zeros(6))
    assert not found.any()
    assert not torch.func.jacfwd(CF.modulus)(torch.zeros(6)).any()
