# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs of training steps: nothing waits for the GPU or computes on the CPU, and replays follow the inputs.

A capture fails where the CPU waits for a value, and repeats what the CPU has computed. Both show on the meta device:
it has no values to wait for, and every tensor on another device is found.
"""

from __future__ import annotations

import copy
from contextlib import nullcontext

import pytest
import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

import interpreter
from complex_transformers.kernels.accelerator import steps, switch
from complex_transformers.nn import ComplexDropout, ComplexGRU, ComplexLSTM, ComplexMultiheadAttention
from oracles import randomize

LAYERS = {"lstm": ComplexLSTM, "gru": ComplexGRU}


class OnOneDevice(TorchDispatchMode):
    """Raise for an operation that reads or makes a tensor on another device."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for leaf in pytree.tree_leaves((args, kwargs, out)):
            assert not isinstance(leaf, torch.Tensor) or leaf.is_meta, function
        return out


@pytest.fixture
def on_meta(monkeypatch):
    """Take the paths of a GPU during a capture, on the meta device; return the names of the kernels that ran."""
    if not interpreter.HAS_TRITON:
        pytest.skip('Triton is not installed: pip install -e ".[kernels]"')
    names = []
    monkeypatch.setattr(switch, "DEVICES", ("meta",))
    monkeypatch.setattr(switch, "launch", lambda kernel, *_, **__: names.append(kernel.fn.__name__))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda _: False)  # raises for the meta device
    return names


@pytest.mark.parametrize("gate", steps.GATES)
@pytest.mark.parametrize("kind", LAYERS)
def test_a_step_loop_can_be_captured(on_meta, kind, gate):
    options = {"num_layers": 2, "bidirectional": True, "dropout": 0.1, "device": "meta"}
    layer = LAYERS[kind](4, 6, gate=gate, **options)
    x, mask = torch.randn(3, 2, 4, device="meta", requires_grad=True), torch.ones(3, 2, device="meta")
    with OnOneDevice():
        out, _ = layer(x, None, mask)
        out.sum().backward()
    assert on_meta.count(f"{kind}_forward") == on_meta.count(f"{kind}_backward") == 4 * 3
    assert on_meta.count("dropout") == 2


@pytest.mark.parametrize("score", ["real", "modulus"])
def test_attention_can_be_captured(on_meta, score):
    layer = ComplexMultiheadAttention(8, 2, dropout=0.1, score=score).to("meta")
    x, mask = torch.randn(2, 5, 8, device="meta", requires_grad=True), torch.ones(2, 5, device="meta")
    with OnOneDevice():
        out, _ = layer(x, key_padding_mask=mask == 0, need_weights=False)
        out.sum().backward()
    assert ("backward_key" in on_meta) == (score == "modulus")


class Recording:
    """A CUDA graph whose replays change nothing."""

    def replay(self):
        pass


@pytest.mark.parametrize("kind", LAYERS)
def test_torch_captures_the_layers(kind, monkeypatch):
    """Capture without a GPU: the outputs and gradients of the capture stay where they are."""
    for name in ("graph", "graph_pool_handle", "synchronize", "Stream", "stream"):
        for module in (torch.cuda, torch.cuda.graphs):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, lambda *_, **__: nullcontext())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Recording)
    layer, x = randomize(LAYERS[kind](4, 6, gate="biased_modulus")), torch.randn(3, 2, 4, requires_grad=True)
    expected = copy.deepcopy(layer)(x)
    graphed = torch.cuda.make_graphed_callables(layer, (x,))
    torch.testing.assert_close(graphed(x), expected)
    torch.autograd.grad(graphed(x)[0].sum(), [x, *layer.parameters()])


@pytest.mark.skipif(interpreter.DEVICE != "cuda", reason="needs a GPU: CT_TEST_DEVICE=cuda")
@pytest.mark.parametrize("gate", ["split", "biased_modulus", "projected"])
@pytest.mark.parametrize("kind", LAYERS)
def test_replays_follow_inputs_and_parameters(kind, gate):
    layer = randomize(LAYERS[kind](4, 6, gate=gate)).cuda()
    plain, x = copy.deepcopy(layer), torch.randn(12, 2, 4, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(layer, (x.detach().clone().requires_grad_(),))
    for _ in range(2):
        with torch.no_grad():
            x.normal_()
            for one, two in zip(layer.parameters(), plain.parameters(), strict=True):
                two.copy_(one.mul_(1.1))
        (out, _), (expected, _) = graphed(x), plain(x)
        torch.testing.assert_close(out, expected)
        grads = [
            torch.autograd.grad(found.square().sum(), [x, *network.parameters()])
            for found, network in ((out, layer), (expected, plain))
        ]
        torch.testing.assert_close(*grads)


@pytest.mark.skipif(interpreter.DEVICE != "cuda", reason="needs a GPU: CT_TEST_DEVICE=cuda")
def test_replays_draw_new_masks():
    layer, x = ComplexDropout(0.5), torch.ones(40, 40, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(layer, (x.detach().clone().requires_grad_(),))
    outputs = []
    for _ in range(2):
        out = graphed(x)
        (grad,) = torch.autograd.grad(out.sum(), x)
        assert torch.equal(grad, out)
        outputs.append(out.clone())
    assert not torch.equal(*outputs)
