# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Parameters of real recurrent layers as Triton kernels, against complex products in complex128."""

from __future__ import annotations

import pytest
import torch

from complex_transformers.kernels.accelerator import recurrent_weights, switch
from complex_transformers.nn import ComplexGRU, ComplexLSTM, use_kernels
from complex_transformers.nn.recurrent import torch_kernels
from interpreter import DEVICE
from oracles import TOLERANCE, randomize

LAYERS = {"lstm": ComplexLSTM, "gru": ComplexGRU}
DTYPES = (torch.float32, torch.bfloat16)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(recurrent_weights, "TILE", (4, 2))


def products(layer, index, x, h):
    """What the real layer computes from x and h before squashing, ``[gates, 2, d]`` each, in complex128."""
    found = []
    for part, z in ((layer.input_proj[index], x), (layer.recurrent_proj[index], h)):
        weight = torch.complex(part.real.weight.double(), part.imag.weight.double())
        z = weight @ torch.complex(*z.double().chunk(2))
        z = z if part.bias is None else z + torch.complex(*part.bias.double().chunk(2))
        z = z.view(layer.num_gates, -1)
        rows, number = [], 0
        for gate in range(layer.num_gates):
            if gate == 2:
                rows.append(torch.stack([z[gate].real, z[gate].imag]))
                continue
            value = z[gate].real
            if layer.gate == "projected":
                alpha, beta = layer.gate_parameter(index).double()[:, number]
                value, number = alpha * z[gate].real + beta * z[gate].imag, number + 1
            rows.append(torch.stack([value, value]))
        found.append(torch.stack(rows))
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"gate": "real_part", "bidirectional": True}], ids=str)
@pytest.mark.parametrize("kind", LAYERS)
def test_parameters_and_gradients(launched, kind, options, dtype):
    layer = randomize(LAYERS[kind](6, 10, **options)).to(DEVICE)
    indices = range(layer.num_directions)
    parameters = torch_kernels.in_cudnn_order([layer._weights_of(index) for index in indices], dtype)
    assert {p.dtype for p in parameters} == {dtype}
    count, (x, h) = len(parameters) // len(indices), (torch.randn(width, device=DEVICE) for width in (6, 10))
    found, expected = [], []
    for index in indices:
        w, u, *biases = (p.double() for p in parameters[index * count : (index + 1) * count])
        b, c = biases or (0.0, 0.0)
        found += [w @ x.double() + b, u @ h.double() + c]
        expected += [rows.flatten() for rows in products(layer, index, x, h)]
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=4 * TOLERANCE[dtype])
    cotangents = [torch.randn(value.shape, dtype=value.dtype, device=DEVICE) for value in found]
    grads, exact = (torch.autograd.grad(values, list(layer.parameters()), cotangents) for values in (found, expected))
    pieces = 4 * len(indices) if biases and kind == "gru" else (3 if biases else 2) * len(indices)
    assert launched == ["recurrent_rows"] * pieces + ["recurrent_parts"] * pieces
    for one, two in zip(grads, exact, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, two, rtol=0, atol=TOLERANCE[dtype] * max(1.0, two.abs().max().item()))


def test_second_derivatives_and_unsupported_parameters_use_the_formula(launched):
    layer = randomize(ComplexLSTM(4, 6)).to(DEVICE)
    directions, leaves = [layer._weights_of(0)], list(layer.parameters())

    def twice():
        total = sum(p.pow(3).sum() for p in torch_kernels.in_cudnn_order(directions, torch.float32))
        first = torch.autograd.grad(total, leaves, create_graph=True)
        return torch.autograd.grad(sum(grad.square().sum() for grad in first), leaves)

    found = twice()
    assert launched == ["recurrent_rows"] * 3 + ["recurrent_parts"] * 3  # in the second pass only
    with use_kernels(False):
        torch.testing.assert_close(found, twice(), rtol=1e-4, atol=1e-3)
    launched.clear()
    torch_kernels.in_cudnn_order([layer.double()._weights_of(0)], torch.float64)
    assert switch.DEVICES == (DEVICE,)
    assert not launched
