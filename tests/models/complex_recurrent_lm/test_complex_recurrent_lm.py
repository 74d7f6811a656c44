# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The recurrent language model against complex128, and what the thesis's front ends see of the words to come."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn

from complex_transformers import ComplexRecurrentLMConfig, ComplexRecurrentLMForCausalLM, RecurrentCache
from complex_transformers.analysis import count_parameters
from oracles import assert_close, bias, r, randomize, weight, z

TINY = {"vocab_size": 12, "hidden_size": 8, "recurrent_size": 6, "hidden_dropout_prob": 0.0, "initializer_range": 0.7}
REAL = {"number_field": "real"}
SEQUENCE_DFT = {"transform": "fourier", "transform_axis": "sequence"}
BY_SENTENCE = {"position_length": "sentence"}
SLOTS = {"embedding_type": "slot_position"}
PHASES = {"embedding_type": "phase_position"}
CAUSAL = {
    "lstm": {},
    "gru": {"rnn_type": "gru", "gate": "amplitude"},
    "rnn": {"rnn_type": "rnn"},
    "lru": {"rnn_type": "lru"},
    "slots": {**SLOTS, "position_length": 4, "num_slots": 3},
    "phases": {**PHASES, "position_length": 5},
    "z": {"transform": "z", "num_points": 3},
    "causal z": {"transform": "causal_z"},
    "features": {"transform": "fourier", "transform_axis": "features", "word_parts": "real"},
    "real": REAL,
    "real lru": {**REAL, "rnn_type": "lru"},
}
READS_AHEAD = {
    "sequence": SEQUENCE_DFT,
    "slots by sentence": {**SLOTS, **BY_SENTENCE, "num_slots": 3},
    "phases by sentence": {**PHASES, **BY_SENTENCE},
}
ALL = {**CAUSAL, **READS_AHEAD}


def make(dtype=torch.float64, **changes):
    torch.manual_seed(1)
    model = ComplexRecurrentLMForCausalLM(ComplexRecurrentLMConfig(**{**TINY, **changes})).to(dtype).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() > 1 and "embed" not in name:
                value.mul_(2.0)  # so that states, and not biases, decide
    return model


def texts(length=9, count=2):
    return torch.randint(0, 12, (count, length), generator=torch.Generator().manual_seed(3))


# --- in complex128 ---------------------------------------------------------------------------------------------------


def sigmoid(values):
    return 1.0 / (1.0 + np.exp(-values))


def split_tanh(values):
    return np.tanh(values.real) + 1j * np.tanh(values.imag)


def embedded(model, ids):
    """z_t of one text ``[T]`` (Thesis 4.3 to 4.9)."""
    config, table = model.config, model.model.embed_tokens
    t, m = np.arange(len(ids)), len(ids) if config.position_length == "sentence" else config.position_length
    if config.embedding_type == "slot_position":
        slots = [math.floor((step % m) * config.num_slots / m) for step in t]
        values = r(table.weight)[ids] + 1j * r(table.slot)[slots]
    elif config.embedding_type == "phase_position":
        values = r(table.weight)[ids] * np.exp(2j * np.pi * (t % m) / m)[:, None]
    elif config.word_parts == "real":
        values = r(table.weight)[ids].astype(complex)
    else:
        values = z(table.weight)[ids] if config.number_field == "complex" else r(table.weight)[ids]
    k = np.arange(values.shape[1])
    if config.transform == "z":
        transform = model.model.transform
        block = k * config.num_points // len(k)
        a = np.exp(r(transform.log_modulus) + 1j * r(transform.phase))[block]
        return values * a ** (-k)
    if config.transform == "causal_z":
        return recurrence(model.model.transform, values)
    if config.transform == "fourier" and config.transform_axis == "features":
        return np.fft.fft(values, axis=1)
    return np.fft.fft(values, axis=0) if config.transform == "fourier" else values


def recurrence(layer, values):
    frequency = 0.0 if layer.frequency is None else r(layer.frequency)
    a = np.exp(-np.exp(r(layer.damping)) + 1j * frequency)
    h, states = np.zeros(len(a), complex), []
    for value in values:
        h = a * h + np.sqrt(1 - np.abs(a) ** 2) * value
        states.append(h)
    return np.stack(states) if layer.frequency is not None else np.stack(states).real


