# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The complex recurrent layers; their real twins are in ``test_recurrent_real.py``."""

import copy
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from recurrent_oracles import (
    ACTIVATIONS,
    CELLS,
    GATE,
    KINDS,
    LAYERS,
    NUM_GATES,
    OTHERS,
    PHI,
    first_states,
    make,
    oracle,
    stacked,
)
from torch import nn
from torch.autograd import gradcheck
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

import complex_transformers.nn.functional as CF
from complex_transformers.nn import GATES, STATE_ACTIVATIONS, ComplexGRU, ComplexLinear, ComplexLSTM
from complex_transformers.nn.recurrent import layers as recurrent, step_loop as stepwise
from oracles import TOLERANCE, assert_close, assert_refused, finite, randn, weight, z


@pytest.mark.parametrize(
    "activation", [ACTIVATIONS[0], *(pytest.param(name, marks=pytest.mark.full) for name in ACTIVATIONS[1:])]
)
@pytest.mark.parametrize(("kind", "gate"), CELLS)
@given(data=st.data())
def test_every_step_is_that_of_the_paper(kind, gate, activation, data):
    batch_first, with_states, with_bias, both = (data.draw(st.booleans()) for _ in range(4))
    length, batch, d = (data.draw(st.integers(1, top)) for top in (5, 3, 3))
    dtype = data.draw(st.sampled_from([torch.float64, torch.float32]))
    layers = data.draw(st.integers(1, 3))
    options = {"num_layers": layers, "bidirectional": both, "batch_first": batch_first, "bias": with_bias}
    layer = make(kind, gate, activation, d=d, dtype=dtype, **options)
    x = randn(length, batch, 4, dtype=dtype)
    hx = first_states(layer, batch, dtype) if with_states else None
    steps = st.lists(st.booleans(), min_size=length * batch, max_size=length * batch)
    keep = np.array(data.draw(st.one_of(st.none(), steps)) or [True] * length * batch).reshape(length, batch)
    mask = None if keep.all() else torch.from_numpy(keep)
    # From so many steps on gates are read from the weights.
    with mock.patch.object(recurrent, "_MIN_READ_STEPS", data.draw(st.integers(1, 6))):
        if batch_first:
            out, last = layer(x.transpose(0, 1), hx, None if mask is None else mask.T)
            out = out.transpose(0, 1)
        else:
            out, last = layer(x, hx, mask)
    assert out.dtype == dtype
    expected, expected_last = oracle(layer, x, hx, keep)
    tolerance = TOLERANCE[dtype] * (5 if activation == "split_relu" else 1)  # a ReLU does not contract
    assert_close(z(out), expected, tolerance)
    assert_close(stacked(last), expected_last, tolerance)


def hooked(layer):
    layer.recurrent_proj[0].real.register_forward_hook(lambda module, args, output: output)


def wrapped(layer):
    layer.input_proj[1] = nn.Sequential(layer.input_proj[1])


@pytest.mark.parametrize("change", [None, hooked, wrapped])
@pytest.mark.parametrize("gate", ["real_part", "projected"])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gates_read_from_the_weights_are_those_of_the_products(kind, gate, change, monkeypatch):
    """Results and all gradients, where a layer is changed, too; the products are narrower."""
    layer = make(kind, gate, d=3, bidirectional=True)
    if change is not None:
        change(layer)
    x, widths = randn(9, 3, 4, grad=True), []
    run_masked = stepwise.run_masked

    def spy(step, inputs, *args):
        widths.append(inputs.shape[-1])
        return run_masked(step, inputs, *args)

    monkeypatch.setattr(stepwise, "run_masked", spy)
    found = []
    for steps in (9, 10):
        monkeypatch.setattr(recurrent, "_MIN_READ_STEPS", steps)
        out, _ = layer(x)
        loss = (out * torch.arange(12.0)).sum()
        found.append((out, *torch.autograd.grad(loss, [x, *layer.parameters()])))
    gates = NUM_GATES[kind]
    assert widths == [(gates + 1) * 3] * 2 + [2 * gates * 3] * 2
    for read, whole in zip(*found, strict=True):
        torch.testing.assert_close(read, whole)


