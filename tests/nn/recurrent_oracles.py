# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of both fields step by step in complex128, and random complex ones to compare with."""

import math

import numpy as np
import torch

from complex_transformers.nn import GATES, STATE_ACTIVATIONS, ComplexGRU, ComplexLSTM, ComplexRNN
from oracles import bias, r, randn, randomize, weight, z

LAYERS = {"rnn": ComplexRNN, "lstm": ComplexLSTM, "gru": ComplexGRU}
CELLS = [("rnn", "split"), *((kind, gate) for kind in ("lstm", "gru") for gate in GATES)]
# Where the gate does not matter.
KINDS = [("rnn", "split"), ("lstm", "real_part"), ("gru", "split")]
ACTIVATIONS = ["split_tanh", "hirose_tanh", "split_relu"]
OTHERS = sorted(STATE_ACTIVATIONS.keys() - set(ACTIVATIONS))
NUM_GATES = {"rnn": 1, "lstm": 4, "gru": 3}


def sigmoid(values):
    return 1.0 / (1.0 + np.exp(-values))


def gelu(values):
    return 0.5 * values * (1.0 + np.vectorize(math.erf)(values / math.sqrt(2.0)))


# On v and what a gate learns: the weights of a projection, a bias.
GATE = {
    "real_part": lambda v, w: sigmoid(v.real),
    "projected": lambda v, w: sigmoid((np.conj(w) * v).real),
    "modulus": lambda v, w: sigmoid(np.abs(v) ** 2),
    "biased_modulus": lambda v, w: sigmoid(np.abs(v) ** 2 + w),
    "amplitude": lambda v, w: np.abs(v) ** 2 / (1.0 + np.abs(v) ** 2),
    "split": lambda v, w: sigmoid(v.real) + 1j * sigmoid(v.imag),
}
PHI = {
    "split_tanh": lambda v: np.tanh(v.real) + 1j * np.tanh(v.imag),
    "hirose_tanh": lambda v: np.tanh(np.abs(v)) * np.exp(1j * np.angle(v)),
    "split_relu": lambda v: np.maximum(v.real, 0.0) + 1j * np.maximum(v.imag, 0.0),
    "identity": lambda v: v,
    "tanh": np.tanh,
    "modulus": lambda v: np.abs(v) + 0j,
    "squared_modulus": lambda v: np.abs(v) ** 2 + 0j,
    "cardioid": lambda v: (1.0 + np.cos(np.angle(v))) * v / 2.0,
    "split_sigmoid": lambda v: sigmoid(v.real) + 1j * sigmoid(v.imag),
    "split_gelu": lambda v: gelu(v.real) + 1j * gelu(v.imag),
    "split_silu": lambda v: v.real * sigmoid(v.real) + 1j * v.imag * sigmoid(v.imag),
}


def rnn_step(inputs, recurrent, state, gate, phi):
    """ComplexOrder Eq. 12."""
    return (phi(inputs + recurrent),)


def lstm_step(inputs, recurrent, state, gate, phi):
    """Thesis 2.20."""
    i, f, g, o = np.split(inputs + recurrent, 4)
    cell = gate(f, 1) * state[1] + gate(i, 0) * phi(g)
    return gate(o, 2) * phi(cell), cell


def gru_step(inputs, recurrent, state, gate, phi):
    """Thesis 2.21, with 1 - z and the reset gate after the product."""
    (in_r, in_z, in_n), (rec_r, rec_z, rec_n) = np.split(inputs, 3), np.split(recurrent, 3)
    reset, update = gate(in_r + rec_r, 0), gate(in_z + rec_z, 1)
    return (update * state[0] + (1 - update) * phi(in_n + reset * rec_n),)


STEP = {"rnn": rnn_step, "lstm": lstm_step, "gru": gru_step}


def is_real(layer):
    return hasattr(layer, "weight_ih_l0")


def gate_of(layer, index):
    w, gate = [None] * 3, "real_part" if is_real(layer) else layer.gate
    if gate == "projected":
        w = z(layer.gate_weight(index).transpose(0, 1).flatten(1))
    elif gate == "biased_modulus":
        w = r(layer.gate_weight(index)[0])
    return lambda v, number: GATE[gate](v, w[number])


def kind_of(layer):
    return next(kind for kind in STEP if type(layer).__name__.lower().endswith(kind))


def products(layer, index):
    """W and U of a layer and direction, and their biases."""
    if not is_real(layer):
        w, u = layer.input_proj[index], layer.recurrent_proj[index]
        return weight(w), weight(u), bias(w), bias(u)
    end = f"_l{index // layer.num_directions}{'_reverse' * (index % layer.num_directions)}"
    return [r(getattr(layer, name + end)) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def one_sequence(layer, values, first):
    """``[n, in]`` and first states of each layer and direction -> ``[n, out]`` and the last states."""
    phi, step = PHI[layer.activation], STEP[kind_of(layer)]
    if is_real(layer):
        phi = lambda v: PHI[layer.activation](v).real  # noqa: E731
    last, index = [], 0
    for _ in range(layer.num_layers):
        outputs = []
        for reverse in (False, True)[: 2 if layer.bidirectional else 1]:
            w, u, b_w, b_u = products(layer, index)
            state = first[index]
            out = np.zeros((len(values), u.shape[1]), complex)
            for t in sorted(range(len(values)), reverse=reverse):
                state = step(w @ values[t] + b_w, u @ state[0] + b_u, state, gate_of(layer, index), phi)
                out[t] = state[0]
            outputs.append(out)
            last.append(state)
            index += 1
        values = np.concatenate(outputs, axis=-1)
    return values, last


def oracle(layer, x, hx=None, keep=None):
    """Each row of time-first ``x`` on its own, without the steps left out; states as ``[states, layers, B, d]``."""
    length, batch, _ = x.shape
    numbers, d = (r, layer.hidden_size) if is_real(layer) else (z, layer.hidden_size // 2)
    num_states = 2 if kind_of(layer) == "lstm" else 1
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    keep = np.ones((length, batch), bool) if keep is None else keep
    first = np.zeros((num_states, rows, batch, d), complex)
    if hx is not None:
        first = np.stack([numbers(state) for state in (hx if num_states == 2 else (hx,))])
    out = np.zeros((length, batch, d * (2 if layer.bidirectional else 1)), complex)
    last = np.zeros_like(first)
    for b in range(batch):
        states = [tuple(first[:, index, b]) for index in range(rows)]
        out[keep[:, b], b], states = one_sequence(layer, numbers(x)[keep[:, b], b], states)
        last[:, :, b] = np.stack([np.stack(state) for state in states], axis=1)
    return out, last


def stacked(last):
    return np.stack([z(state) for state in ((last,) if isinstance(last, torch.Tensor) else last)])


def make(kind="lstm", gate="split", activation="split_tanh", d_in=2, d=3, dtype=torch.float64, **options):
    layer = LAYERS[kind](2 * d_in, 2 * d, gate=gate, activation=activation, dtype=torch.float64, **options)
    return randomize(layer).to(dtype)


def first_states(layer, batch, dtype=torch.float64):
    rows = layer.num_layers * layer.num_directions
    states = tuple(randn(rows, batch, layer.hidden_size, dtype=dtype) for _ in range(layer.num_states))
    return states if len(states) > 1 else states[0]