def cell(model, rnn, values):
    """One layer of LSTM (Thesis 2.20), GRU (2.21) or RNN (2.19) over one text."""
    config = model.config
    if config.number_field == "complex":
        w, u = rnn.input_proj[0], rnn.recurrent_proj[0]
        parts = (weight(w), bias(w), weight(u), bias(u))
    else:
        parts = tuple(r(getattr(rnn, name)) for name in ("weight_ih_l0", "bias_ih_l0", "weight_hh_l0", "bias_hh_l0"))
    gates = {
        "projected": lambda v, n: sigmoid(np.sum(r(rnn.gate_weight(0))[:, n] * [v.real, v.imag], 0)),
        "amplitude": lambda v, n: np.abs(v) ** 2 / (1 + np.abs(v) ** 2),
        "split": lambda v, n: sigmoid(v),
    }
    gate = gates[config.gate]
    phi = split_tanh if config.number_field == "complex" else np.tanh
    h = c = np.zeros(parts[2].shape[1], values.dtype)
    states = []
    for value in values:
        x, s = parts[0] @ value + parts[1], parts[2] @ h + parts[3]
        if config.rnn_type == "lstm":
            i, f, g, o = np.split(x + s, 4)
            c = gate(f, 1) * c + gate(i, 0) * phi(g)
            h = gate(o, 2) * phi(c)
        elif config.rnn_type == "gru":
            (xr, xz, xn), (sr, sz, sn) = np.split(x, 3), np.split(s, 3)
            update = gate(xz + sz, 1)
            h = update * h + (1 - update) * phi(xn + gate(xr + sr, 0) * sn)
        else:
            h = phi(x + s)
        states.append(h)
    return np.stack(states)


def normed(layer, values):
    def of_part(part, scale, shift):
        centred = part - part.mean(-1, keepdims=True)
        return centred / np.sqrt(part.var(-1, keepdims=True) + 1e-5) * scale + shift

    scale, shift = r(layer.weight), r(layer.bias)
    if values.dtype != complex:
        return of_part(values, scale, shift)
    d = values.shape[1]
    return of_part(values.real, scale[:d], shift[:d]) + 1j * of_part(values.imag, scale[d:], shift[d:])


def block_of(layer, values):
    """x + (W h + c) sigmoid(Re(V h) + b)."""
    block, is_complex = layer.block, values.dtype == complex
    product = weight if is_complex else (lambda linear: r(linear.weight))
    shift = bias if is_complex else (lambda linear: 0.0 if linear.bias is None else r(linear.bias))
    h = recurrence(block.recurrence, normed(block.norm, values) @ product(block.input_proj).T)
    stored = np.concatenate([h.real, h.imag], -1) if is_complex else h
    gate = sigmoid(stored @ r(block.gate.weight).T + r(block.gate.bias))
    return values + (h @ product(block.output_proj).T + shift(block.output_proj)) * gate


def logits_of(model, ids):
    values = embedded(model, ids.numpy())
    for layer in model.model.layers:
        is_linear = model.config.rnn_type == "lru"
        values = block_of(layer, values) if is_linear else cell(model, layer.rnn, values)
    if model.config.rnn_type == "lru":
        values = normed(model.model.last_norm, values)
    stored = np.concatenate([values.real, values.imag], -1) if values.dtype == complex else values
    return stored @ r(model.lm_head.projection.weight).T + r(model.lm_head.projection.bias)


@pytest.mark.parametrize("variant", ALL)
def test_logits_are_those_of_the_equations(variant):
    model = randomize(make(**ALL[variant]))
    ids = texts()
    logits = model(ids).logits
    for row in range(2):
        assert_close(r(logits[row]), logits_of(model, ids[row]), 1e-9)


# --- causality -------------------------------------------------------------------------------------------------------


def moved(model, place):
    """How much the logits before ``place`` change with the word there."""
    ids = texts()
    other = ids.clone()
    other[:, place] = (other[:, place] + 1) % 12
    return (model(ids).logits - model(other).logits)[:, :place].abs().max().item()


def cut(model, place):
    """How much the logits before ``place`` change when the text ends there."""
    ids = texts()
    return (model(ids).logits[:, :place] - model(ids[:, :place]).logits).abs().max().item()


@pytest.mark.parametrize("variant", CAUSAL)
def test_nothing_is_seen_of_the_words_to_come(variant):
    model = make(**CAUSAL[variant])
    assert not model.config.reads_ahead
    for place in (1, 4, 8):
        assert moved(model, place) < 1e-12
        assert cut(model, place) < 1e-12