@pytest.mark.parametrize("activation", OTHERS)
@pytest.mark.parametrize(("kind", "gate"), KINDS)
def test_every_other_activation(kind, gate, activation):
    layer = make(kind, gate, activation, num_layers=2, bidirectional=True)
    x = 0.3 * randn(3, 2, 4)  # what is squared again and again would carry rounding on
    out, last = layer(x, mask=torch.tensor([[1, 1], [0, 1], [1, 1]]))
    expected, expected_last = oracle(layer, x, keep=np.array([[1, 1], [0, 1], [1, 1]], bool))
    scale = max(1.0, np.abs(expected_last).max())
    assert_close(z(out) / scale, expected / scale, 1e-9)
    assert_close(stacked(last) / scale, expected_last / scale, 1e-9)


def test_tables_of_names_are_those_tested():
    assert set(GATES) == set(GATE)
    assert set(STATE_ACTIVATIONS) == set(PHI)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("kind", "gate"), CELLS)
def test_low_precision(kind, gate, activation, dtype):
    layer = make(kind, gate, activation, dtype=dtype, num_layers=2, bidirectional=True)
    x, hx = randn(6, 2, 4, dtype=dtype), first_states(layer, 2, dtype)
    out, last = layer(x, hx)
    expected, expected_last = oracle(layer, x, hx)
    assert out.dtype == dtype
    assert_close(z(out), expected, 2 * TOLERANCE[dtype])
    assert_close(stacked(last), expected_last, 2 * TOLERANCE[dtype])


@pytest.mark.parametrize("activation", ["split_tanh", "hirose_tanh"])
@pytest.mark.parametrize(("kind", "gate"), CELLS)
def test_gradients(kind, gate, activation):
    layer = make(kind, gate, activation, d_in=1, d=1, bidirectional=activation == "split_tanh")
    names = [name for name, _ in layer.named_parameters()]
    mask = torch.tensor([[1, 1], [0, 1], [1, 0]])

    def function(x, *values):
        states, parameters = values[: layer.num_states], values[layer.num_states :]
        hx = states if layer.num_states > 1 else states[0]
        out, last = torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x, hx, mask))
        return (out, *last) if isinstance(last, tuple) else (out, last)

    hx = first_states(layer, 2)
    states = [state.requires_grad_() for state in (hx if isinstance(hx, tuple) else (hx,))]
    parameters = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    assert gradcheck(function, (randn(3, 2, 2, grad=True), *states, *parameters), fast_mode=True)


# Where the three steps of a sequence stand in five.
PLACES = {"right": [0, 1, 2], "left": [2, 3, 4], "holes": [0, 2, 3]}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("poison", [0.7, 1e30, float("nan")])
@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize(("kind", "gate"), KINDS)
def test_padding_has_no_influence(kind, gate, place, poison, dtype):
    layer = make(kind, gate, dtype=dtype, num_layers=2, bidirectional=True)
    parameters, steps = list(layer.parameters()), PLACES[place]
    alone = randn(3, 1, 4, dtype=dtype, grad=True)
    padded = torch.full((5, 1, 4), poison, dtype=dtype)
    padded[steps] = alone.detach()
    # Beside the padded row stands a full one, which must not change either.
    other = randn(5, 1, 4, dtype=dtype)
    padded = torch.cat([padded, other], dim=1).requires_grad_()
    mask = torch.ones(5, 2, dtype=torch.long)
    mask[:, 0] = 0
    mask[steps, 0] = 1
    hx = first_states(layer, 2, dtype)
    own = [state[:, :1] for state in hx] if isinstance(hx, tuple) else hx[:, :1]
    tolerance = 1e-11 if dtype == torch.float64 else 1e-5

    expected, expected_last = layer(alone, own)
    gradients = torch.autograd.grad(expected.square().sum(), [alone, *parameters])
    out, last = layer(padded, hx, mask)
    assert_close(z(out[steps, :1]), z(expected), tolerance)
    assert_close(stacked(last)[:, :, :1], stacked(expected_last), tolerance)
    assert not out[mask == 0].any()

    grad_x, *others = torch.autograd.grad(out[:, 0].square().sum(), [padded, *parameters])
    assert_close(z(grad_x[steps, :1]), z(gradients[0]), 10 * tolerance)
    assert not grad_x[mask == 0].any()
    for one, two in zip(others, gradients[1:], strict=True):
        assert_close(one.double().numpy(), two.double().numpy(), 10 * tolerance)


