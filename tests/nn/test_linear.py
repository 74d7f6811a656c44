# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import DTYPES, TOLERANCE, assert_close, bias, halves, r, randn, randomize, weight, z
from torch import nn
from torch.autograd import gradcheck

import complex_transformers.nn.functional as CF
from complex_transformers.nn import ComplexLinear, RealLinear


def make(d_in=3, d_out=2, **kwargs):
    return randomize(ComplexLinear(2 * d_in, 2 * d_out, dtype=torch.float64, **kwargs))


@given(
    st.lists(st.integers(0, 4), min_size=0, max_size=2),
    st.integers(1, 5),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.sampled_from(DTYPES),
)
def test_layer_is_w_z_plus_b(lead, d_in, d_out, with_bias, share, dtype):
    layer = make(d_in, d_out, bias=with_bias, share_parts=share).to(dtype)
    x = randn(*lead, 2 * d_in, dtype=dtype)
    out = layer(x)
    assert out.dtype == dtype
    assert_close(z(out), z(x) @ weight(layer).T + bias(layer), TOLERANCE[dtype])


def test_layout_of_the_checkpoint():
    names = {name: tuple(value.shape) for name, value in ComplexLinear(6, 4).state_dict().items()}
    assert names == {"real.weight": (2, 3), "imag.weight": (2, 3), "bias": (4,)}
    shared = {name: tuple(value.shape) for name, value in ComplexLinear(6, 4, share_parts=True).state_dict().items()}
    assert shared == {"real.weight": (2, 3), "bias": (4,)}
    assert set(ComplexLinear(6, 4, bias=False).state_dict()) == {"real.weight", "imag.weight"}