def test_the_sequence_dft_sees_the_words_to_come():
    model = make(**SEQUENCE_DFT)
    assert model.config.reads_ahead
    assert moved(model, 8) > 1e-3
    assert cut(model, 8) > 1e-3


@pytest.mark.parametrize("variant", ["slots by sentence", "phases by sentence"])
def test_places_in_a_sentence_see_how_long_it_is(variant):
    model = make(**READS_AHEAD[variant])
    assert model.config.reads_ahead
    assert moved(model, 8) < 1e-12  # not which words
    assert cut(model, 5) > 1e-3  # but how many


@pytest.mark.parametrize("variant", READS_AHEAD)
def test_what_reads_ahead_cannot_generate(variant):
    model = make(torch.float32, **READS_AHEAD[variant])
    with pytest.raises(ValueError, match=r"model must be causal for generate.*\. Use transform='causal_z' or"):
        model.generate(texts(3), max_new_tokens=2)
    assert model(texts(), labels=texts()).loss.isfinite()  # training and scoring


# --- absorption: transforms of the features add no function ----------------------------------------------------------


@pytest.mark.parametrize("transform", ["z", "fourier"])
def test_a_transform_of_the_features_is_absorbed_by_the_first_product(transform):
    options = {"transform_axis": "features"} if transform == "fourier" else {}
    model, plain = make(transform=transform, **options), make()
    plain.load_state_dict(model.state_dict(), strict=False)
    features = TINY["hidden_size"] // 2
    if transform == "z":
        nn.init.constant_(model.model.transform.log_modulus, 0.1)
        a = np.exp(r(model.model.transform.log_modulus) + 1j * r(model.model.transform.phase))
        matrix = np.diag(a ** -np.arange(features))
    else:
        matrix = np.fft.fft(np.eye(features))
    first, own = plain.model.layers[0].rnn.input_proj[0], model.model.layers[0].rnn.input_proj[0]
    product = torch.from_numpy(weight(own) @ matrix)
    with torch.no_grad():
        first.real.weight.copy_(product.real)
        first.imag.weight.copy_(product.imag)
    torch.testing.assert_close(model(texts()).logits, plain(texts()).logits, rtol=0, atol=1e-12)


# --- parameters of Table 4.1, and a plain LSTM -----------------------------------------------------------------------

PRINTED = {"gate": "modulus", "lm_readout": "squared_modulus"}
TWICE = {"hidden_size": 1300, "recurrent_size": 1300}


@pytest.mark.parametrize(
    ("changes", "printed"),
    [
        ({**REAL, "hidden_size": 650, "recurrent_size": 650}, 19_765_200),  # LM-R
        ({**PRINTED, "hidden_size": 650, "recurrent_size": 650}, 16_385_200),  # LM-C
        ({**PRINTED, **TWICE, "word_parts": "real"}, 33_030_400),  # LM-C-fourier
        ({**PRINTED, **TWICE, "word_parts": "real", "transform": "z", "num_points": 5}, 33_030_410),  # LM-C-transform
    ],
    ids=["real", "complex", "fourier", "transform"],
)
def test_parameter_counts_of_the_thesis(changes, printed):
    """Vocabulary 10,000, one bias for each gate of an LSTM, none for the words."""
    with torch.device("meta"):
        config = ComplexRecurrentLMConfig(vocab_size=10_000, lm_bias=False, **changes)
        model = ComplexRecurrentLMForCausalLM(config)
    second = sum(value.numel() for name, value in model.named_parameters() if "bias_hh" in name)
    assert second == (5_200 if config.number_field == "real" else 0)
    assert count_parameters(model) - second == printed


@pytest.mark.parametrize("changes", [{}, REAL, {"lm_readout": "squared_modulus"}], ids=["complex", "real", "modulus"])
def test_a_head_without_a_bias_is_one_whose_bias_is_zero(changes):
    model, plain = make(lm_bias=False, **changes), make(**changes)
    rest = plain.load_state_dict(model.state_dict(), strict=False)
    assert rest.missing_keys == ["lm_head.projection.bias"]
    nn.init.zeros_(plain.lm_head.projection.bias)
    torch.testing.assert_close(model(texts()).logits, plain(texts()).logits, rtol=0, atol=1e-12)
    assert model.resize_token_embeddings(15).num_embeddings == model(texts()).logits.shape[-1] == 15