def test_row_without_a_step_keeps_its_states():
    layer = make("lstm", bidirectional=True)
    x, hx = torch.full((3, 2, 4), float("nan")).double(), first_states(layer, 2)
    out, last = layer(x, hx, torch.zeros(3, 2))
    assert not out.any()
    assert all(torch.equal(one, two) for one, two in zip(last, hx, strict=True))


@pytest.mark.parametrize("enforce_sorted", [True, False])
@pytest.mark.parametrize(("kind", "gate"), CELLS)
def test_packed_sequence_is_a_mask(kind, gate, enforce_sorted):
    lengths = [5, 3, 3, 1] if enforce_sorted else [3, 5, 1, 3]
    layer = make(kind, gate, num_layers=2, bidirectional=True, batch_first=True)
    x, hx = randn(4, 5, 4), first_states(layer, 4)
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]
    expected, expected_last = layer(x, hx, mask)
    packed = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=enforce_sorted)
    out, last = layer(packed, hx)
    # Packed as it came: another module finds the same rows at the same places of ``data``.
    assert torch.equal(out.batch_sizes, packed.batch_sizes)
    if enforce_sorted:
        assert out.sorted_indices is None
    else:
        assert torch.equal(out.sorted_indices, packed.sorted_indices)
    padded, out_lengths = pad_packed_sequence(out, batch_first=True)
    assert out_lengths.tolist() == lengths
    assert_close(z(padded), z(expected))
    assert_close(stacked(last), stacked(expected_last))


def _hook(parent, name):
    calls = []
    getattr(parent, name).register_forward_hook(lambda module, args, output: calls.append(1))
    return lambda: len(calls)


def _replace(parent, name):
    setattr(parent, name, nn.Sequential(getattr(parent, name)))  # as quantisation does it
    return _hook(parent, name)


@pytest.mark.parametrize("change", [_hook, _replace])
@pytest.mark.parametrize("part", ["real", "imag", "whole"])
@pytest.mark.parametrize("kind", list(LAYERS))
def test_changed_sublayers_are_called_at_each_step(kind, part, change):
    layer, x = make(kind, bidirectional=True), randn(4, 2, 4, grad=True)
    out, _ = layer(x)
    expected = [out, *torch.autograd.grad(out.square().sum(), [x, *layer.parameters()])]
    changed = copy.deepcopy(layer)
    calls = change(changed.recurrent_proj, "1") if part == "whole" else change(changed.recurrent_proj[1], part)
    input_calls = change(changed.input_proj[0], "real" if part == "whole" else part)
    out, _ = changed(x)
    # Gradients come in the order of the parameters, which a wrapper does not change.
    results = [out, *torch.autograd.grad(out.square().sum(), [x, *changed.parameters()])]
    assert calls() == 4
    assert input_calls() == 1  # all inputs at once
    for one, two in zip(results, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-11)


