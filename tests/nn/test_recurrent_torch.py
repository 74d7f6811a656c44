# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""LSTM and GRU by torch's fused kernels, as on a GPU, against the step loop; its formulas: ``test_recurrent.py``."""

from __future__ import annotations

import pytest
import torch
from recurrent_oracles import LAYERS, first_states

from complex_transformers.nn import ComplexGRU, ComplexLSTM
from complex_transformers.nn.recurrent import layers as recurrent, torch_kernels
from oracles import randn, randomize

MASKS = {
    "none": None,
    "right": [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]],
    "left": [[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]],
    "holes": [[1, 0, 1, 0, 1], [0, 1, 1, 0, 1], [0, 1, 0, 1, 0]],
    "empty row": [[1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]],
}


@pytest.fixture
def calls(monkeypatch):
    """The CPU counts as a GPU; returns the calls of torch's kernels."""
    found = []

    def scan(*args):
        found.append(args)
        return original(*args)

    original = torch_kernels.run_layer
    monkeypatch.setattr(torch_kernels, "run_layer", scan)
    monkeypatch.setattr(recurrent, "TORCH_DEVICES", ("cpu",))
    monkeypatch.setattr(recurrent, "_MIN_SCAN_ROWS", 100)
    return found


def make(kind, gate="projected", dtype=torch.float32, **options):
    options = {"num_layers": 2} | options
    return randomize(LAYERS[kind](4, 6, gate=gate, dtype=dtype, **options)).to(dtype)


def outputs(layer, x, hx, mask):
    out, last = layer(x, hx, mask)
    return [out, *states_of(last)]


def states_of(last):
    return list(last) if isinstance(last, tuple) else [last]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("gate", ["projected", "real_part"])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_outputs_and_gradients_equal_the_step_loop(kind, gate, bidirectional, bias, mask, calls, monkeypatch):
    layer = make(kind, gate, bias=bias, bidirectional=bidirectional)
    x, hx = randn(5, 3, 4, dtype=torch.float32, grad=True), first_states(layer, 3, torch.float32)
    mask = None if MASKS[mask] is None else torch.tensor(MASKS[mask]).t()
    states = hx if isinstance(hx, tuple) else (hx,)
    for state in states:
        state.requires_grad_()

    def results():
        found = outputs(layer, x, hx, mask)
        torch.manual_seed(1)
        directions = [torch.randn_like(value) for value in found]
        return found, torch.autograd.grad(found, [x, *states, *layer.parameters()], directions)

    found, grads = results()
    assert len(calls) == 2
    monkeypatch.setattr(recurrent, "TORCH_DEVICES", ())
    expected, expected_grads = results()
    assert len(calls) == 2
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-6)
    for one, two in zip(grads, expected_grads, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_other_dtypes(kind, dtype, calls, monkeypatch):
    mask = torch.tensor(MASKS["left"]).t()
    layer, x = make(kind, dtype=dtype), randn(5, 3, 4, dtype=torch.float64).to(dtype)
    found = outputs(layer, x, None, mask)
    assert calls
    assert all(value.dtype == dtype for value in found)
    monkeypatch.setattr(recurrent, "TORCH_DEVICES", ())
    tolerance = {torch.float64: 1e-12, torch.bfloat16: 3e-2, torch.float16: 4e-3}[dtype]
    for one, two in zip(found, outputs(layer, x, None, mask), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_autocast_computes_in_its_dtype_and_trains_in_float32(kind, calls):
    layer, x = make(kind), randn(5, 3, 4, dtype=torch.float32)
    expected = layer(x)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, last = layer(x)
        _, masked_last = layer(x, mask=torch.ones(5, 3))
    assert len(calls) == 6  # two layers, three times
    assert out.dtype == torch.bfloat16
    for one, two in zip(states_of(last), states_of(masked_last), strict=True):
        assert one.dtype == two.dtype == torch.bfloat16
        torch.testing.assert_close(one, two)
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=3e-2)
    out.float().square().sum().backward()
    assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("why", ["gate", "activation", "hook", "export", "transform", "cudnn off", "dtypes"])
def test_other_layers_run_step_by_step(kind, why, calls, monkeypatch):
    options = {"gate": {"gate": "modulus"}, "activation": {"activation": "hirose_tanh"}}.get(why, {})
    layer, x = make(kind, **options), randn(5, 3, 4, dtype=torch.float32)
    if why == "hook":
        for projection in layer.input_proj:
            projection.register_forward_hook(lambda module, args, output: output)
    elif why == "export":
        monkeypatch.setattr(recurrent, "is_exporting", lambda: True)
    elif why == "transform":
        torch.func.vmap(lambda one: layer(one.unsqueeze(1))[0])(x.transpose(0, 1))
    elif why == "cudnn off":
        monkeypatch.setattr(torch.backends.cudnn, "enabled", False)
    elif why == "dtypes":
        layer.input_proj[0].double()
        layer.input_proj[1].double()
    if why in ("gate", "activation", "hook", "cudnn off"):
        layer(x)
    elif why in ("dtypes", "export"):
        assert not layer._suits_torch(x, None)
    assert not calls


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layer", [ComplexLSTM, ComplexGRU])
def test_weights_are_one_tensor_in_the_order_of_cudnn(layer, bidirectional):
    """cuDNN copies weights, with a warning, that are not one block of weights followed by biases."""
    layer = layer(4, 6, bidirectional=bidirectional)
    directions = [layer._weights_of(index) for index in range(1 + bidirectional)]
    parameters = torch_kernels.in_cudnn_order(directions, torch.float32)
    twin = getattr(torch.nn, layer.rnn_type.upper())(4, 6, bidirectional=bidirectional)
    assert [p.shape for p in parameters] == [p.shape for p in twin.parameters()]
    stored = [p for p in parameters if p.dim() == 2] + [p for p in parameters if p.dim() == 1]
    address = stored[0].data_ptr()
    for parameter in stored:
        assert parameter.data_ptr() == address
        address += parameter.numel() * 4