class _Wrapper(nn.Module):
    """A layer in place of another, as quantisation does it."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


class _LowRank(nn.Module):
    """A x + B2 (B1 x), as LoRA does it, with the attributes of the layer it wraps."""

    def __init__(self, layer, rank=1):
        super().__init__()
        self.base_layer = layer
        self.down = randn(rank, layer.in_features)
        self.up = randn(layer.out_features, rank)

    @property
    def weight(self):
        return self.base_layer.weight

    def forward(self, x):
        return self.base_layer(x) + x @ self.down.T @ self.up.T


def _hook(layer, name):
    getattr(layer, name).register_forward_hook(lambda module, args, output: output)


def _pre_hook(layer, name):
    getattr(layer, name).register_forward_pre_hook(lambda module, args: None)


def _replace(layer, name):
    setattr(layer, name, _Wrapper(getattr(layer, name)))


def _subclass(layer, name):
    getattr(layer, name).__class__ = type("QuantisedLinear", (nn.Linear,), {})


def _patched_forward(layer, name):
    part = getattr(layer, name)
    part.forward = lambda x: nn.Linear.forward(part, x)


@pytest.mark.parametrize("change", [_hook, _pre_hook, _replace, _subclass, _patched_forward])
@pytest.mark.parametrize("name", ["real", "imag"])
def test_all_paths_agree(change, name, monkeypatch):
    layer, x = make(4, 3), randn(2, 5, 8, grad=True)
    expected = z(x) @ weight(layer).T + bias(layer)
    cotangent = randn(2, 5, 6)

    def results(module):
        out = module(x)
        gradients = torch.autograd.grad(out, [x, *module.parameters()], cotangent)
        return [out, *gradients]

    block = results(layer)
    monkeypatch.setattr(CF, "_MIN_ROWS_SMALL", 1)
    gauss = results(layer)
    changed = copy.deepcopy(layer)
    change(changed, name)
    called = []
    monkeypatch.setattr(CF, "linear", lambda *args: called.append(args))
    sublayers = results(changed)
    assert not called  # the changed sub-layer has really been called
    assert_close(z(block[0]), expected)
    for other in (gauss, sublayers):
        for one, two in zip(block, other, strict=True):
            torch.testing.assert_close(one, two, rtol=0, atol=1e-11)


def test_low_rank_update_of_both_parts_is_a_complex_update():
    layer = make(4, 3)
    layer.real, layer.imag = _LowRank(layer.real), _LowRank(layer.imag)
    low_rank = [r(part.up) @ r(part.down) for part in (layer.real, layer.imag)]
    w = r(layer.real.weight) + low_rank[0] + 1j * (r(layer.imag.weight) + low_rank[1])
    x = randn(5, 8)
    assert_close(z(layer(x)), z(x) @ w.T + bias(layer))


def test_sublayer_with_a_bias_of_its_own_is_not_ignored():
    layer = make(3, 2)
    layer.real.bias = nn.Parameter(randn(2))
    x = randn(4, 6)
    offset = r(layer.real.bias) * (1 + 1j)  # A is called on both parts
    assert_close(z(layer(x)), z(x) @ weight(layer).T + offset + bias(layer))


@pytest.mark.parametrize("path", ["block", "gauss", "sublayers", "share"])
def test_gradients(path, monkeypatch):
    layer = make(3, 2, share_parts=path == "share")
    if path == "gauss":
        monkeypatch.setattr(CF, "_MIN_ROWS_SMALL", 1)
    if path == "sublayers":
        _hook(layer, "real")

    def function(x, *parameters):
        names = [name for name, _ in layer.named_parameters()]
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    inputs = (randn(3, 6, grad=True), *(p.detach().clone().requires_grad_() for p in layer.parameters()))
    assert gradcheck(function, inputs)


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("rows", [1, 300])
def test_phase_rotation_commutes_without_a_bias(share, rows):
    layer, x = make(4, 3, bias=False, share_parts=share), randn(rows, 8)
    angle = np.exp(1.3j)
    assert_close(z(layer(halves(z(x) * angle))), z(layer(x)) * angle)
    biased = make(4, 3)
    assert np.abs(z(biased(halves(z(x) * angle))) - z(biased(x)) * angle).max() > 1e-3


@pytest.mark.parametrize("rows", [3, 300])
def test_nan_stays_in_its_row(rows):
    layer, x = make(), randn(rows, 6)
    expected = layer(x)
    x[1, 0] = float("nan")
    out = layer(x)
    others = [i for i in range(rows) if i != 1]
    assert torch.equal(out[others], expected[others])
    assert out[1].isnan().all()


def test_meta_device_and_dtype_arguments():
    layer = ComplexLinear(6, 4, device="meta", dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in layer.parameters()} == {("meta", torch.bfloat16)}
    assert "share_parts=True" in repr(ComplexLinear(2, 2, share_parts=True))


def test_real_twin_is_nn_linear():
    layer = randomize(RealLinear(5, 3))
    twin = nn.Linear(5, 3)
    twin.load_state_dict(layer.state_dict())
    x = torch.randn(4, 5)
    assert torch.equal(layer(x), twin(x))


def test_bad_values():
    for sizes in ((5, 4), (4, 5)):
        with pytest.raises(ValueError, match=r"must be even, got 5; use 6"):
            ComplexLinear(*sizes)
    with pytest.raises(ValueError, match="must be positive, got 0 and 4"):
        ComplexLinear(0, 4)
    with pytest.raises(ValueError, match=r"width 4, got shape \(2, 6\)"):
        ComplexLinear(4, 4)(torch.zeros(2, 6))
    with pytest.raises(TypeError, match=r"complex64.*from_complex"):
        ComplexLinear(4, 4)(torch.zeros(2, 4, dtype=torch.complex64))
    with pytest.raises(ValueError, match="share_parts=True needs number_field='complex'"):
        RealLinear(4, 4, share_parts=True)
    with pytest.raises(ValueError, match=r"\['glorot', 'he', 'normal', 'unitary'\], got 'xavier'"):
        ComplexLinear(4, 4).reset_parameters("xavier")
