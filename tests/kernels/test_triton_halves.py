# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex products and dropout as Triton kernels."""

from __future__ import annotations

import pytest
import torch

import complex_transformers.nn.functional as CF
from complex_transformers.kernels import product
from complex_transformers.kernels.accelerator import halves, switch
from complex_transformers.nn import ComplexDropout, use_kernels
from interpreter import DEVICE
from oracles import TOLERANCE

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
SHAPES = {
    "equal": ((2, 3, 10), (2, 3, 10)),
    "vectors": ((10,), (10,)),
    "four axes": ((2, 3, 4, 6), (2, 3, 4, 6)),
    "positions": ((2, 3, 4, 6), (1, 1, 4, 6)),
    "positions first": ((2, 1, 4, 6), (2, 3, 4, 6)),
    "fewer axes": ((2, 3, 10), (10,)),
}


@pytest.fixture(autouse=True)
def small_tiles(launched, monkeypatch):
    monkeypatch.setattr(halves, "TILE", 16)
    # On the CPU the products of plain float32 have a function of their own.
    monkeypatch.setattr(product, "is_plain_cpu", lambda x: False)


def made(shape, dtype):
    """Halves that are not contiguous."""
    return torch.randn(*shape[:-1], 2 * shape[-1]).to(DEVICE, dtype)[..., ::2].requires_grad_()


def exact(x, y):
    z, w = (torch.complex(*value.double().chunk(2, dim=-1)) for value in (x, y))
    return torch.cat([(z * w).real, (z * w).imag], dim=-1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shapes", SHAPES)
def test_product_and_gradients(launched, shapes, dtype):
    x, y = (made(shape, dtype) for shape in SHAPES[shapes])
    out = CF.multiply(x, y)
    expected = exact(x, y)
    cotangent = torch.randn(out.shape).to(out)
    found = [out, *torch.autograd.grad(out, (x, y), cotangent)]
    assert launched == ["product", "product_backward"]
    wanted = [expected, *torch.autograd.grad(expected, (x, y), cotangent.double())]
    for one, two in zip(found, wanted, strict=True):
        assert one.dtype == dtype
        size = max(1.0, two.abs().max().item())
        torch.testing.assert_close(one.double(), two.double(), rtol=0, atol=4 * TOLERANCE[dtype] * size)


@pytest.mark.parametrize("frozen", [0, 1])
def test_one_gradient(launched, frozen):
    factors = [made((2, 3, 10), torch.float32), made((2, 3, 10), torch.float32)]
    factors[frozen] = factors[frozen].detach()
    trained = factors[1 - frozen]
    (found,) = torch.autograd.grad(CF.multiply(*factors).sum(), trained)
    (expected,) = torch.autograd.grad(exact(*factors).sum(), trained)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert launched == ["product", "product_backward"]


def test_gradient_of_the_gradient(launched):
    x, y = made((2, 10), torch.float32), made((2, 10), torch.float32)

    def twice():
        first = torch.autograd.grad(CF.multiply(x, y).square().sum(), (x, y), create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), (x, y))

    found = twice()
    assert launched == ["product", "product_backward"]
    with use_kernels(False):
        torch.testing.assert_close(found, twice())


def test_other_factors_use_the_formula(launched):
    x = made((2, 3, 10), torch.float32)
    CF.multiply(x, x.double())
    CF.multiply(x.double(), x.double())
    CF.multiply(made((2, 1, 10), torch.float32), made((1, 3, 10), torch.float32))
    CF.multiply(made((1, 1, 1, 2, 4), torch.float32), made((1, 1, 1, 2, 4), torch.float32))
    torch.func.vmap(CF.multiply)(x, x)
    torch.compile(CF.multiply, backend="eager", fullgraph=True)(x, x)
    assert launched == []


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(2, 3, 10), (6,), (2, 3, 4, 6)])
def test_modulus_and_gradient(launched, shape, dtype):
    x = made(shape, dtype)
    out = CF.modulus(x)
    assert out.dtype == dtype
    exact = torch.complex(*x.detach().double().chunk(2, dim=-1)).requires_grad_()
    cotangent = torch.randn(out.shape).to(out)
    (found,) = torch.autograd.grad(out, x, cotangent)
    assert launched == ["modulus", "modulus_backward"]
    (wanted,) = torch.autograd.grad(exact.abs(), exact, cotangent.double())
    torch.testing.assert_close(out.double(), exact.detach().abs(), rtol=TOLERANCE[dtype], atol=1e-6)
    wanted = torch.cat([wanted.real, wanted.imag], dim=-1)
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=4 * TOLERANCE[dtype])


