# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The real matrix of a weight as a Triton kernel against complex128, and the layers that use it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

from complex_transformers.kernels.accelerator import weights
from complex_transformers.kernels.linear import block_matrix, widely_matrix
from complex_transformers.nn import (
    ComplexConv1d,
    ComplexConv2d,
    ComplexDropout,
    ComplexLinear,
    WidelyLinear,
    use_kernels,
)
from interpreter import DEVICE
from oracles import TOLERANCE

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
LAYERS = {
    "linear": lambda: (ComplexLinear(10, 6), (2, 3, 10)),
    "linear without bias": lambda: (ComplexLinear(6, 4, bias=False), (5, 6)),
    "widely linear": lambda: (WidelyLinear(10, 6), (2, 20, 10)),
    "conv1d": lambda: (ComplexConv1d(4, 6, 3), (2, 4, 7)),
    "conv2d": lambda: (ComplexConv2d(4, 2, (2, 3)), (2, 4, 5, 6)),
}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(weights, "TILE", (4, 8))


def complex_matrix(parts):
    """[[Re W, -Im W], [Im W, Re W]] of the columns of the map z -> U z + V conj(z), in complex128."""
    u, v = parts[0] + 1j * parts[1], (parts[2] + 1j * parts[3] if len(parts) == 4 else 0)
    of_real, of_imag = u + v, 1j * (u - v)  # images of z = 1 and of z = i
    return np.concatenate([np.concatenate([m.real, m.imag]) for m in (of_real, of_imag)], axis=1)


@pytest.mark.parametrize("to", DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("shape", [(5, 9), (4, 8), (1, 1), (9, 17)])
def test_matrix_and_gradient(launched, shape, count, dtype, to):
    if count == 4 or shape == (9, 17):  # not contiguous
        parts = [torch.randn(*shape[::-1]).to(DEVICE, dtype).t() for _ in range(count)]
    else:
        parts = [torch.randn(shape).to(DEVICE, dtype) for _ in range(count)]
    for part in parts:
        part.requires_grad_()
    matrix, _ = weights.real_matrix(parts, to)
    assert matrix.dtype == to
    exact = complex_matrix([part.detach().double().cpu().numpy() for part in parts])
    torch.testing.assert_close(matrix.double().cpu(), torch.from_numpy(exact), rtol=TOLERANCE[to], atol=1e-5)
    cotangent = torch.randn(matrix.shape).to(matrix)
    found = torch.autograd.grad(matrix, parts, cotangent)
    assert launched == ["real_matrix", "parts_of"]
    for index, gradient in enumerate(found):
        assert gradient.dtype == dtype
        basis = [np.zeros(shape) for _ in parts]
        expected = np.zeros(shape)
        for place in np.ndindex(shape):
            basis[index][place] = 1.0
            expected[place] = (complex_matrix(basis) * cotangent.double().cpu().numpy()).sum()
            basis[index][place] = 0.0
        limit = max(1.0, abs(expected).max()) * TOLERANCE[dtype]
        torch.testing.assert_close(gradient.double().cpu(), torch.from_numpy(expected), rtol=0, atol=limit)


@pytest.mark.parametrize("count", [2, 4])
def test_a_bias_is_cast_in_the_same_launch(launched, count):
    parts = [torch.randn(9, 17, device=DEVICE, requires_grad=True) for _ in range(count)]
    bias = torch.randn(18, device=DEVICE, requires_grad=True)
    matrix, cast = weights.real_matrix(parts, torch.bfloat16, bias)
    torch.testing.assert_close(cast, bias.bfloat16(), rtol=TOLERANCE[torch.bfloat16], atol=0)  # it may round down
    assert torch.equal(matrix, weights.real_matrix(parts, torch.bfloat16)[0])
    cotangents = torch.randn(18, 34, device=DEVICE).bfloat16(), torch.randn(18, device=DEVICE).bfloat16()
    *found, of_bias = torch.autograd.grad((matrix, cast), [*parts, bias], cotangents)
    assert launched == ["real_matrix", "real_matrix", "parts_of"]
    assert torch.equal(of_bias, cotangents[1].float())
    torch.testing.assert_close(found, list(weights.real_parts(cotangents[0], count, torch.float32)))


@pytest.mark.parametrize("trained", ["weights", "bias", "nothing"])
def test_frozen_parameters_have_no_gradient(launched, trained):
    layer, x = ComplexLinear(10, 6).to(DEVICE), torch.randn(2, 10, device=DEVICE, requires_grad=True)
    for name, parameter in layer.named_parameters():
        parameter.requires_grad_((name == "bias") == (trained == "bias") and trained != "nothing")
    with torch.autocast(torch.device(DEVICE).type, dtype=torch.bfloat16):
        layer(x).sum().backward()
    assert {parameter.grad is not None for parameter in layer.parameters()} == {trained != "nothing", False}
    assert launched == ["real_matrix"] + (["parts_of"] if trained == "weights" else [])


@pytest.mark.parametrize("layer", [ComplexLinear, WidelyLinear])
def test_gradient_of_the_gradient(launched, layer):
    parts = layer(10, 6).to(DEVICE).weight_parts()

    def twice():
        build = block_matrix if len(parts) == 2 else widely_matrix
        first = torch.autograd.grad(build(*parts, dtype=torch.float32).square().sum(), parts, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), parts)

    found = twice()
    assert launched == ["real_matrix", "parts_of", "real_matrix", "parts_of"]
    with use_kernels(False):
        expected = twice()
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_equal_the_formula(launched, name, autocast):
    if name == "widely linear" and DEVICE == "cpu" and not autocast:
        pytest.skip("a CPU has a function of its own")
    layer, shape = LAYERS[name]()
    layer, x = layer.to(DEVICE), torch.randn(shape, device=DEVICE, requires_grad=True)

    def results():
        with torch.autocast(torch.device(DEVICE).type, dtype=torch.bfloat16, enabled=autocast):
            out = layer(x)
        torch.manual_seed(1)
        return [out, *torch.autograd.grad(out, [x, *layer.parameters()], torch.randn(out.shape).to(out))]

    found = results()
    assert launched == ["real_matrix", "parts_of"]
    with use_kernels(False):
        expected = results()
    assert len(launched) == 2
    for one, two in zip(found, expected, strict=True):
        assert one.dtype == two.dtype
        torch.testing.assert_close(one, two, rtol=2e-2 if autocast else 1e-5, atol=2e-2 if autocast else 1e-5)


