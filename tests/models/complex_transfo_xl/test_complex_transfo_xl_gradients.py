# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A training step over segments against Dai et al. (2019, section 3) written on torch's own real and complex tensors.

h~ = [SG(memory), h], q = W_q h, k = W_k h~, v = W_v h~: the hidden states of the memory are constants, the weights
that project them are not.
"""

import pytest
import torch
import torch.nn.functional as F
from small_transfo_xl import build, stream

from complex_transformers import MemoryCache
from complex_transformers.models.base.memory_cache import MEMORY_KINDS


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
                r = (self.matrix(f"{layer}.r_proj") @ self.sinusoid(place - j)).unflatten(-1, (heads, -1))
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

    def loss(self, ids, targets, length):
        """Sum over segments of the mean cross entropy; the first has no memory."""
        logits = []
        for row in ids:
            empty = torch.zeros(0, self.config.hidden_size // (2 if self.is_complex else 1), dtype=torch.float64)
            memories = [empty.to(torch.complex128) if self.is_complex else empty] * self.config.num_hidden_layers
            for start in range(0, len(row), length):
                out, read = self.segment(row[start : start + length], start + 1, memories)
                logits.append(out)
                memories = [
                    torch.cat([memory, h])[-self.config.mem_len :].detach()
                    for memory, h in zip(memories, read, strict=True)
                ]
        segments = len(logits) // len(ids)
        return segments * F.cross_entropy(torch.cat(logits), targets.flatten())


VARIANTS = {
    "real field": {"number_field": "real", "embedding_type": "word"},
    "modulus": {},
    "real score": {"attention_score": "real"},
    "bilinear": {"attention_score": "bilinear_modulus"},
    "sum of moduli": {"attention_score": "sum_of_moduli"},
}
LENGTH = 4


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())  # the model's own is float32


def train(model, ids, targets, memory=None):
    loss = 0.0
    for start in range(0, ids.shape[1], LENGTH):
        part = slice(start, start + LENGTH)
        out = model(ids[:, part], past_key_values=memory, use_cache=True)
        memory, loss = out.past_key_values, loss + loss_of(out.logits, targets[:, part])
    return loss


def setting(changes):
    options = {"hidden_dropout_prob": 0.0, "mem_len": 6, **changes}
    model = build(**options).double().train()
    return model, *stream(2 * 3 * LENGTH, batch=2).chunk(2, -1)


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_training_is_that_of_the_paper(changes):
    """The second segment fills the memory, the third forgets: every gradient is that of the plain network."""
    model, ids, targets = setting(changes)
    plain = PlainNetwork(model)
    loss, expected = train(model, ids, targets), plain.loss(ids, targets, LENGTH)
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-10)
    loss.backward()
    expected.backward()
    for name, parameter in model.named_parameters():
        assert plain.leaves[name].grad.abs().max() > 1e-6, name
        torch.testing.assert_close(parameter.grad, plain.leaves[name].grad, rtol=0, atol=1e-8, msg=name)


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize("keeps", MEMORY_KINDS)
def test_gradients_are_slopes_of_the_loss_with_a_constant_memory(changes, keeps):
    """A step along the gradient with the memory held: the slope is the gradient's squared length for either kind."""
    model, ids, targets = setting(changes)
    read = MemoryCache(model.config, keeps=keeps)
    model(ids[:, :LENGTH], past_key_values=read)

    def loss():
        memory = MemoryCache(model.config, keeps=keeps)
        memory.load_state_dict(read.state_dict())
        part = slice(LENGTH, 2 * LENGTH)
        return loss_of(model(ids[:, part], past_key_values=memory).logits, targets[:, part])

    loss().backward()
    generator = torch.Generator().manual_seed(1)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        values, step = [], 1e-6
        for sign in (1, -1):
            parameter.data.add_(direction, alpha=sign * step)
            values.append(loss().item())
            parameter.data.sub_(direction, alpha=sign * step)
        slope = (values[0] - values[1]) / (2 * step)
        assert slope == pytest.approx((parameter.grad * direction).sum().item(), rel=1e-4, abs=1e-7), name


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
