# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The network and its training against plain ones: those of Dai et al. (2019), ours in the complex field.

h~ = [SG(memory), h], q = W_q h, k = W_k h~, v = W_v h~: the hidden states of the memory are constants, the weights
that project them are not.
"""

import pytest
import torch
import torch.nn.functional as F
from small_transfo_xl import build, in_segments

from complex_transformers import MemoryCache
from complex_transformers.models.base.caches.memory import MEMORY_KINDS
from family_inputs import assert_slopes, words


class PlainNetwork:
    """The network from leaves of its own, named as the parameters of ``model``; one stream at a time, post-norm."""

    def __init__(self, model):
        self.config = model.config
        self.is_complex = self.config.number_field == "complex"
        self.leaves = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}

    def halves(self, name):
        x = self.leaves[name]
        return torch.complex(*x.chunk(2, -1)) if self.is_complex else x

    def matrix(self, name):
        if not self.is_complex:
            return self.leaves[f"{name}.weight"]
        return torch.complex(self.leaves[f"{name}.real.weight"], self.leaves[f"{name}.imag.weight"])

    def norm(self, z, name):
        parts = [F.layer_norm(part, part.shape[-1:]) for part in ((z.real, z.imag) if self.is_complex else (z,))]
        out = torch.cat(parts, -1) * self.leaves[f"{name}.weight"] + self.leaves[f"{name}.bias"]
        return torch.complex(*out.chunk(2, -1)) if self.is_complex else out

    def words(self, ids, first):
        if not self.is_complex:
            return self.leaves["model.embed_tokens.weight"][ids]
        amplitude, frequency = (self.leaves[f"model.embed_tokens.{n}"][ids] for n in ("amplitude", "frequency"))
        phase = frequency * torch.arange(first, first + len(ids)).unsqueeze(-1)
        return torch.complex(amplitude * phase.cos(), amplitude * phase.sin())

    def sinusoid(self, distance):
        width = self.config.hidden_size
        angle = distance / 10000 ** (2 * torch.arange(width // 2, dtype=torch.float64) / width)
        return torch.complex(angle.sin(), angle.cos()) if self.is_complex else torch.cat([angle.sin(), angle.cos()])

    def attention(self, h, memory, layer):
        heads = self.config.num_attention_heads
        seen = torch.cat([memory, h])
        query, key, value = (
            (x @ self.matrix(f"{layer}.{name}_proj").T).unflatten(-1, (heads, -1))
            for name, x in (("q", h), ("k", seen), ("v", seen))
        )
        u, v = self.halves(f"{layer}.content_bias"), self.halves(f"{layer}.position_bias")
        rows = []
        for i in range(len(h)):
            place = len(memory) + i
            terms = []
            for j in range(place + 1):
                distance = place - j if self.config.clamp_len is None else min(place - j, self.config.clamp_len)
                r = (self.matrix(f"{layer}.r_proj") @ self.sinusoid(distance)).unflatten(-1, (heads, -1))
                k = key[j]
                if self.config.attention_score != "bilinear_modulus":
                    k, r = k.conj(), r.conj()
                parts = torch.stack([((query[i] + u) * k).sum(-1), ((query[i] + v) * r).sum(-1)])
                terms.append(parts / query.shape[-1] ** 0.5)
            terms = torch.stack(terms)  # [keys, content and position, heads]
            if self.config.attention_score == "sum_of_moduli":
                scores = terms.abs().sum(1)
            else:
                scores = terms.sum(1).real if self.config.attention_score == "real" else terms.sum(1).abs()
            weights = torch.softmax(scores, 0).unsqueeze(-1)
            rows.append((weights * value[: place + 1]).sum(0).flatten())
        return torch.stack(rows) @ self.matrix(f"{layer}.out_proj").T

    def segment(self, ids, first, memories):
        """Logits of new tokens, and the hidden states that every layer has read."""
        h = self.words(ids, first)
        read = []
        for index, memory in enumerate(memories):
            layer = f"model.layers.{index}"
            read.append(h)
            h = self.norm(h + self.attention(h, memory, f"{layer}.self_attn"), f"{layer}.self_attn_norm")
            inner = h @ self.matrix(f"{layer}.feed_forward.up_proj").T
            inner = inner + self.halves(f"{layer}.feed_forward.up_proj.bias")
            inner = torch.complex(inner.real.relu(), inner.imag.relu()) if self.is_complex else inner.relu()
            out = inner @ self.matrix(f"{layer}.feed_forward.down_proj").T
            out = out + self.halves(f"{layer}.feed_forward.down_proj.bias")
            h = self.norm(h + out, f"{layer}.feed_forward_norm")
        stored = torch.cat([h.real, h.imag], -1) if self.is_complex else h
        return F.linear(stored, self.leaves["lm_head.projection.weight"], self.leaves["lm_head.projection.bias"]), read

    def logits(self, ids, cuts):
        """Logits of streams that are read in segments which end at ``cuts``; the first has no memory."""
        return torch.stack([self.stream(row, cuts) for row in ids])

    def stream(self, row, cuts):
        logits = []
        empty = torch.zeros(0, self.config.hidden_size // (2 if self.is_complex else 1), dtype=torch.float64)
        memories = [empty.to(torch.complex128) if self.is_complex else empty] * self.config.num_hidden_layers
        for start, end in zip((0, *cuts), (*cuts, len(row)), strict=True):
            out, read = self.segment(row[start:end], start + 1, memories)
            logits.append(out)
            memories = [
                torch.cat([memory, h])[-self.config.mem_len :].detach()
                for memory, h in zip(memories, read, strict=True)
            ]
        return torch.cat(logits)


REAL = {"number_field": "real", "embedding_type": "word"}
VARIANTS = {
    "real field": REAL,
    "modulus": {},
    "real score": {"attention_score": "real"},
    "bilinear": {"attention_score": "bilinear_modulus"},
    "sum of moduli": {"attention_score": "sum_of_moduli"},
}
CLAMPED = {"real field, clamped": {**REAL, "clamp_len": 3}, "modulus, clamped": {"clamp_len": 3}}
CUTS = {"one segment": (), "halves": (6,), "longer than the memory": (4, 5, 11)}
LENGTH = 4
every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("changes", [*VARIANTS.values(), *CLAMPED.values()], ids=[*VARIANTS, *CLAMPED])
def test_reading_is_that_of_the_paper(changes, cuts):
    model = build(mem_len=3, **changes).double()
    ids = words(13, 2)
    with torch.no_grad():
        expected = PlainNetwork(model).logits(ids, cuts)
    torch.testing.assert_close(in_segments(model, ids, cuts), expected, rtol=0, atol=1e-8)


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())  # the model's own is float32


def train(model, ids, targets, memory=None):
    loss = 0.0
    for start in range(0, ids.shape[1], LENGTH):
        part = slice(start, start + LENGTH)
        out = model(ids[:, part], cache=memory, use_cache=True)
        memory, loss = out.cache, loss + loss_of(out.logits, targets[:, part])
    return loss


def setting(changes):
    model = build(**{"hidden_dropout_prob": 0.0, "mem_len": 6, **changes}).double().train()
    return model, *words(2 * 3 * LENGTH, 2).chunk(2, -1)


@every_variant
def test_training_is_that_of_the_paper(changes):
    """The second segment fills the memory, the third forgets: every gradient is that of the plain network."""
    model, ids, targets = setting(changes)
    plain = PlainNetwork(model)
    loss = train(model, ids, targets)
    expected = 3 * loss_of(plain.logits(ids, (LENGTH, 2 * LENGTH)), targets)
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-10)
    loss.backward()
    expected.backward()
    for name, parameter in model.named_parameters():
        assert plain.leaves[name].grad.abs().max() > 1e-6, name
        torch.testing.assert_close(parameter.grad, plain.leaves[name].grad, rtol=0, atol=1e-8, msg=name)


@pytest.mark.full
@every_variant
@pytest.mark.parametrize("keeps", MEMORY_KINDS)
def test_gradients_are_slopes_of_the_loss_with_a_constant_memory(changes, keeps):
    model, ids, targets = setting(changes)
    read = MemoryCache(model.config, keeps=keeps)
    model(ids[:, :LENGTH], cache=read)

    def loss():
        memory = MemoryCache(model.config, keeps=keeps)
        memory.load_state_dict(read.state_dict())
        part = slice(LENGTH, 2 * LENGTH)
        return loss_of(model(ids[:, part], cache=memory).logits, targets[:, part])

    assert_slopes(model, loss)


def test_keys_and_values_leave_their_weights_without_the_gradient_of_the_memory():
    model, ids, targets = setting({})
    gradients = []
    for keeps in MEMORY_KINDS:
        model.zero_grad()
        train(model, ids, targets, MemoryCache(model.config, keeps=keeps)).backward()
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters()})
    by_keys, by_states = gradients
    last = "model.layers.1.self_attn"
    for name in by_keys:
        if name.startswith((f"{last}.k_proj", f"{last}.v_proj")):
            assert (by_keys[name] - by_states[name]).abs().max() > 1e-3, name
    # W_q sees the numbers of the memory alone, which are the same.
    torch.testing.assert_close(by_keys[f"{last}.q_proj.real.weight"], by_states[f"{last}.q_proj.real.weight"])