def test_other_parameters_use_the_formula(launched):
    layer, x = ComplexLinear(4, 4).to(DEVICE), torch.randn(3, 4, device=DEVICE)
    torch.func.vmap(layer)(x)
    torch.compile(layer, backend="eager", fullgraph=True)(x)
    layer.double()(x.double())
    assert launched == []


def test_batched_gradients(launched):
    layer, x = ComplexLinear(4, 4).to(DEVICE), torch.randn(3, 4, device=DEVICE)
    out = layer(x)
    cotangents = torch.randn(5, *out.shape, device=DEVICE)
    found = torch.autograd.grad(out, list(layer.parameters()), cotangents, retain_graph=True, is_grads_batched=True)
    for index, cotangent in enumerate(cotangents):
        expected = torch.autograd.grad(out, list(layer.parameters()), cotangent, retain_graph=True)
        for one, two in zip(found, expected, strict=True):
            torch.testing.assert_close(one[index], two, rtol=1e-5, atol=1e-5)


def test_activation_checkpointing_and_accumulation(launched):
    network = torch.nn.Sequential(ComplexLinear(8, 8), ComplexDropout(0.5), ComplexLinear(8, 4)).to(DEVICE)
    x = torch.randn(6, 8, device=DEVICE)

    def gradients(*batches, checkpointed=False):
        network.zero_grad()
        for batch in batches:
            torch.manual_seed(1)
            with torch.autocast(torch.device(DEVICE).type, dtype=torch.bfloat16):
                out = checkpoint(network, batch, use_reentrant=False) if checkpointed else network(batch)
            out.float().square().sum().backward()
        return [parameter.grad.clone() for parameter in network.parameters()]

    expected = gradients(x, x)
    torch.testing.assert_close(gradients(x, x, checkpointed=True), expected)
    torch.testing.assert_close(expected, [2 * gradient for gradient in gradients(x)], rtol=1e-5, atol=1e-6)
    assert launched.count("real_matrix") == 4 + 8 + 2