# --- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", CAUSAL)
def test_states_carried_on_are_one_long_text(variant):
    model = make(**CAUSAL[variant])
    ids = texts(20)
    whole = model(ids, use_cache=True)
    cache, parts = None, []
    for piece in ids.split([1, 7, 1, 11], dim=1):
        out = model(piece, cache=cache, use_cache=True)
        parts.append(out.logits)
        cache = out.cache
    torch.testing.assert_close(torch.cat(parts, dim=1), whole.logits, rtol=0, atol=1e-12)
    assert cache.get_seq_length() == 20
    saved = cache.state_dict()
    for name, value in whole.cache.state_dict().items():
        torch.testing.assert_close(saved[name], value, rtol=0, atol=1e-12)
    again = RecurrentCache(model.config)
    again.load_state_dict(saved)
    more = texts(3)
    torch.testing.assert_close(model(more, cache=again).logits, model(more, cache=cache).logits, rtol=0, atol=0)


@pytest.mark.parametrize("embedding", ["learned_position", "sinusoidal_position", "complex_order"])
def test_positions_begin_anew_along_a_stream(embedding):
    model = make(embedding_type=embedding, position_period=4)
    words, states = texts(11), None
    for start in (0, 3, 6):
        out = model(words[:, start : start + 3], cache=states, use_cache=True)
        states = out.cache
    position = torch.tensor([[3, 4, 1]])  # of tokens 7, 8 and 9
    again = model(words[:, 6:9], cache=carried(model, words[:, :6]))
    torch.testing.assert_close(out.logits, again.logits)
    embeds = model.model.embed_tokens(words[:, 6:9], position_ids=position)
    other = model(inputs_embeds=embeds, cache=carried(model, words[:, :6]))
    torch.testing.assert_close(out.logits, other.logits)
    runs_on = make(embedding_type="complex_order", position_period=None)
    assert not torch.allclose(runs_on.model.embed(words, None, None, 4), runs_on.model.embed(words, None, None, 0))


def test_texts_get_longer_than_a_table_of_positions_that_begin_anew():
    model = make(embedding_type="learned_position", max_position_embeddings=8, position_period=8)
    plain = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    assert model.generate(texts(9, 1), max_new_tokens=20, **plain).shape[1] == 9 + 20
    model = make(embedding_type="learned_position", max_position_embeddings=8, position_period=None)
    with pytest.raises(ValueError, match="but `max_length` is set to 8"):
        model.generate(texts(9, 1), **plain)


def carried(model, words):
    return model(words, use_cache=True).cache


