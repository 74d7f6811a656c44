# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The whole network against an independent complex128 forward, and its loss against the formula."""

import math

import numpy as np
import pytest
import torch
from scipy.special import erf, logsumexp

from families import START, Case
from family_inputs import words

build = Case("complex_seq2seq", "modulus").trained


@torch.no_grad()
def logits(model, source, target, **inputs):
    return model(input_ids=source, decoder_input_ids=target, **inputs).logits


def numbers(array):
    """[real | imag] halves as complex128."""
    half = array.shape[-1] // 2
    return array[..., :half] + 1j * array[..., half:]


class Oracle:
    """ComplexOrder Eq. 5, 13, 14 and App. B with a decoder (Vaswani et al. 2017), from the weights alone."""

    def __init__(self, model):
        self.w = {name: value.double().numpy() for name, value in model.state_dict().items()}
        self.config = model.config

    def dense(self, name, z):
        w = self.w
        weight = w[f"{name}.real.weight"] + 1j * w[f"{name}.imag.weight"]
        return z @ weight.T + numbers(w[f"{name}.bias"])

    def norm(self, name, z):
        def standard(x):
            x = x - x.mean(-1, keepdims=True)
            return x / np.sqrt((x**2).mean(-1, keepdims=True) + self.config.layer_norm_eps)

        gain, shift = numbers(self.w[f"{name}.weight"]), numbers(self.w[f"{name}.bias"])
        return standard(z.real) * gain.real + shift.real + 1j * (standard(z.imag) * gain.imag + shift.imag)

    def embed(self, side, ids):
        position = np.arange(1, len(ids) + 1)[:, None]
        table = f"model.{side}.embed_tokens"
        return self.w[f"{table}.amplitude"][ids] * np.exp(1j * self.w[f"{table}.frequency"][ids] * position)

    def attend(self, name, z, source, causal):
        q, (k, v) = self.dense(f"{name}.q_proj", z), (self.dense(f"{name}.{part}_proj", source) for part in "kv")
        size = q.shape[-1] // self.config.num_attention_heads
        heads = []
        for head in range(self.config.num_attention_heads):
            part = slice(head * size, (head + 1) * size)
            score = np.abs(q[:, part] @ k[:, part].conj().T) / math.sqrt(size)
            if causal:
                score = np.where(np.tri(len(q), dtype=bool), score, -np.inf)
            weight = np.exp(score - score.max(-1, keepdims=True))
            heads.append(weight / weight.sum(-1, keepdims=True) @ v[:, part])
        return self.dense(f"{name}.out_proj", np.concatenate(heads, -1))

    def feed(self, name, z):
        def gelu(x):
            return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))

        z = self.dense(f"{name}.up_proj", z)
        return self.dense(f"{name}.down_proj", gelu(z.real) + 1j * gelu(z.imag))

    def logits(self, source, target):
        z = self.embed("encoder", source)
        for index in range(self.config.encoder_layers):
            name = f"model.encoder.layers.{index}"
            z = self.norm(f"{name}.self_attn_norm", z + self.attend(f"{name}.self_attn", z, z, causal=False))
            z = self.norm(f"{name}.feed_forward_norm", z + self.feed(f"{name}.feed_forward", z))
        y = self.embed("decoder", target)
        for index in range(self.config.decoder_layers):
            name = f"model.decoder.layers.{index}"
            y = self.norm(f"{name}.self_attn_norm", y + self.attend(f"{name}.self_attn", y, y, causal=True))
            y = self.norm(f"{name}.cross_attn_norm", y + self.attend(f"{name}.cross_attn", y, z, causal=False))
            y = self.norm(f"{name}.feed_forward_norm", y + self.feed(f"{name}.feed_forward", y))
        halves = np.concatenate([y.real, y.imag], -1)
        return halves @ self.w["lm_head.projection.weight"].T + self.w["lm_head.projection.bias"]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("share_embeddings", [True, False])
def test_logits_equal_the_oracle_in_complex128(side, share_embeddings):
    model = build(share_embeddings=share_embeddings)
    source, target = words(9, 3), words(7, 3)
    source_mask, target_mask = torch.ones_like(source), torch.ones_like(target)
    for row, (missing_source, missing_target) in enumerate(((0, 2), (3, 0), (5, 4))):
        source_mask[row, 9 - missing_source :] = 0
        target_mask[row, 7 - missing_target :] = 0
    if side == "left":
        source_mask, target_mask = source_mask.flip(1), target_mask.flip(1)
    oracle = Oracle(model)
    masks = {"attention_mask": source_mask, "decoder_attention_mask": target_mask}
    for precise, tolerance in ((True, 1e-8), (False, 2e-5)):
        actual = logits(model.double() if precise else model.float(), source, target, **masks).double().numpy()
        for row in range(3):
            keep = target_mask[row].bool().numpy()
            expected = oracle.logits(source[row][source_mask[row].bool()].numpy(), target[row].numpy()[keep])
            assert np.ptp(expected, axis=0).min() > 0.001  # positions differ: a constant would prove nothing
            size = np.abs(expected).max()
            np.testing.assert_allclose(actual[row][keep], expected, rtol=0, atol=tolerance * size)


def test_loss_is_the_cross_entropy_of_the_labels_and_smoothed_only_while_training():
    model = build(label_smoothing=0.2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0).double()
    source, labels = words(6, 2), words(5, 2)
    labels[1, 3:] = -100
    target = torch.tensor([[START, *labels[0, :4]], [START, *labels[1, :3], 0]])
    scores = logits(model, source, target).numpy()
    log_probability = scores - logsumexp(scores, axis=-1, keepdims=True)
    rows, columns = np.nonzero(labels.numpy() != -100)
    own = -log_probability[rows, columns, labels.numpy()[rows, columns]].mean()
    uniform = -log_probability[rows, columns].mean(-1).mean()
    assert float(model(source, labels=labels).loss) == pytest.approx(own, rel=1e-6)
    assert float(model.train()(source, labels=labels).loss) == pytest.approx(0.8 * own + 0.2 * uniform, rel=1e-6)
    # Trainer divides the sum over several batches by the number of labels in all of them.
    assert float(model(source, labels=labels, num_items_in_batch=16).loss) == pytest.approx(
        (0.8 * own + 0.2 * uniform) * 8 / 16, rel=1e-6
    )