def test_layout_of_the_checkpoint():
    names = {name: tuple(value.shape) for name, value in ComplexGRU(4, 6, 2, bidirectional=True).state_dict().items()}
    assert len(names) == 4 * (2 * 3 + 1)
    assert names["gate_weight.3"] == (2, 2, 3)  # of both parts, reset and update gate
    assert names["input_proj.0.real.weight"] == (9, 2)
    assert names["input_proj.3.imag.weight"] == (9, 6)
    assert names["recurrent_proj.2.real.weight"] == (9, 3)
    assert names["input_proj.1.bias"] == names["recurrent_proj.1.bias"] == (18,)
    assert "recurrent_proj.0.bias" not in ComplexLSTM(4, 6).state_dict()
    assert not any("bias" in name for name in ComplexGRU(4, 6, bias=False).state_dict())


@pytest.mark.parametrize("kind", list(LAYERS))
def test_every_gate_is_drawn_on_its_own(kind):
    layer = LAYERS[kind](160, 80, dtype=torch.float64)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(3.0)
    layer.reset_parameters()
    for w in np.split(weight(layer.input_proj[0]), NUM_GATES[kind]):
        # Numbers of the field: 80 in, 40 out. All rows of a weight at once would count 40 times the gates.
        assert np.mean(np.abs(w) ** 2) == pytest.approx(2.0 / (80 + 40), rel=0.1)
        assert np.mean(w.real**2) == pytest.approx(1.0 / (80 + 40), rel=0.1)
    gates = np.split(weight(layer.recurrent_proj[0]), NUM_GATES[kind])
    for u in gates:
        np.testing.assert_allclose(u.conj().T @ u, np.eye(40), atol=1e-12)
        assert np.abs(u.imag).max() > 0.1
    assert all(np.abs(gates[0] - u).max() > 0.1 for u in gates[1:])
    assert not any(p.any() for name, p in layer.named_parameters() if name.endswith("bias"))


@pytest.mark.parametrize("kind", list(LAYERS))
def test_weights_marked_as_loaded_are_not_drawn_again(kind):
    # Transformers marks them when a checkpoint lacks other parameters of a layer.
    layer = LAYERS[kind](4, 6)
    loaded = {"recurrent_proj.0.real.weight", "recurrent_proj.0.imag.weight"}
    for name, parameter in layer.named_parameters():
        parameter._is_hf_initialized = name in loaded
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    layer.reset_parameters()
    kept = {name for name, value in layer.state_dict().items() if torch.equal(value, before[name])}
    assert {name for name in kept if name.endswith("weight")} == loaded


def test_dropout_between_layers_drops_whole_numbers_in_training():
    layer = make("gru", d=40, num_layers=2, bidirectional=True, dropout=0.4)
    seen = []
    layer.input_proj[1].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    layer.input_proj[2].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    x = randn(6, 3, 4)
    layer(x)
    assert torch.equal(seen[0], x)  # nothing is dropped before the first layer
    dropped = z(seen[1]) == 0
    assert np.array_equal(dropped, (z(seen[1]).real == 0) | (z(seen[1]).imag == 0))  # never one part alone
    assert dropped.mean() == pytest.approx(0.4, abs=0.05)
    layer.eval()
    out, _ = layer(x)
    assert (z(seen[3]) != 0).all()
    assert_close(z(seen[1])[~dropped], z(seen[3])[~dropped] / 0.6)
    assert torch.equal(layer(x)[0], out)
    single = make("gru", dropout=0.4)  # nothing lies between the layers of one
    assert torch.equal(single(x)[0], single.eval()(x)[0])


@pytest.mark.full
@pytest.mark.parametrize(("kind", "gate"), CELLS)
def test_two_thousand_steps(kind, gate):
    layer = LAYERS[kind](8, 8, gate=gate)
    x = torch.randn(2000, 2, 8, requires_grad=True)
    out, last = layer(x)
    (out.square().mean() + sum(state.square().sum() for state in last)).backward()
    assert finite(out, x.grad, *(p.grad for p in layer.parameters()))
    assert all(p.grad.any() for p in layer.parameters())


