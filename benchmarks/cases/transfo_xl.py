# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformer-XL: the network of Dai et al. (ACL 2019) in plain torch, and ours."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, race, sizes
from benchmarks.timing import Step, check_gradients
from complex_transformers import ComplexTransfoXLConfig, ComplexTransfoXLForCausalLM, MemoryCache

__all__ = ["OURS", "PLAIN", "PlainTransformerXL", "case", "language_model", "letters", "training"]

PLAIN = "plain Transformer-XL"
OURS = ("real field", "score real", "score modulus")
_VOCABULARY = 27
SEGMENT, _BATCH = 256, 8


def language_model(name: str, **changes: int) -> ComplexTransfoXLForCausalLM:
    """Build a model of ``OURS``: 4 layers, hidden 512, feed-forward 2048, 8 heads, memory 256, 27 characters."""
    torch.manual_seed(0)
    fields = {"real field": {"number_field": "real", "embedding_type": "word"}}
    sizes = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 8}
    return ComplexTransfoXLForCausalLM(
        ComplexTransfoXLConfig(
            **{"vocab_size": _VOCABULARY, "mem_len": SEGMENT, **sizes, **changes},
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            bos_token_id=None,
            eos_token_id=None,
            **fields.get(name, {"attention_score": name.split()[-1]}),
        )
    )


def letters(length: int = 2 * SEGMENT + 1, batch: int = _BATCH) -> Tensor:
    """Return streams ``[batch, length]`` of random characters."""
    return torch.randint(0, _VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(1))


# --- the plain network --------------------------------------------------------------------------------------------