def test_modulus_of_extreme_values(launched):
    largest, nan = torch.finfo(torch.float32).max, float("nan")
    values = [
        (0.0, 0.0),
        (3e30, 4e30),
        (3e-30, 4e-30),
        (largest, largest),
        (float("inf"), 1.0),
        (nan, 1.0),
        (1.0, nan),
    ]
    x = torch.tensor(values, device=DEVICE).t().flatten().requires_grad_()
    out = CF.modulus(x)
    expected = torch.tensor([0.0, 5e30, 5e-30, largest, largest, nan, nan], device=DEVICE)
    torch.testing.assert_close(out, expected, equal_nan=True)
    (grad,) = torch.autograd.grad(out[:4].sum(), x)
    grad = grad.view(2, -1)[:, :4]
    torch.testing.assert_close(grad[:, :3].cpu(), torch.tensor([[0.0, 0.6, 0.6], [0.0, 0.8, 0.8]]))
    assert grad.isfinite().all()
    half = torch.full((2,), 6e4, device=DEVICE, dtype=torch.float16)
    assert CF.modulus(half) == torch.finfo(torch.float16).max


def test_second_derivative_of_the_modulus(launched):
    x = made((2, 6), torch.float32)

    def twice():
        (first,) = torch.autograd.grad(CF.modulus(x).square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.pow(3).sum(), x)[0]

    found = twice()
    with use_kernels(False):
        torch.testing.assert_close(found, twice())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dropout_zeroes_both_halves_and_keeps_the_mean(launched, dtype, monkeypatch):
    monkeypatch.setattr(halves, "TILE", 4096)
    layer, x = ComplexDropout(0.25), torch.ones(40, 50, 20, device=DEVICE, dtype=dtype, requires_grad=True)
    out = layer(x)
    real, imag = out.chunk(2, dim=-1)
    assert torch.equal(real, imag)
    assert out.unique().tolist() == pytest.approx([0.0, 4 / 3], rel=TOLERANCE[dtype])
    assert abs((real == 0).double().mean().item() - 0.25) < 0.01  # 20,000 draws
    rows = (real == 0).flatten(1).double().mean(-1)
    assert 0.15 < rows.min() < rows.max() < 0.35  # 500 draws each: places do not share draws
    assert not torch.equal(layer(x), out)
    (grad,) = torch.autograd.grad(out, x, torch.ones_like(out))
    assert torch.equal(grad, out)
    assert launched == ["dropout"] * 3


@pytest.mark.parametrize("in_a_graph", [False, True])
def test_dropout_follows_the_seed_and_has_second_derivatives(launched, in_a_graph, monkeypatch):
    if in_a_graph:
        monkeypatch.setattr(switch, "draw_seed", lambda x: torch.randint(2**62, (), device=x.device))
    layer, x = ComplexDropout(0.5), torch.randn(3, 8, device=DEVICE, requires_grad=True)
    torch.manual_seed(3)
    out = layer(x)
    torch.manual_seed(3)
    assert torch.equal(layer(x), out)
    keep = (out / x).detach()
    (first,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 2 * keep.square())
    cotangents = torch.randn(4, 3, 8, device=DEVICE)
    (found,) = torch.autograd.grad(out, x, cotangents, is_grads_batched=True)
    torch.testing.assert_close(found, cotangents * keep)


def test_dropout_in_graphs_and_transforms_uses_the_formula(launched):
    layer, x = ComplexDropout(0.5), torch.ones(3, 8, device=DEVICE)
    torch.compile(layer, backend="eager", fullgraph=True)(x)
    torch.func.vmap(layer, randomness="different")(x)
    layer.eval()(x)
    assert launched == []
