# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The whole network against an independent complex128 forward."""

import math

import numpy as np
import pytest
import torch
from scipy.special import erf
from small_models import build, first, text

from complex_transformers import (
    ComplexOrderForSequenceClassification,
)


def numbers(array):
    """[real | imag] halves as complex128."""
    half = array.shape[-1] // 2
    return array[..., :half] + 1j * array[..., half:]


def oracle_logits(model, input_ids, mask):
    """ComplexOrder Eq. 5, 13, 14 and App. B in complex128, written from the weights alone, one sentence at a time."""
    w = {name: value.double().numpy() for name, value in model.state_dict().items()}
    cfg = model.config

    def dense(name, z):
        return z @ (w[f"{name}.real.weight"] + 1j * w[f"{name}.imag.weight"]).T + numbers(w[f"{name}.bias"])

    def norm(name, z):
        def standard(x):
            x = x - x.mean(-1, keepdims=True)
            return x / np.sqrt((x**2).mean(-1, keepdims=True) + cfg.layer_norm_eps)

        gain, shift = numbers(w[f"{name}.weight"]), numbers(w[f"{name}.bias"])
        real = standard(z.real) * gain.real + shift.real
        return real + 1j * (standard(z.imag) * gain.imag + shift.imag)

    def gelu(x):
        return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))

    logits = []
    for ids, keep in zip(input_ids.numpy(), mask.numpy().astype(bool), strict=True):
        ids = ids[keep]
        position = np.arange(1, len(ids) + 1)[:, None]
        z = w["model.embed_tokens.amplitude"][ids] * np.exp(1j * w["model.embed_tokens.frequency"][ids] * position)
        for layer in range(cfg.num_hidden_layers):
            name = f"model.layers.{layer}"
            q, k, v = (dense(f"{name}.self_attn.{part}_proj", z) for part in "qkv")
            size = q.shape[-1] // cfg.num_attention_heads
            heads = []
            for head in range(cfg.num_attention_heads):
                part = slice(head * size, (head + 1) * size)
                score = np.abs(q[:, part] @ k[:, part].conj().T) / math.sqrt(size)
                weight = np.exp(score - score.max(-1, keepdims=True))
                heads.append(weight / weight.sum(-1, keepdims=True) @ v[:, part])
            attended = dense(f"{name}.self_attn.out_proj", np.concatenate(heads, -1))
            z = norm(f"{name}.self_attn_norm", z + attended)
            hidden = dense(f"{name}.feed_forward.up_proj", z)
            hidden = gelu(hidden.real) + 1j * gelu(hidden.imag)
            z = norm(f"{name}.feed_forward_norm", z + dense(f"{name}.feed_forward.down_proj", hidden))
        logits.append(np.abs(dense("classifier.projection", z.mean(0))))
    return np.stack(logits)


@pytest.mark.parametrize("side", ["left", "right"])
def test_classifier_equals_the_oracle_in_complex128(side):
    model = build(ComplexOrderForSequenceClassification, frequency_init="uniform")
    for parameter in model.parameters():  # biases and gains too
        parameter.data += 0.1 * torch.randn_like(parameter)
    ids = text(9, batch=4)
    mask = torch.ones_like(ids)
    for row, padding in enumerate((0, 3, 5, 8)):
        mask[row, 9 - padding :] = 0
    if side == "left":
        mask = mask.flip(1)
    expected = oracle_logits(model, ids, mask)
    assert np.ptp(expected, axis=0).min() > 0.05  # texts differ: a constant would prove nothing
    torch.testing.assert_close(
        first(model.double(), input_ids=ids, attention_mask=mask).numpy(), expected, rtol=1e-7, atol=1e-7
    )
    torch.testing.assert_close(
        first(model.float(), input_ids=ids, attention_mask=mask).double().numpy(), expected, rtol=1e-5, atol=1e-5
    )
