# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The five text classifiers in complex128 (real twins in float64), from the weights alone, one text at a time.

``w`` are the weights by name. Texts are ``[n, d]`` arrays of numbers: real tokens, padding left out.
"""

import math

import numpy as np
from scipy.special import erf


def numbers(array):
    """[real | imag] halves as complex128."""
    half = array.shape[-1] // 2
    return array[..., :half] + 1j * array[..., half:]


def parts(function, values):
    return function(values.real) + 1j * function(values.imag) if np.iscomplexobj(values) else function(values)


def relu(values):
    return parts(lambda x: np.maximum(x, 0.0), values)


def gelu(values):
    return parts(lambda x: 0.5 * x * (1.0 + erf(x / math.sqrt(2.0))), values)


def activate(config, values):
    return {"split_relu": relu, "split_gelu": gelu, "identity": lambda v: v}[config.hidden_act](values)


def sigmoid(values):
    return 1.0 / (1.0 + np.exp(-values))


def weight(w, name):
    """The complex weight of ``name``, or the real one."""
    if f"{name}.real.weight" in w:
        return w[f"{name}.real.weight"] + 1j * w[f"{name}.imag.weight"]
    return w[f"{name}.weight"]


def bias(w, name):
    value = w.get(f"{name}.bias", np.zeros(1))
    return numbers(value) if f"{name}.real.weight" in w and value.size > 1 else value


def dense(w, name, x):
    return x @ weight(w, name).T + bias(w, name)


# --- embeddings -----------------------------------------------------------------------------------------------------


def embed(w, config, ids):
    """ComplexOrder Eq. 5 and the embeddings it is compared with; positions are 1, 2, ..."""
    table = {name.rpartition(".")[2]: value for name, value in w.items() if "embed_tokens" in name}
    position = np.arange(1, len(ids) + 1)[:, None]
    if config.embedding_type == "complex_order":
        wave = table["amplitude"][ids] * np.exp(1j * table["frequency"][ids] * position)
    elif config.embedding_type == "complex_vanilla":
        wave = table["amplitude"][ids] * np.exp(1j * table["phase"][ids])
    else:
        wave = numbers(table["weight"][ids])
        if config.embedding_type == "learned_position":
            wave = wave + numbers(table["position"][: len(ids)])
        if config.embedding_type == "sinusoidal_position":
            size = config.hidden_size // 2
            wave = wave + np.exp(1j * position * 10000.0 ** (-np.arange(size) / size))
    return wave if config.number_field == "complex" else np.concatenate([wave.real, wave.imag], -1)


# --- networks: [n, d] -> pooled features ----------------------------------------------------------------------------


def fasttext(w, config, x):
    """ComplexOrder Eq. 10."""
    return activate(config, dense(w, "model.dense", x.mean(0)))


def cnn(w, config, x):
    """Kim 2014; Thesis 2.24 and 2.29."""
    maxima = []
    for index, size in enumerate(config.kernel_sizes):
        name = f"model.layer.convolutions.{index}"
        kernel = weight(w, name)
        text = x if len(x) >= size else np.concatenate([x, np.zeros((size - len(x), x.shape[1]))])
        windows = np.stack([text[n : n + size] for n in range(len(text) - size + 1)])
        features = activate(config, np.einsum("ocj,njc->no", kernel, windows) + bias(w, name))
        largest = np.abs(features).argmax(0)
        maxima.append(features[largest, np.arange(features.shape[1])])
    return activate(config, dense(w, "model.dense", np.concatenate(maxima)))


def rnn_step(inputs, recurrent, state, gate, phi):
    """ComplexOrder Eq. 12."""
    return (phi(inputs + recurrent),)


def lstm_step(inputs, recurrent, state, gate, phi):
    """Thesis 2.20."""
    i, f, g, o = np.split(inputs + recurrent, 4)
    cell = gate(f, 1) * state[1] + gate(i, 0) * phi(g)
    return gate(o, 2) * phi(cell), cell


def gru_step(inputs, recurrent, state, gate, phi):
    """Thesis 2.21 with 1 - z."""
    (in_r, in_z, in_n), (rec_r, rec_z, rec_n) = np.split(inputs, 3), np.split(recurrent, 3)
    reset, update = gate(in_r + rec_r, 0), gate(in_z + rec_z, 1)
    return (update * state[0] + (1 - update) * phi(in_n + reset * rec_n),)


STEPS = {"rnn": (rnn_step, 1), "lstm": (lstm_step, 2), "gru": (gru_step, 1)}
PHI = {
    "split_tanh": lambda v: parts(np.tanh, v),
    "split_relu": relu,
    "hirose_tanh": lambda v: np.tanh(np.abs(v)) * np.exp(1j * np.angle(v)),
}
GATES = {
    "real_part": lambda v: sigmoid(v.real),
    "modulus": lambda v: sigmoid(np.abs(v) ** 2),
    "split": lambda v: parts(sigmoid, v),
}


def recurrent_weights(w, config, layer, direction):
    """W, its bias, U, its bias."""
    name = f"model.layers.{layer}.rnn"
    if config.number_field == "complex":
        names = (f"{name}.input_proj.{direction}", f"{name}.recurrent_proj.{direction}")
        return tuple(get(w, name) for name in names for get in (weight, bias))
    end = "_l0_reverse" if direction else "_l0"
    return tuple(w[f"{name}.{kind}{end}"] for kind in ("weight_ih", "bias_ih", "weight_hh", "bias_hh"))


def gate_of(w, config, layer, direction):
    """What a cell computed for a gate, and the number of that gate -> the gate."""
    if config.gate != "projected":
        return lambda v, number: GATES[config.gate](v)
    a, b = w[f"model.layers.{layer}.rnn.gate_weight.{direction}"]
    return lambda v, number: sigmoid(a[number] * v.real + b[number] * v.imag)


def rnn(w, config, x):
    step, num_states = STEPS[config.rnn_type]
    phi = PHI[config.state_activation]
    for layer in range(config.num_hidden_layers):
        outputs, last = [], []
        for direction in range(2 if config.bidirectional else 1):
            in_weight, in_bias, rec_weight, rec_bias = recurrent_weights(w, config, layer, direction)
            gate = gate_of(w, config, layer, direction)
            state = (np.zeros(rec_weight.shape[1], dtype=x.dtype),) * num_states
            out = [None] * len(x)
            for n in reversed(range(len(x))) if direction else range(len(x)):
                state = step(in_weight @ x[n] + in_bias, rec_weight @ state[0] + rec_bias, state, gate, phi)
                out[n] = state[0]
            outputs.append(np.stack(out))
            last.append(state[0])
        x = np.concatenate(outputs, -1)
    return np.concatenate(last) if config.pooling == "last" else x.mean(0)


def gcn(w, config, x, adjacency=None):
    """Kipf & Welling 2017, Eq. 2, on the given edges or those of a window."""
    n = len(x)
    if adjacency is None:
        distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        adjacency = ((distance > 0) & (distance <= config.window_size)).astype(float)
    edges = np.maximum(adjacency, adjacency.T) + np.eye(n)
    root = np.diag(edges.sum(1) ** -0.5)
    for layer in range(config.num_hidden_layers):
        x = activate(config, dense(w, f"model.layers.{layer}.convolution.linear", root @ edges @ root @ x))
    return x.mean(0)


def layer_norm(w, config, name, x):
    """Each part on its own."""

    def standard(part):
        part = part - part.mean(-1, keepdims=True)
        return part / np.sqrt((part**2).mean(-1, keepdims=True) + config.layer_norm_eps)

    gain, shift = numbers(w[f"{name}.weight"]), numbers(w[f"{name}.bias"])
    return standard(x.real) * gain.real + shift.real + 1j * (standard(x.imag) * gain.imag + shift.imag)


def encoder(w, config, x):
    """ComplexOrder Eq. 13, 14 and App. B: the defaults of the complex field."""
    for layer in range(config.num_hidden_layers):
        name = f"model.layers.{layer}"
        q, k, v = (dense(w, f"{name}.self_attn.{part}_proj", x) for part in "qkv")
        heads = []
        for part in np.split(np.arange(q.shape[1]), config.num_attention_heads):
            score = np.exp(np.abs(q[:, part] @ k[:, part].conj().T) / math.sqrt(len(part)))
            heads.append(score / score.sum(-1, keepdims=True) @ v[:, part])
        attended = dense(w, f"{name}.self_attn.out_proj", np.concatenate(heads, -1))
        x = layer_norm(w, config, f"{name}.self_attn_norm", x + attended)
        hidden = activate(config, dense(w, f"{name}.feed_forward.up_proj", x))
        x = layer_norm(w, config, f"{name}.feed_forward_norm", x + dense(w, f"{name}.feed_forward.down_proj", hidden))
    return x.mean(0)


NETWORKS = {
    "complex_order": encoder,
    "complex_fasttext": fasttext,
    "complex_text_cnn": cnn,
    "complex_text_rnn": rnn,
    "complex_text_gcn": gcn,
}


# --- classifiers ----------------------------------------------------------------------------------------------------


def read_out(w, config, pooled):
    name = "classifier.projection"
    if config.readout == "concat":
        stored = np.concatenate([pooled.real, pooled.imag]) if config.number_field == "complex" else pooled
        return dense(w, name, stored)
    if config.readout == "feature_modulus":
        return dense(w, name, np.abs(pooled))
    if config.readout == "probability_amplitude":
        return np.log(np.abs(dense(w, name, pooled)) ** 2 + 1e-6)
    modulus = np.abs(dense(w, name, pooled)) ** (2 if config.readout.endswith("squared_modulus") else 1)
    if config.readout.startswith("scaled"):
        return w["classifier.scale"] * modulus + w["classifier.bias"]
    return modulus


def logits(classifier, ids, mask, adjacency=None):
    """The logits of every text of a batch on its own."""
    w = {name: value.double().numpy() for name, value in classifier.state_dict().items()}
    config, rows = classifier.config, []
    for index, (words, keep) in enumerate(zip(ids.numpy(), mask.numpy().astype(bool), strict=True)):
        x = embed(w, config, words[keep])
        graph = () if adjacency is None else (adjacency[index].double().numpy()[np.ix_(keep, keep)],)
        rows.append(read_out(w, config, NETWORKS[config.model_type](w, config, x, *graph)))
    return np.stack(rows)
