# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The real recurrent layers are those of ``torch.nn``, with the masks and initializers of their complex twins."""

import numpy as np
import pytest
import torch
from recurrent_oracles import oracle
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence

from complex_transformers.nn import STATE_ACTIVATIONS, ComplexGRU, ComplexLSTM, RealGRU, RealLSTM, RealRNN
from complex_transformers.nn.recurrent.gates import check_recurrent
from oracles import assert_close, assert_refused, r, randn, randomize

LAYERS = {"rnn": RealRNN, "lstm": RealLSTM, "gru": RealGRU}
TORCH = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
NUM_GATES = {"rnn": 1, "lstm": 4, "gru": 3}


def twins(kind, dtype=torch.float32, activation="split_tanh", **options):
    """Ours and torch's with the same random weights; odd widths, which only the complex field refuses."""
    layer = randomize(LAYERS[kind](5, 3, activation=activation, dtype=dtype, **options))
    nonlinearity = {"nonlinearity": activation.removeprefix("split_")} if kind == "rnn" else {}
    twin = TORCH[kind](5, 3, dtype=dtype, **options, **nonlinearity)
    twin.load_state_dict(layer.state_dict())
    return layer, twin


def states_of(kind, layer, batch, dtype=torch.float32):
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    states = tuple(randn(rows, batch, 3, dtype=dtype) for _ in range(2 if kind == "lstm" else 1))
    return states if kind == "lstm" else states[0]


def flat(result):
    out, last = result
    out = out.data if isinstance(out, PackedSequence) else out
    return [out, *(last if isinstance(last, tuple) else (last,))]