class _PlainLayer(nn.Module):
    """Post-norm layer of Dai et al.: one product for q, k and v, the padded and reshaped shift, a masked softmax."""

    def __init__(self, width: int, feed_forward: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv_net = nn.Linear(width, 3 * width, bias=False)
        self.r_net = nn.Linear(width, width, bias=False)
        self.o_net = nn.Linear(width, width, bias=False)
        self.content_bias = nn.Parameter(0.02 * torch.randn(heads, width // heads))
        self.position_bias = nn.Parameter(0.02 * torch.randn(heads, width // heads))
        self.attention_norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, feed_forward), nn.ReLU(), nn.Linear(feed_forward, width))
        self.feed_forward_norm = nn.LayerNorm(width)

    @staticmethod
    def shift(x: Tensor) -> Tensor:
        """Map ``[B, H, T, S]`` by distance S - 1, ..., 0 to scores by key (Appendix B)."""
        batch, heads, length, size = x.shape
        padded = torch.cat([x.new_zeros(batch, heads, length, 1), x], dim=-1)
        return padded.view(batch, heads, size + 1, length)[:, :, 1:].reshape(x.shape)

    def forward(self, h: Tensor, memory: Tensor, r: Tensor, hidden: Tensor) -> Tensor:
        length = h.shape[1]
        query, key, value = self.qkv_net(torch.cat([memory, h], dim=1)).chunk(3, dim=-1)
        query, key, value = (x.unflatten(-1, (self.heads, -1)) for x in (query[:, -length:], key, value))
        position = self.r_net(r).unflatten(-1, (self.heads, -1))
        by_content = torch.einsum("bihd,bjhd->bhij", query + self.content_bias, key)
        by_position = self.shift(torch.einsum("bihd,jhd->bhij", query + self.position_bias, position))
        scores = (by_content + by_position).mul(query.shape[-1] ** -0.5)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        context = torch.einsum("bhij,bjhd->bihd", weights, value).flatten(-2)
        h = self.attention_norm(h + self.o_net(context))
        return self.feed_forward_norm(h + self.feed_forward(h))


class PlainTransformerXL(nn.Module):
    """Transformer-XL as in its paper, with a memory of hidden states ``[B, M, width]`` per layer.

    Of the sizes of one of ours.
    """

    def __init__(self, config: ComplexTransfoXLConfig) -> None:
        super().__init__()
        width, sizes = config.hidden_size, (config.intermediate_size, config.num_attention_heads)
        self.words = nn.Embedding(config.vocab_size, width)
        self.layers = nn.ModuleList(_PlainLayer(width, *sizes) for _ in range(config.num_hidden_layers))
        self.head = nn.Linear(width, config.vocab_size)

    def forward(self, ids: Tensor, memories: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Return logits and the input hidden states of every layer."""
        h = self.words(ids)
        length, size, width = ids.shape[1], memories[0].shape[1] + ids.shape[1], h.shape[-1]
        distance = torch.arange(size - 1, -1, -1.0, device=h.device)
        angle = distance.unsqueeze(-1) * 10000 ** (-torch.arange(0.0, width, 2.0, device=h.device) / width)
        r = torch.cat([angle.sin(), angle.cos()], dim=-1).to(h.dtype)
        hidden = torch.ones(length, size, dtype=torch.bool, device=h.device).triu(size - length + 1)
        read = []
        for layer, memory in zip(self.layers, memories, strict=True):
            read.append(h)
            h = layer(h, memory, r, hidden)
        return self.head(h), read

    def same_parameters(self, model: ComplexTransfoXLForCausalLM) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Yield each parameter with the equal parameters of our real field; q, k and v are fused here."""
        pairs = [(self.words, model.model.embed_tokens), (self.head, model.lm_head.projection)]
        for plain, ours in zip(self.layers, model.model.layers, strict=True):
            attention = ours.self_attn
            yield plain.qkv_net.weight, [p.weight for p in (attention.q_proj, attention.k_proj, attention.v_proj)]
            yield plain.content_bias, [attention.content_bias]
            yield plain.position_bias, [attention.position_bias]
            pairs += [
                (plain.r_net, attention.r_proj),
                (plain.o_net, attention.out_proj),
                (plain.attention_norm, ours.self_attn_norm),
                (plain.feed_forward[0], ours.feed_forward.up_proj),
                (plain.feed_forward[2], ours.feed_forward.down_proj),
                (plain.feed_forward_norm, ours.feed_forward_norm),
            ]
        for plain, ours in pairs:
            for name, parameter in plain.named_parameters():
                yield parameter, [ours.get_parameter(name)]


# --- steps --------------------------------------------------------------------------------------------------------


def training(model: nn.Module, streams: Tensor) -> Step:
    """Return a training step on a segment with the full memory of the previous segment."""
    half = streams.shape[1] // 2
    first, segment, following = streams[:, :half], streams[:, half:-1], streams[:, half + 1 :].contiguous()
    model.train()
    if isinstance(model, PlainTransformerXL):
        with torch.no_grad():
            nothing = model.head.weight.new_zeros(len(streams), 0, model.head.in_features)
            _, memories = model(first, [nothing] * len(model.layers))

        def loss() -> Tensor:
            logits, _ = model(segment, memories)
            return F.cross_entropy(logits.flatten(0, 1), following.flatten())
    else:
        with torch.no_grad():
            state = model(first, use_cache=True).cache.state_dict()

        def loss() -> Tensor:
            memory = MemoryCache(model.config, keeps="states")
            memory.load_state_dict(state)
            return model(segment, shift_labels=following, cache=memory).loss

    def step() -> Tensor:
        model.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        return value.detach()

    return step


def _memory_after(model: ComplexTransfoXLForCausalLM, ids: Tensor) -> MemoryCache:
    memory = MemoryCache(model.config)
    with torch.no_grad():
        for segment in ids.split(SEGMENT, dim=1):
            model(segment, cache=memory)
    return memory


def reading(model: ComplexTransfoXLForCausalLM, tokens: int, times: int) -> Step:
    """Return an evaluation step with full memory on the next ``tokens`` characters of a stream, ``times`` times."""
    model.eval()
    ids = letters(SEGMENT + tokens + 1, batch=1)
    state = _memory_after(model, ids[:, :SEGMENT]).state_dict()
    segments, following = ids[:, SEGMENT:-1].split(SEGMENT, dim=1), ids[:, SEGMENT + 1 :].split(SEGMENT, dim=1)

    @torch.no_grad()
    def step() -> float:
        total = 0.0
        for _ in range(times):
            memory = MemoryCache(model.config)
            memory.load_state_dict(state)
            for segment, labels in zip(segments, following, strict=True):
                total += model(segment, shift_labels=labels.contiguous(), cache=memory).loss.item()
        return total

    return step


def generation(model: ComplexTransfoXLForCausalLM, place: int, tokens: int) -> Step:
    """Return a step of greedy decoding of ``tokens`` characters after ``place`` characters."""
    model.eval()
    prompt = letters(place, batch=1)
    memory = _memory_after(model, prompt[:, :-1])
    state = memory.state_dict()

    def step() -> Tensor:
        memory.load_state_dict(state)
        out = model.generate(prompt, cache=memory, max_new_tokens=tokens, do_sample=False)
        if out.shape[1] != place + tokens or memory.get_seq_length() != place + tokens - 1:
            raise AssertionError(f"{out.shape[1] - place} letters were written, not {tokens}")
        return out

    return step


# --- checks -------------------------------------------------------------------------------------------------------


def check_plain(plain: PlainTransformerXL, model: ComplexTransfoXLForCausalLM, streams: Tensor) -> None:
    """Load our real field's weights and raise AssertionError unless loss and gradients are equal."""
    same = list(plain.same_parameters(model))
    with torch.no_grad():
        for parameter, ours in same:
            parameter.copy_(torch.cat(ours))
    losses = [training(network, streams)() for network in (plain, model)]
    torch.testing.assert_close(*losses, rtol=1e-5, atol=1e-5)
    for parameter, ours in same:
        # Compare norms, not elements: a ReLU at 0 may be open in only one of them.
        found, expected = torch.cat([p.grad for p in ours]), parameter.grad
        if not (found - expected).norm() <= 1e-3 * expected.norm():
            raise AssertionError(f"gradients of {tuple(expected.shape)} differ by {(found - expected).norm():.2g}")


@torch.no_grad()
def check_reading(model: ComplexTransfoXLForCausalLM) -> None:
    """Raise AssertionError unless segments and single characters give the logits of one pass, within the memory."""
    model.eval()
    ids = letters(64, batch=2)
    whole = model(ids, use_cache=False).logits
    for length in (16, 1):
        memory = MemoryCache(model.config)
        pieces = [model(segment, cache=memory).logits for segment in ids.split(length, dim=1)]
        torch.testing.assert_close(torch.cat(pieces, dim=1), whole, rtol=1e-3, atol=1e-3)


def case(rounds: int) -> Outcome:
    """Transformer-XLs of 4 layers (hidden 512, feed-forward 2048, 8 heads, segment 256, memory 256) on characters."""
    models = {name: language_model(name) for name in OURS}
    plain, streams = PlainTransformerXL(models["real field"].config), letters()
    check_plain(plain, models["real field"], streams)
    for model in models.values():
        check_reading(model)
    networks = {PLAIN: plain, **models}
    steps = {name: training(model, streams) for name, model in networks.items()}
    for name, model in networks.items():
        check_gradients(name, model, steps[name])
    comparisons = [Comparison("real field", PLAIN, 1.00)]
    bars = {"score real": 1.00, "score modulus": 1.40}
    comparisons += [Comparison(name, "real field", bar) for name, bar in bars.items()]
    rows = race("8 x 256 tokens after 256, training step", steps, comparisons, rounds)
    for name, model in models.items():
        steps = {f"{count:,} tokens": reading(model, count, 4096 // count) for count in (1024, 4096)}
        comparisons = [Comparison("4,096 tokens", "1,024 tokens", 1.10)]
        rows += race(f"{name}, evaluation of 4,096 tokens in streams of that length", steps, comparisons, rounds)
        steps = {f"token {place:,}": generation(model, place, 64) for place in (1000, 10_000)}
        comparisons = [Comparison("token 10,000", "token 1,000", 1.10)]
        rows += race(f"{name}, generating 64 tokens", steps, comparisons, rounds)
    return Outcome(rows, sizes(networks))