@pytest.mark.full  # test_layer_laws.py has some gates
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("kind", "gate"), CELLS)
def test_extreme_inputs(kind, gate, activation):
    layer = LAYERS[kind](8, 64, gate=gate, activation=activation, bidirectional=True)
    sizes = torch.tensor([0.0, 1e-30, 1e15]).repeat(2).unsqueeze(-1)  # of a row each
    x = (sizes * torch.randn(50, 6, 8)).requires_grad_()
    out, last = layer(x)
    out.mean().backward()
    assert finite(out, *last, x.grad, *(p.grad for p in layer.parameters()))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_state_that_grows_at_each_step_stops_short_of_infinity(kind):
    # Open in both parts, a split gate is 1 + i: its modulus is sqrt 2, and so is the growth of the state at each step.
    layer = LAYERS[kind](2, 2, gate="split")
    with torch.no_grad():
        for parameter in layer.recurrent_proj.parameters():
            parameter.zero_()  # the state must not close the gates again
        layer.input_proj[0].bias.fill_(100.0)
    out, last = layer(torch.ones(400, 1, 2))
    state = last[1] if kind == "lstm" else last
    assert finite(out, state)
    assert state.abs().max() > 1e30


@pytest.mark.parametrize("kind", list(LAYERS))
def test_bad_arguments(kind):
    for sizes in ((5, 4), (4, 5)):
        with pytest.raises(ValueError, match=r"must be even, got 5\. Use 6"):
            LAYERS[kind](*sizes)
    assert_refused("must be positive, got 4, 4 and 0", LAYERS[kind], 4, 4, 0)
    assert_refused(r"one of \['amplitude', .* 'split'\], got 'sigmoid'", LAYERS[kind], 4, 4, gate="sigmoid")
    assert_refused(r"\['cardioid', .* 'tanh'\], got 'modrelu'", LAYERS[kind], 4, 4, activation="modrelu")


@pytest.mark.parametrize("kind", list(LAYERS))
def test_bad_inputs(kind):
    layer, first = LAYERS[kind](4, 6), LAYERS[kind](4, 6, batch_first=True)
    x = torch.zeros(5, 2, 4)
    assert_refused(r"\[length, batch, 4\] .* got shape \(5, 2, 6\)", layer, torch.zeros(5, 2, 6))
    assert_refused(r"\[batch, length, 4\] .* got shape \(5, 4\)", first, torch.zeros(5, 4))
    assert_refused(r"complex64.*from_complex", layer, torch.zeros(5, 2, 4, dtype=torch.complex64), error=TypeError)
    assert_refused("int64", layer, torch.zeros(5, 2, 4, dtype=torch.int64), error=TypeError)
    for shape in ((0, 2, 4), (5, 0, 4)):
        assert_refused("and not empty, got shape", layer, torch.zeros(shape))
    assert_refused(r"\[length, batch\] = \(5, 2\), got \(2, 5\)", layer, x, mask=torch.ones(2, 5))
    assert_refused(r"\[batch, length\] = \(5, 2\), got \(2, 5\)", first, x, mask=torch.ones(2, 5))
    assert_refused("mask must be None for a PackedSequence", layer, pack_sequence([x[:, 0]]), mask=torch.ones(5, 1))
    states = 2 if kind == "lstm" else 1
    with pytest.raises(ValueError, match=rf"hx must be {states} tensor\(s\) of shape \(1, 2, 6\), got \[\(1, 2, 4\)"):
        layer(x, (torch.zeros(1, 2, 4),) * states)
    with pytest.raises(ValueError, match=rf"hx must be {states} tensor"):
        layer(x, torch.zeros(1, 2, 6) if kind == "lstm" else (torch.zeros(1, 2, 6),) * 2)
    gate = "split" if kind == "rnn" else "projected"
    assert f"gate='{gate}', activation='split_tanh', bidirectional={layer.bidirectional}" in repr(layer)
    assert isinstance(layer.input_proj[0], ComplexLinear)
    assert CF.modulus(layer(x)[0]).shape == (5, 2, 3)
