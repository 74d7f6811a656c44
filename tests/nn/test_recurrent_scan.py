# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""All steps of an LSTM in one function against the same steps one by one; the formulas: ``test_recurrent.py``."""

import weakref

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from complex_transformers.nn import ComplexGRU, ComplexLSTM
from complex_transformers.nn.recurrent import layers as recurrent
from oracles import finite, randn, randomize

HOLES = torch.tensor([[1, 1, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])  # the last row has no step at all


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(recurrent, "_MIN_SCAN_ROWS", 1)


def make(gate="real_part", **options):
    return randomize(ComplexLSTM(4, 6, gate=gate, dtype=torch.float64, **options))


def inputs(layer, batch=3, grad=True):
    rows = layer.num_layers * layer.num_directions
    states = tuple(randn(rows, batch, layer.hidden_size, grad=grad) for _ in range(2))
    return randn(5, batch, layer.input_size, grad=grad), states


def step_by_step(monkeypatch):
    monkeypatch.setattr(ComplexLSTM, "_scan", recurrent._ComplexRecurrent._scan)


@pytest.fixture
def scans(monkeypatch):
    calls = []

    def scan(*args):
        calls.append(args)
        return original(*args)

    original = recurrent.lstm_scan
    monkeypatch.setattr(recurrent, "lstm_scan", scan)
    return calls


def close(one, two):
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("gate", ["real_part", "projected"])
@pytest.mark.parametrize("batch", [3, 1])
@pytest.mark.parametrize("mask", [None, HOLES], ids=["whole", "holes"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_results_and_gradients(bidirectional, bias, mask, batch, gate, monkeypatch, scans):
    layer = make(gate, num_layers=2, bias=bias, bidirectional=bidirectional)
    x, hx = inputs(layer, batch)
    mask = None if mask is None else mask[:, :batch]
    weights = [torch.randn_like(value) for value in (layer(x, hx)[0], *hx)]

    def results():
        out, last = layer(x, hx, mask)
        values = [out, *last]
        gradients = torch.autograd.grad(values, [x, *hx, *layer.parameters()], weights)
        return [*values, *gradients]

    scans.clear()
    ours = results()
    assert len(scans) == layer.num_layers * layer.num_directions
    step_by_step(monkeypatch)
    close(ours, results())


def test_the_largest_numbers_do_not_overflow(monkeypatch, scans):
    layer = make(bidirectional=True).float()
    x = (2e38 * randn(5, 3, layer.input_size).sign()).float()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.clamp_(-0.1, 0.1)
    ours = layer(x)[0]
    assert len(scans) == layer.num_directions
    step_by_step(monkeypatch)
    torch.testing.assert_close(ours, layer(x)[0])
    assert ours.abs().max() > 0.1


@pytest.mark.parametrize("of", [(0,), (1,), (2,), (0, 2), (1, 2)], ids=lambda of: "+".join("ohc"[i] for i in of))
def test_gradients_of_some_of_the_results(of, monkeypatch):
    layer = make()
    x, hx = inputs(layer)

    def gradients():
        out, last = layer(x, hx, HOLES)
        return torch.autograd.grad(sum((out, *last)[i].square().sum() for i in of), [x, *hx, *layer.parameters()])

    ours = gradients()
    step_by_step(monkeypatch)
    close(ours, gradients())


@pytest.mark.parametrize("trained", ["x", "hx", "input_proj", "recurrent_proj", "real", "imag", "bias"])
def test_frozen_parts_change_nothing(trained, monkeypatch):
    layer = make(bidirectional=True)
    for name, parameter in layer.named_parameters():
        parameter.requires_grad_(trained in name.split("."))
    x, hx = inputs(layer, grad=False)
    leaves = [p for p in layer.parameters() if p.requires_grad]
    leaves += [x.requires_grad_()] if trained == "x" else [h.requires_grad_() for h in hx] if trained == "hx" else []

    def gradients():
        out, last = layer(x, hx, HOLES)
        return torch.autograd.grad(sum(value.square().sum() for value in (out, *last)), leaves)

    ours = gradients()
    step_by_step(monkeypatch)
    close(ours, gradients())


@pytest.mark.parametrize("gate", ["real_part", "projected"])
def test_first_and_second_derivatives(gate):
    layer = randomize(ComplexLSTM(2, 2, gate=gate, bidirectional=True, dtype=torch.float64))
    names = [name for name, _ in layer.named_parameters()]
    mask = torch.tensor([[1, 1], [0, 1], [1, 0]])

    def function(x, h, c, *parameters):
        out, last = torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x, (h, c), mask))
        return (out, *last)

    values = [randn(3, 2, 2, grad=True), *(randn(2, 2, 2, grad=True) for _ in range(2))]
    values += [p.detach().clone().requires_grad_() for p in layer.parameters()]
    assert gradcheck(function, values, fast_mode=True)
    assert gradgradcheck(function, values, fast_mode=True)


def test_second_derivatives_of_states_that_depend_on_the_input(monkeypatch):
    layer = make()
    x, _ = inputs(layer)

    def derivatives():
        state = x.sum(0, keepdim=True).repeat(1, 1, 2)[..., : layer.hidden_size].tanh()
        out, last = layer(x, (state, state.square()), HOLES)
        (first,) = torch.autograd.grad(out.square().sum() + last[1].sum(), x, create_graph=True)
        return [first, *torch.autograd.grad(first.square().sum(), [x, *layer.parameters()])]

    ours = derivatives()
    step_by_step(monkeypatch)
    close(ours, derivatives())


def test_a_graph_can_be_gone_through_twice():
    layer = make()
    x, hx = inputs(layer)
    loss = layer(x, hx, HOLES)[0].square().sum()
    close(*(torch.autograd.grad(loss, [x, *hx, *layer.parameters()], retain_graph=True) for _ in range(2)))


def test_other_gates_changed_layers_and_inference_go_step_by_step(scans, monkeypatch):
    class Own(ComplexLSTM):
        def step(self, inputs, product, state, index=0):
            return tuple(0.5 * value for value in super().step(inputs, product, state, index))

    hooked, wrapped = make(), make()
    hooked.recurrent_proj[0].real.register_forward_hook(lambda module, args, output: None)
    wrapped.input_proj[0] = torch.nn.Sequential(wrapped.input_proj[0])
    others = [
        make("split"),
        make("modulus"),
        make(activation="hirose_tanh"),
        hooked,
        wrapped,
        Own(4, 6, dtype=torch.float64),
    ]
    for layer in (*others, ComplexGRU(4, 6, dtype=torch.float64)):
        layer(randn(5, 3, 4))
    with torch.autocast("cpu", torch.bfloat16):
        ComplexLSTM(4, 6)(torch.randn(5, 3, 4))
    ComplexLSTM(4, 6, dtype=torch.bfloat16)(torch.randn(5, 3, 4, dtype=torch.bfloat16))
    frozen = make().requires_grad_(False)
    frozen(randn(5, 3, 4))
    with torch.no_grad():
        make()(randn(5, 3, 4, grad=True))
    monkeypatch.setattr(recurrent, "_MIN_SCAN_ROWS", 4)
    make()(randn(5, 3, 4))
    assert not scans
    make()(randn(5, 4, 4))
    frozen(randn(5, 4, 4, grad=True))
    assert len(scans) == 2


class _Kept:
    def __init__(self, tensor):
        self.tensor = tensor


def test_what_is_kept_is_released():
    kept = []

    def pack(tensor):
        value = _Kept(tensor)
        kept.append(weakref.ref(value))
        return value

    layer = make()
    x, hx = inputs(layer)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value.tensor):
        out, last = layer(x, hx, HOLES)
        assert sum(ref() is not None for ref in kept) > 5
        (out.sum() + last[1].sum()).backward()
    assert all(ref() is None for ref in kept)


@pytest.mark.parametrize("size", [1e15, 1e25, 1e35])
def test_huge_inputs_and_gradients(size):
    layer = ComplexLSTM(8, 64, bidirectional=True)
    x = (size * torch.randn(50, 2, 8)).requires_grad_()
    out, last = layer(x)
    (1e6 * (out.mean() + last[0].sum())).backward()
    assert finite(out, *last, x.grad, *(p.grad for p in layer.parameters()))
