# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The network against a plain one in numpy: that of Dai et al. (2019) in the real field, ours in the complex field.

The plain network keeps hidden states as its memory, as the paper does, and computes scores one by one.
"""

import numpy as np
import pytest
import torch
from small_transfo_xl import build, in_segments, stream


def sinusoid(distance, width):
    """R of a distance (Vaswani et al. 2017 in the order of Dai et al.: all sines, then all cosines)."""
    angle = [distance / 10000 ** (2 * m / width) for m in range(width // 2)]
    return np.concatenate([np.sin(angle), np.cos(angle)])


def numbers(halves, field):
    """Stored numbers as an array of the field."""
    halves = halves.detach().double().numpy() if isinstance(halves, torch.Tensor) else halves
    if field == "real":
        return halves
    real, imag = np.split(halves, 2, axis=-1)
    return real + 1j * imag


def matrix(layer):
    if hasattr(layer, "real"):
        imag = layer.real if layer.imag is None else layer.imag
        return layer.real.weight.detach().numpy() + 1j * imag.weight.detach().numpy()
    return layer.weight.detach().numpy()


def layer_norm(z, norm):
    """Every part on its own (ComplexOrder App. B)."""
    if np.iscomplexobj(z):
        real, imag = (norm_part(part, norm.eps) for part in (z.real, z.imag))
        halves = np.concatenate([real, imag], -1)
        return numbers(halves * norm.weight.detach().numpy() + norm.bias.detach().numpy(), "complex")
    return norm_part(z, norm.eps) * norm.weight.detach().numpy() + norm.bias.detach().numpy()


def norm_part(x, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def relu(z):
    return np.maximum(z.real, 0) + 1j * np.maximum(z.imag, 0) if np.iscomplexobj(z) else np.maximum(z, 0)


def attention(h, memory, layer, cfg):
    """Dai et al. section 3.3 for one stream: h ``[T, d]`` new, memory ``[M, d]`` old hidden states."""
    field, heads = cfg.number_field, cfg.num_attention_heads
    u, v = numbers(layer.content_bias, field), numbers(layer.position_bias, field)
    seen = np.concatenate([memory, h])
    query, key, value = (
        (x @ matrix(w).T).reshape(len(x), heads, -1)
        for x, w in ((h, layer.q_proj), (seen, layer.k_proj), (seen, layer.v_proj))
    )
    out = np.zeros(query.shape, query.dtype)
    for head in range(heads):
        for i in range(len(h)):
            place = len(memory) + i
            scores = []
            for j in range(place + 1):
                distance = place - j if cfg.clamp_len is None else min(place - j, cfg.clamp_len)
                position = matrix(layer.r_proj) @ numbers(sinusoid(distance, cfg.hidden_size), field)
                position = position.reshape(heads, -1)[head]
                q, k = query[i, head], key[j, head]
                if cfg.attention_score != "bilinear_modulus":
                    k, position = k.conj(), position.conj()
                terms = np.array([q @ k, q @ position, u[head] @ k, v[head] @ position])  # a, b, c, d
                terms = terms / np.sqrt(q.shape[-1])
                if cfg.attention_score == "sum_of_moduli":
                    scores.append(abs(terms[0] + terms[2]) + abs(terms[1] + terms[3]))
                else:
                    scores.append(terms.sum().real if cfg.attention_score == "real" else abs(terms.sum()))
            power = np.exp(np.array(scores) - max(scores))
            out[i, head] = (power / power.sum()) @ value[: place + 1, head]
    return out.reshape(len(h), -1) @ matrix(layer.out_proj).T


def plain_network(model, ids, cuts, mem_len):
    """Logits of one stream ``ids [N]`` read in segments; every position of a word is its place in the stream."""
    cfg, base = model.config, model.model
    field = cfg.number_field
    width = cfg.hidden_size if field == "real" else cfg.hidden_size // 2
    memories = [np.zeros((0, width), float if field == "real" else complex) for _ in base.layers]
    logits = []
    for start, end in zip((0, *cuts), (*cuts, len(ids)), strict=True):
        if field == "real":
            h = base.embed_tokens.weight.detach().numpy()[ids[start:end]]
        else:
            amplitude = base.embed_tokens.amplitude.detach().numpy()[ids[start:end]]
            frequency = base.embed_tokens.frequency.detach().numpy()[ids[start:end]]
            h = amplitude * np.exp(1j * frequency * np.arange(start + 1, end + 1)[:, None])
        for index, layer in enumerate(base.layers):
            context = attention(h, memories[index], layer.self_attn, cfg)
            memories[index] = np.concatenate([memories[index], h])[-mem_len:]
            h = layer_norm(h + context, layer.self_attn_norm)
            ff = layer.feed_forward
            bias = [numbers(linear.bias, field) for linear in (ff.up_proj, ff.down_proj)]
            inner = relu(h @ matrix(ff.up_proj).T + bias[0])
            h = layer_norm(h + inner @ matrix(ff.down_proj).T + bias[1], layer.feed_forward_norm)
        halves = h if field == "real" else np.concatenate([h.real, h.imag], -1)
        head = model.lm_head.projection
        logits.append(halves @ head.weight.detach().numpy().T + head.bias.detach().numpy())
    return np.concatenate(logits)


CUTS = {"one segment": (), "halves": (6,), "longer than the memory": (4, 5, 11)}


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS.keys())
@pytest.mark.parametrize("clamp_len", [None, 3])
def test_the_real_field_is_transformer_xl(cuts, clamp_len):
    changes = {"number_field": "real", "embedding_type": "word", "mem_len": 3, "clamp_len": clamp_len}
    model = build(**changes).double()
    ids = stream(13, batch=2)
    expected = np.stack([plain_network(model, row, cuts, 3) for row in ids.numpy()])
    np.testing.assert_allclose(in_segments(model, ids, cuts).numpy(), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS.keys())
@pytest.mark.parametrize("score", ["modulus", "real", "bilinear_modulus", "sum_of_moduli"])
def test_the_complex_field_is_the_same_network_on_complex_numbers(cuts, score):
    model = build(attention_score=score, mem_len=3).double()
    ids = stream(13, batch=2)
    expected = np.stack([plain_network(model, row, cuts, 3) for row in ids.numpy()])
    np.testing.assert_allclose(in_segments(model, ids, cuts).numpy(), expected, rtol=0, atol=1e-8)


def test_the_order_of_the_memory_matters():
    """Without positions of the words' own, only distances tell the tokens of the memory apart."""
    model = build(number_field="real", embedding_type="word", mem_len=3).double()
    ids = stream(9)
    moved = ids[:, [0, 1, 2, 4, 3, 5, 6, 7, 8]]
    assert (in_segments(model, moved, (6,)) - in_segments(model, ids, (6,)))[:, 6:].abs().max() > 1e-4