@pytest.mark.parametrize("with_states", [False, True])
@pytest.mark.parametrize("packed", [None, "sorted", "unsorted"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias": False},
        {"num_layers": 2, "bidirectional": True},
        {"num_layers": 2, "batch_first": True},
        {"bidirectional": True, "batch_first": True, "bias": False},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("kind", "activation"),
    [("rnn", "split_tanh"), ("rnn", "split_relu"), ("lstm", "split_tanh"), ("gru", "split_tanh")],
)
def test_layer_is_that_of_torch(kind, activation, options, packed, with_states):
    layer, twin = twins(kind, activation=activation, **options)
    batch_first = options.get("batch_first", False)
    x = torch.randn(4, 4, 5)
    if packed:
        lengths = torch.tensor([4, 3, 3, 1] if packed == "sorted" else [3, 4, 1, 3])
        x = pack_padded_sequence(x, lengths, batch_first=batch_first, enforce_sorted=packed == "sorted")
    hx = states_of(kind, layer, 4) if with_states else None
    for one, two in zip(flat(layer(x, hx)), flat(twin(x, hx)), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", list(LAYERS))
def test_dropout_is_that_of_torch(kind):
    layer, twin = twins(kind, num_layers=2, dropout=0.5)
    x = torch.randn(6, 3, 5)
    torch.manual_seed(1)
    one = layer(x)[0]
    torch.manual_seed(1)
    assert torch.equal(one, twin(x)[0])
    assert not torch.equal(one, layer.eval()(x)[0])


# Where the three steps of a sequence stand in five.
PLACES = {"right": [0, 1, 2], "left": [2, 3, 4], "holes": [0, 2, 3]}


@pytest.mark.parametrize("poison", [0.7, 1e30, float("nan")])
@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("kind", list(LAYERS))
def test_padding_has_no_influence(kind, batch_first, place, poison):
    layer, twin = twins(kind, torch.float64, num_layers=2, bidirectional=True, batch_first=batch_first)
    parameters, steps = list(layer.parameters()), PLACES[place]
    rows = [randn(3, 5), randn(5, 5), randn(1, 5)]
    mask = torch.zeros(5, 3)
    padded = torch.full((5, 3, 5), poison, dtype=torch.float64)
    for row, (values, where) in enumerate(zip(rows, (steps, range(5), [2]), strict=True)):
        mask[list(where), row] = 1
        padded[list(where), row] = values
    padded.requires_grad_()
    hx = states_of(kind, layer, 3, torch.float64)
    time_first = (lambda t: t.transpose(0, 1)) if batch_first else (lambda t: t)

    result = layer(time_first(padded), hx, time_first(mask))
    out, last = time_first(result[0]), flat(result)[1:]
    total = out.square().sum() + sum(state.sum() for state in last)
    grad_x, *gradients = torch.autograd.grad(total, [padded, *parameters])
    assert not out[mask == 0].any()
    assert not grad_x[mask == 0].any()

    expected_gradients = [torch.zeros_like(p) for p in parameters]
    for row, values in enumerate(rows):
        alone = values.unsqueeze(1).requires_grad_()
        own = [s[:, row : row + 1].contiguous() for s in (hx if kind == "lstm" else (hx,))]
        result = twin(time_first(alone), tuple(own) if kind == "lstm" else own[0])
        expected, *expected_last = flat(result)
        expected = time_first(expected)
        assert_close(r(out[mask[:, row] == 1, row]), r(expected[:, 0]))
        for one, two in zip(last, expected_last, strict=True):
            assert_close(r(one[:, row]), r(two[:, 0]))
        total = expected.square().sum() + sum(state.sum() for state in expected_last)
        own_x, *own_gradients = torch.autograd.grad(total, [alone, *twin.parameters()])
        assert_close(r(grad_x[mask[:, row] == 1, row]), r(own_x[:, 0]))
        expected_gradients = [one + two for one, two in zip(expected_gradients, own_gradients, strict=True)]
    for one, two in zip(gradients, expected_gradients, strict=True):
        assert_close(r(one), r(two))


@pytest.mark.parametrize("kind", list(LAYERS))
def test_steps_that_no_row_uses_are_still_there(kind):
    layer, x = LAYERS[kind](5, 3, dtype=torch.float64), randn(6, 2, 5)
    mask = torch.tensor([[0, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]]).T
    out, _ = layer(x, mask=mask)
    assert out.shape == (6, 2, 3)
    assert torch.equal(out.any(-1), mask.bool())


@pytest.mark.parametrize("kind", list(LAYERS))
def test_every_gate_is_drawn_on_its_own(kind):
    layer = LAYERS[kind](80, 60, dtype=torch.float64)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(3.0)
    layer.reset_parameters()
    for w in np.split(r(layer.weight_ih_l0), NUM_GATES[kind]):
        assert np.mean(w**2) == pytest.approx(2.0 / (80 + 60), rel=0.1)
    gates = np.split(r(layer.weight_hh_l0), NUM_GATES[kind])
    for u in gates:
        np.testing.assert_allclose(u.T @ u, np.eye(60), atol=1e-12)
    assert all(np.abs(gates[0] - u).max() > 0.1 for u in gates[1:])
    assert not layer.bias_ih_l0.any()
    assert not layer.bias_hh_l0.any()


@pytest.mark.parametrize(("ours", "theirs"), [(ComplexLSTM, torch.nn.LSTM), (ComplexGRU, torch.nn.GRU)])
def test_a_gate_of_the_real_part_with_real_weights_is_that_of_the_real_layer(ours, theirs):
    layer, twin = randomize(ours(4, 6, gate="real_part", dtype=torch.float64)), theirs(2, 3, dtype=torch.float64)
    for kind, product in {"ih": layer.input_proj[0], "hh": layer.recurrent_proj[0]}.items():
        product.imag.weight.data.zero_()
        getattr(twin, f"weight_{kind}_l0").data.copy_(product.real.weight)
        if product.bias is None:
            getattr(twin, f"bias_{kind}_l0").data.zero_()
        else:
            real, imag = product.bias.data.chunk(2)
            imag.zero_()
            getattr(twin, f"bias_{kind}_l0").data.copy_(real)
    x = randn(5, 3, 2)
    real, imag = layer(torch.cat([x, torch.zeros_like(x)], dim=-1))[0].chunk(2, dim=-1)
    torch.testing.assert_close(real, twin(x)[0])
    assert not imag.any()


@pytest.mark.parametrize("activation", sorted(STATE_ACTIVATIONS.keys() - {"split_tanh", "hirose_tanh", "tanh"}))
@pytest.mark.parametrize("kind", list(LAYERS))
def test_other_activations_go_step_by_step(kind, activation):
    layer = randomize(LAYERS[kind](5, 3, 2, bidirectional=True, activation=activation, dtype=torch.float64))
    x, keep = 0.3 * randn(4, 2, 5), torch.tensor([[1, 1], [1, 0], [0, 1], [1, 1]])
    out, last = layer(x, mask=keep)
    expected, expected_last = oracle(layer, x, keep=keep.bool().numpy())
    assert_close(r(out), expected.real)
    for found, wanted in zip(flat((out, last))[1:], expected_last, strict=True):
        assert_close(r(found), wanted.real)


def test_the_three_tanh_are_one_on_real_numbers():
    layers = [RealLSTM(5, 3, activation=name, dtype=torch.float64) for name in ("split_tanh", "hirose_tanh", "tanh")]
    x = randn(4, 2, 5)
    for layer in layers[1:]:
        layer.load_state_dict(layers[0].state_dict())
        assert torch.equal(layer(x)[0], layers[0](x)[0])


def test_choices_of_the_complex_field_are_refused():
    for layer in LAYERS.values():
        with pytest.raises(ValueError, match=r"gate must be 'split' with number_field='real', got 'modulus'"):
            layer(4, 4, gate="modulus")
        assert_refused(r"'projected', 'real_part', 'split'\], got 'sigmoid'", layer, 4, 4, gate="sigmoid")
    check_recurrent("modulus", "hirose_tanh")
    check_recurrent("split", "split_relu", "real")
    with pytest.raises(ValueError, match=r"number_field must be one of \['complex', 'real'\], got 'dual'"):
        check_recurrent("split", "split_tanh", "dual")


@pytest.mark.parametrize("kind", list(LAYERS))
def test_bad_inputs(kind):
    layer, x = LAYERS[kind](4, 6), torch.zeros(5, 3, 4)
    mask = torch.ones(5, 3)
    mask[:, [0, 2]] = 0
    assert_refused(r"real step in every row, got none in \[0, 2\]", layer, x, mask=mask)
    for dtype in (torch.complex64, torch.int64):
        assert_refused(str(dtype), layer, torch.zeros(5, 3, 4, dtype=dtype), error=TypeError)
    assert_refused("mask must be None for a PackedSequence", layer, pack_sequence([x[:, 0]]), mask=torch.ones(5, 1))
    with pytest.raises(RuntimeError, match="hidden"):
        layer(x, (torch.zeros(1, 2, 6),) * 2 if kind == "lstm" else torch.zeros(1, 2, 6))