def test_generation_reads_nothing_twice():
    model, words = make(), texts(6, 1)
    plain = {"max_new_tokens": 3, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    expected = model.generate(words, **plain)
    assert torch.equal(model.generate(words, cache=carried(model, words[:, :-1]), **plain), expected)
    with pytest.raises(ValueError, match="cache already covers 6 tokens and the prompt has only 6"):
        model.generate(words, cache=carried(model, words), **plain)
    with pytest.raises(ValueError, match="covers 6 tokens and the prompt has only 3"):
        model.generate(words[:, :3], cache=carried(model, words), **plain)
    embeds = model.model.embed_tokens(words)
    with pytest.raises(ValueError, match="covers 6 tokens and the prompt has only 6"):
        model.generate(inputs_embeds=embeds, cache=carried(model, words), **plain)
    with pytest.raises(ValueError, match="Passing a tuple for `cache` is not supported"):
        model.generate(words, cache=((words,),), **plain)


def test_gradients_end_where_a_call_begins():
    model = make().train()
    cache = copy.deepcopy(model(texts(), use_cache=True).cache)  # which has no graph
    model.zero_grad()
    model(texts(), cache=cache).logits.sum().backward()
    before = {name: value.grad.clone() for name, value in model.named_parameters()}
    detached = RecurrentCache(model.config)
    model.zero_grad()
    detached.load_state_dict(model(texts(), use_cache=True).cache.state_dict())
    model(texts(), cache=detached).logits.sum().backward()
    for name, value in model.named_parameters():
        torch.testing.assert_close(value.grad, before[name])


def test_caches_that_do_not_fit():
    model, deep = make(), make(num_hidden_layers=3)
    cache = model(texts(), use_cache=True).cache
    with pytest.raises(ValueError, match="cache must have the batch size 3, got 2"):
        model(texts(count=3), cache=cache)
    with pytest.raises(ValueError, match=r"cache must have states of sizes .*\. Start with a new cache"):
        deep(texts(), cache=cache)
    with pytest.raises(ValueError, match=r"settings \{'num_layers': 3\}, got \{'num_layers': 2\}"):
        RecurrentCache(deep.config).load_state_dict(cache.state_dict())
    with pytest.raises(KeyError, match="tokens_read"):
        RecurrentCache(model.config).load_state_dict({"num_layers": torch.tensor(2)})
    broken = {name: value for name, value in cache.state_dict().items() if not name.startswith("layers.1")}
    with pytest.raises(ValueError, match="saved states must have the widths"):
        RecurrentCache(model.config).load_state_dict(broken)
    with pytest.raises(TypeError, match="must be a RecurrentCache, got tuple"):
        model(texts(), cache=(1, 2))


@pytest.mark.parametrize(
    ("changes", "foreign", "states"),
    [
        ({"rnn_type": "lru"}, {}, "'hidden': 6, 'cell': 6"),
        ({}, {"rnn_type": "gru"}, "'hidden': 6"),
        ({}, {"recurrent_size": 4}, "'hidden': 4, 'cell': 4"),
        ({}, {"transform": "causal_z"}, "'hidden': 6, 'cell': 6"),
        ({"transform": "causal_z"}, {}, "'hidden': 6, 'cell': 6"),
        ({"transform": "causal_z"}, {"transform": "causal_z", "hidden_size": 4}, "'transform': 4, .*"),
    ],
    ids=str,
)
def test_states_of_another_cell_width_or_transform_are_refused(changes, foreign, states):
    model, cache = make(**changes), make(**foreign)(texts(), use_cache=True).cache
    with pytest.raises(
        ValueError, match=rf"cache must have states of sizes .*, got .*{states}\}}.*\. Start with a new cache"
    ):
        model(texts(), cache=cache)
    empty = RecurrentCache(model.config)
    with pytest.raises(ValueError, match=r"saved states must have the widths .*, got "):
        empty.load_state_dict(cache.state_dict())


@pytest.mark.parametrize("changes", [{}, {"rnn_type": "lru", "transform": "causal_z"}, REAL], ids=str)
def test_states_go_into_a_model_of_another_precision(changes):
    model, narrow = make(**changes), make(torch.float32, **changes)
    cache = model(texts(), use_cache=True).cache
    logits = narrow(texts(), cache=cache).logits
    expected = model(texts().repeat(1, 2)).logits[:, 9:]
    torch.testing.assert_close(logits, expected.float(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"max_modulus": 1.0, "rnn_type": "lru"}, ["max_modulus <= 0.999999", "0.5 and 1.0"]),
        ({"rnn_type": "lru", "gate": "modulus"}, ["gate", "'split'"]),
        ({**REAL, "transform": "z"}, ["number_field must be 'complex' with transform='z'"]),
        ({**REAL, "word_parts": "real"}, ["number_field must be 'complex' with word_parts='real'"]),
        ({**SLOTS, "num_slots": 0}, ["num_slots must be positive, got 0"]),
        ({**SLOTS, "num_slots": 6, "position_length": 5}, ["num_slots must be at most position_length=5, got 6"]),
        ({**SLOTS, "position_length": "text"}, ["or 'sentence', got 'text'"]),
        ({**PHASES, "position_length": 0}, ["positive", "got 0"]),
        ({"tie_word_embeddings": True}, ["got 'both' and 8"]),
        (
            {"tie_word_embeddings": True, "recurrent_size": 8, "word_parts": "real"},
            ["got 'real' and 8"],
        ),
    ],
    ids=str,
)
def test_choices_that_do_not_fit(changes, parts):
    with pytest.raises(Exception, match=r".") as caught:
        ComplexRecurrentLMConfig(**{**TINY, **changes})
    assert [part for part in parts if part not in str(caught.value)] == [], caught.value


def test_the_real_twin_leaves_out_the_transforms_of_complex_numbers():
    for transform, expected in (("z", "none"), ("fourier", "none"), ("causal_z", "causal_z")):
        twin = ComplexRecurrentLMConfig(transform=transform, word_parts="real").real_twin()
        assert (twin.number_field, twin.transform, twin.word_parts, twin.gate) == ("real", expected, "both", "split")
    words = make(word_parts="real")
    twin = ComplexRecurrentLMForCausalLM(words.config.real_twin())
    assert twin.get_input_embeddings().weight.numel() == 2 * words.get_input_embeddings().weight.numel()
