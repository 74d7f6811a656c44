# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The whole network against an independent complex128 (or real) forward, and its loss."""

from functools import partial

import numpy as np
import pytest
import torch
from scipy.special import expit, logsumexp, softmax
from small_synconmt import build, build_variant, every_variant, labels_of, run, source_of, target_of


def sigmoid_of_parts(z):
    return expit(z.real) + 1j * expit(z.imag) if np.iscomplexobj(z) else expit(z)


def tanh_of_parts(z):
    return np.tanh(z.real) + 1j * np.tanh(z.imag) if np.iscomplexobj(z) else np.tanh(z)


class Oracle:
    """SynCoNMT Eq. 11 to 16 word by word, from the weights alone; numbers are complex128, or float64."""

    def __init__(self, model):
        self.w = {name: value.double().numpy() for name, value in model.state_dict().items()}
        self.config = model.config
        self.complex = model.config.number_field == "complex"

    def numbers(self, array):
        half = array.shape[-1] // 2
        return array[..., :half] + 1j * array[..., half:] if self.complex else array

    def matrix(self, name):
        w = self.w
        return w[f"{name}.real.weight"] + 1j * w[f"{name}.imag.weight"] if self.complex else w[f"{name}.weight"]

    def dense(self, name, z):
        bias = self.w.get(f"{name}.bias")
        return self.matrix(name) @ z + (0.0 if bias is None else self.numbers(bias))

    def embed(self, side, word, relation):
        table = f"model.{side}.embed_tokens"
        w = self.w[f"{table}.weight"][word]
        if not self.config.use_relations:
            return w
        d = self.w[f"{table}.relation"][relation]
        return w + 1j * d if self.complex else np.concatenate([w, d])

    def recurrent(self, name, direction):
        """(W x + b, U h + b') of one direction, as functions."""
        if self.complex:
            return (
                lambda x: self.dense(f"{name}.input_proj.{direction}", x),
                lambda h: self.dense(f"{name}.recurrent_proj.{direction}", h),
            )
        end = "l0_reverse" if direction else "l0"
        w = self.w
        return (
            lambda x: w[f"{name}.weight_ih_{end}"] @ x + w[f"{name}.bias_ih_{end}"],
            lambda h: w[f"{name}.weight_hh_{end}"] @ h + w[f"{name}.bias_hh_{end}"],
        )

    def gate(self, name, z, number):
        """Of a layer and direction ``name``, the gate with that number."""
        if self.config.gate == "projected":
            alpha, beta = self.w[name][:, number]
            return expit(alpha * z.real + beta * z.imag)
        return sigmoid_of_parts(z) if self.config.gate == "split" else expit(z.real)

    def cell(self, name, direction, of_inputs, of_state, state):
        """One step of ``rnn_type`` from both products."""
        f, gate = tanh_of_parts, partial(self.gate, f"{name}.gate_weight.{direction}")
        if self.config.rnn_type == "rnn":
            return (f(of_inputs + of_state),)
        if self.config.rnn_type == "lstm":
            i, forget, g, o = np.split(of_inputs + of_state, 4)
            c = gate(forget, 1) * state[1] + gate(i, 0) * f(g)
            return gate(o, 2) * f(c), c
        x, h = np.split(of_inputs, 3), np.split(of_state, 3)
        r, z = gate(x[0] + h[0], 0), gate(x[1] + h[1], 1)
        return (z * state[0] + (1.0 - z) * f(x[2] + r * h[2]),)

    def encode(self, words, relations):
        states = [self.embed("encoder", *pair) for pair in zip(words, relations, strict=True)]
        for layer in range(self.config.encoder_layers):
            outputs = []
            for direction in range(2 if self.config.bidirectional else 1):
                name = f"model.encoder.layers.{layer}.rnn"
                of_inputs, of_state = self.recurrent(name, direction)
                order = states[::-1] if direction else states
                width = (
                    len(of_state(np.zeros(self.width(direction))))
                    // {"rnn": 1, "gru": 3, "lstm": 4}[self.config.rnn_type]
                )
                state, out = (np.zeros(width),) * 2, []
                for x in order:
                    state = self.cell(name, direction, of_inputs(x), of_state(state[0]), state)
                    out.append(state[0])
                outputs.append(out[::-1] if direction else out)
            states = [np.concatenate(parts) for parts in zip(*outputs, strict=True)]
        self.ends = np.concatenate([out[0 if direction else -1] for direction, out in enumerate(outputs)])
        return np.stack(states)

    def width(self, direction):
        size = self.config.hidden_size // (2 if self.complex else 1)
        return size // (2 if self.config.bidirectional else 1)

    def weights(self, scores):
        """S 14."""
        return softmax(scores.real) + 1j * softmax(scores.imag) if self.complex else softmax(scores)

    def additive(self, name, state, source):
        hidden = [
            tanh_of_parts(self.dense(f"{name}.query_proj", state) + self.dense(f"{name}.key_proj", h)) for h in source
        ]
        return self.weights(np.array([self.dense(f"{name}.score_proj", u)[0] for u in hidden]))

    def local(self, name, state, source):
        """Luong et al. 2015, Eq. 9 and 10, in the window around the predicted place."""
        inner = tanh_of_parts(self.dense(f"{name}.place_proj", state))
        stored = np.concatenate([inner.real, inner.imag]) if self.complex else inner
        place = len(source) * expit(self.w[f"{name}.place_readout.weight"][0] @ stored)
        window = self.config.attention_window
        near = [j for j in range(1, len(source) + 1) if abs(j - place) <= window]
        scores = np.array([state.conj() @ self.dense(f"{name}.key_proj", source[j - 1]) for j in near])
        found = np.zeros(len(source), dtype=complex if self.complex else float)
        gaussian = np.exp([-((j - place) ** 2) / (2.0 * (window / 2.0) ** 2) for j in near])
        found[np.array(near) - 1] = self.weights(scores) * gaussian
        return found

    def decode(self, source, words, relations):
        """States and attention weights of all words."""
        states, count = [], 2 if self.config.rnn_type == "lstm" else 1
        for layer in range(self.config.decoder_layers):
            first = range(layer * count, (layer + 1) * count)
            states.append(
                tuple(tanh_of_parts(self.dense(f"model.decoder.first_state_proj.{i}", self.ends)) for i in first)
            )
        outputs, attention = [], []
        for pair in zip(words, relations, strict=True):
            x = self.embed("decoder", *pair)
            for layer in range(self.config.decoder_layers):
                name = f"model.decoder.layers.{layer}"
                reads = self.config.attention_type == "bahdanau" and layer == 0
                rnn = f"{name}.rnn.rnn" if reads else f"{name}.rnn"
                of_inputs, of_state = self.recurrent(rnn, 0)
                total = of_inputs(x)
                if reads:
                    weights = self.additive(f"{name}.rnn.attention", states[layer][0], source)
                    attention.append(weights)
                    total = total + self.matrix(f"{name}.rnn.context_proj") @ (weights @ source)  # S 13
                states[layer] = self.cell(rnn, 0, total, of_state(states[layer][0]), states[layer])
                x = states[layer][0]
            if self.config.attention_type == "luong":
                weights = self.local(f"{name}.attention", x, source)
                attention.append(weights)
                x = tanh_of_parts(self.dense(f"{name}.context_proj", np.concatenate([weights @ source, x])))
            outputs.append(x)
        return np.stack(outputs), np.stack(attention)

    def logits(self, head, states):
        """S 15 and 16."""
        return np.stack([self.head(f"{head}.projection", state) for state in states])

    def head(self, name, state):
        if self.config.lm_readout == "modulus":
            return np.abs(self.dense(name, state))
        parts = np.concatenate([state.real, state.imag]) if self.complex else state
        return self.w[f"{name}.weight"] @ parts + self.w[f"{name}.bias"]


