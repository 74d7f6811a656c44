# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent steps as Triton kernels against the formulas, whose complex128 oracle is in ``tests/nn``."""

import pytest
import torch

from complex_transformers.kernels.accelerator import steps
from complex_transformers.nn import ComplexGRU, ComplexLSTM, use_kernels
from interpreter import DEVICE
from oracles import randomize

LAYERS = {"lstm": ComplexLSTM, "gru": ComplexGRU}
NAMES = {"lstm": ["lstm_forward", "lstm_backward"], "gru": ["gru_forward", "gru_backward"]}
STEPS = 3


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(steps, "TILE", 8)


def make(kind, gate, dtype=torch.float32, **options):
    # Folded gates run in cuDNN, or in the products of so many steps.
    return randomize(LAYERS[kind](4, 6, gate=gate, **options)).to(DEVICE, dtype)


def step_kernels(launched):
    return [name for name in launched if name.startswith(("lstm", "gru"))]


def results(layer, x, hx=None, mask=None):
    out, last = layer(x, hx, mask)
    found = [out, *(last if isinstance(last, tuple) else [last])]
    torch.manual_seed(1)
    directions = [torch.randn(value.shape).to(value) for value in found]
    leaves = [x, *(() if hx is None else hx if isinstance(hx, tuple) else [hx]), *layer.parameters()]
    return found, torch.autograd.grad(found, leaves, directions)


@pytest.mark.parametrize("gate", steps.GATES)
@pytest.mark.parametrize("kind", LAYERS)
def test_steps_and_gradients(launched, kind, gate):
    layer = make(kind, gate, bidirectional=True)
    x = torch.randn(STEPS, 3, 4, device=DEVICE, requires_grad=True)
    hx = tuple(torch.randn(2, 3, 6, device=DEVICE, requires_grad=True) for _ in range(layer.num_states))
    hx = hx if layer.num_states > 1 else hx[0]
    mask = torch.tensor([[1, 1, 1], [1, 0, 1], [1, 0, 0]], device=DEVICE)
    with torch.backends.cudnn.flags(enabled=False):
        found, grads = results(layer, x, hx, mask)
        forward, backward = NAMES[kind]
        assert step_kernels(launched) == [forward] * 2 * STEPS + [backward] * 2 * STEPS
        with use_kernels(False):
            expected, expected_grads = results(layer, x, hx, mask)
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-6)
    for one, two in zip(grads, expected_grads, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-5)


GATES = ("modulus", "biased_modulus", "split")
# Each gate in one layer with bfloat16 and in the other with float16, since the interpreter is slow.
HALVES = [
    (kind, gate, (torch.bfloat16, torch.float16)[(i + j) % 2])
    for i, kind in enumerate(LAYERS)
    for j, gate in enumerate(GATES)
]


@pytest.mark.parametrize(("kind", "gate", "dtype"), HALVES)
def test_half_precision_and_autocast(launched, kind, gate, dtype):
    layer, x = make(kind, gate), torch.randn(STEPS, 3, 4, device=DEVICE, requires_grad=True)
    (expected, *_), grads = results(layer, x)
    launched.clear()
    with torch.autocast(torch.device(DEVICE).type, dtype=dtype):
        (out, *_), mixed = results(layer, x)
    (half, *_), _ = results(layer.to(dtype), x.detach().to(dtype).requires_grad_())
    assert len(step_kernels(launched)) == 4 * STEPS
    assert half.dtype == dtype
    for one in (out, half):
        torch.testing.assert_close(one.float(), expected, rtol=0, atol=5e-2)
    for one, two in zip(mixed, grads, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, two, rtol=0, atol=0.1 * max(1.0, two.abs().max().item()))


@pytest.mark.parametrize("kind", LAYERS)
def test_states_of_split_gates_saturate(launched, kind):
    layer = make(kind, "split")
    largest = torch.finfo(torch.float32).max / 8
    hx = torch.full((1, 2, 6), 0.9 * largest, device=DEVICE)
    x = 40.0 * torch.ones(40, 2, 4, device=DEVICE)
    _, last = layer(x, (torch.zeros_like(hx), hx) if kind == "lstm" else hx)
    last = last[1] if kind == "lstm" else last
    with use_kernels(False):
        _, expected = layer(x, (torch.zeros_like(hx), hx) if kind == "lstm" else hx)
    expected = expected[1] if kind == "lstm" else expected
    assert last.isfinite().all()
    torch.testing.assert_close(last, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", LAYERS)
def test_gradient_of_the_gradient(launched, kind):
    layer, x = make(kind, "biased_modulus"), torch.randn(STEPS, 2, 4, device=DEVICE, requires_grad=True)
    parameters = [x, *layer.parameters()]

    def twice():
        first = torch.autograd.grad(layer(x)[0].square().sum(), parameters, create_graph=True)
        return torch.autograd.grad(sum(grad.square().sum() for grad in first), parameters)

    found = twice()
    with use_kernels(False):
        for one, two in zip(found, twice(), strict=True):
            torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", LAYERS)
def test_other_activations_use_the_formula(launched, kind):
    x = torch.randn(STEPS, 2, 4, device=DEVICE)
    make(kind, "modulus", activation="hirose_tanh")(x)
    make(kind, "modulus").double()(x.double())
    layer = make(kind, "modulus")
    torch.func.vmap(lambda one: layer(one.unsqueeze(1))[0])(x.transpose(0, 1))
    assert not step_kernels(launched)