@pytest.mark.parametrize("side", ["left", "right"])
@every_variant
def test_everything_equals_the_oracle_in_complex128(variant, side):
    model = build_variant(variant)
    source, target = source_of(model, 7, 3), target_of(model, 5, 3)
    mask, target_mask = torch.ones(3, 7, dtype=torch.long), torch.ones(3, 5, dtype=torch.long)
    for row, (missing_source, missing_target) in enumerate(((0, 2), (3, 0), (5, 4))):
        mask[row, 7 - missing_source :] = 0
        target_mask[row, 5 - missing_target :] = 0
    if side == "left":
        mask, target_mask = mask.flip(1), target_mask.flip(1)
    masks = {"attention_mask": mask, "decoder_attention_mask": target_mask}
    oracle = Oracle(model)
    for precise, tolerance in ((True, 1e-9), (False, 1e-4)):
        out = run(model.double() if precise else model.float(), **source, **target, **masks, output_attentions=True)
        for row in range(3):
            words, keep = mask[row].bool(), target_mask[row].bool()
            nothing = torch.zeros_like(source["input_ids"])
            relations = source.get("relation_ids", nothing)[row][words].numpy()
            states = oracle.encode(source["input_ids"][row][words].numpy(), relations)
            nothing = torch.zeros_like(target["decoder_input_ids"])
            relations = target.get("decoder_relation_ids", nothing)[row][keep].numpy()
            states, attention = oracle.decode(states, target["decoder_input_ids"][row][keep].numpy(), relations)
            heads = {"lm_head": out.logits}
            if model.config.use_relations:
                heads["relation_head"] = out.relation_logits
            for name, found in heads.items():
                expected = oracle.logits(name, states)
                assert len(expected) == 1 or np.ptp(expected, axis=0).min() > 1e-3  # a constant would prove nothing
                actual = found[row][keep].double().numpy()
                np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())
            weights = oracle.numbers(out.cross_attentions[0][row, 0][keep].double().numpy())
            np.testing.assert_allclose(weights[:, words.numpy()], attention, rtol=0, atol=tolerance)
            assert not weights[:, ~words.numpy()].any()


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_loss_is_the_weighted_cross_entropy_of_words_and_relations(alpha):
    model = build(alpha=alpha, label_smoothing=0.2, hidden_dropout_prob=0.0).double()
    source, labels = source_of(model, 6, 2), labels_of(model, 5, 2)
    labels["labels"][1, 3:] = -100
    labels["relation_labels"][1, 2] = -100
    labels["relation_labels"][0, 4] = 0  # padding; relations of words that are ignored are left as they are
    with torch.no_grad():
        out = model(**source, **labels)

    def terms(logits, target, keep):
        log_probability = logits.numpy() - logsumexp(logits.numpy(), axis=-1, keepdims=True)
        chosen = log_probability[keep]
        own = -chosen[np.arange(len(chosen)), target.numpy()[keep]].sum()
        return own, -chosen.mean(-1).sum()

    words = labels["labels"].numpy() != -100
    relations = words & (labels["relation_labels"].numpy() > 0)
    of_words, of_relations = (
        terms(out.logits, labels["labels"], words),
        terms(out.relation_logits, labels["relation_labels"], relations),
    )
    own = alpha * of_words[0] + (1 - alpha) * of_relations[0]
    uniform = alpha * of_words[1] + (1 - alpha) * of_relations[1]
    assert float(out.loss) == pytest.approx(own / 8, rel=1e-6)
    model.train()
    assert float(model(**source, **labels).loss.detach()) == pytest.approx((0.8 * own + 0.2 * uniform) / 8, rel=1e-6)
    # Trainer divides the sum over several batches by the number of labels in all of them.
    loss = model(**source, **labels, num_items_in_batch=16).loss.detach()
    assert float(loss) == pytest.approx((0.8 * own + 0.2 * uniform) / 16, rel=1e-6)


def test_without_relation_labels_alpha_one_is_the_loss_of_words():
    model = build(alpha=1.0).double()
    source, target, labels = source_of(model, 5), target_of(model, 4), labels_of(model, 4)
    expected = torch.nn.functional.cross_entropy(run(model, **source, **target).logits[0], labels["labels"][0])
    found = run(model, **source, **target, labels=labels["labels"]).loss
    torch.testing.assert_close(found, expected, check_dtype=False)
    torch.testing.assert_close(run(model, **source, **target, **labels).loss, found)
