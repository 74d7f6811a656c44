# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Random weights in the format of both Transformer-XL releases, and a plain network that uses them."""

import math
from itertools import pairwise

import torch

WORDS, LAYERS, WIDTH, HEADS, INNER = 30, 2, 16, 2, 24
NETWORKS = {
    "characters": {},
    "characters, untied": {"tied": False},
    "words, tied": {"cutoffs": [6, 14]},
    "words, untied": {"cutoffs": [6, 14], "tied": False},
    "narrow words": {"cutoffs": [6, 14], "d_embed": 6},
    "narrow words, shared projections": {"cutoffs": [6, 14], "d_embed": 6, "tie_projs": [False, True, True]},
    "adaptive": {"cutoffs": [6, 14], "div_val": 4, "tie_projs": [False, True, True]},
    "adaptive, untied": {"cutoffs": [6, 14, 20], "div_val": 2, "tied": False},
    "adaptive, narrow": {"cutoffs": [6, 14], "div_val": 2, "d_embed": 8},
    "one projected table": {"div_val": 4},
}


def release(
    of_transformers=False, cutoffs=(), div_val=1, d_embed=WIDTH, tied=True, tie_projs=(), untie_r=False, **settings
):
    """Return a float64 state dict of a release and the settings of its configuration."""
    torch.manual_seed(0)

    def draw(*shape, scale=0.4):
        return scale * torch.randn(*shape, dtype=torch.float64)

    d_head = WIDTH // HEADS
    edges = [0, *cutoffs, WORDS]
    sizes = [end - start for start, end in pairwise(edges)]
    tables = sizes if div_val > 1 else [WORDS]
    weights = {"pos_emb.inv_freq": 1 / 10000 ** (torch.arange(0, WIDTH, 2).double() / WIDTH)}
    biases = {name: draw(HEADS, d_head) for name in ("r_w_bias", "r_r_bias")}
    if not untie_r:
        weights |= biases
    for i, size in enumerate(tables):
        width = d_embed // div_val**i
        weights[f"word_emb.emb_layers.{i}.weight"] = draw(size, width)
        weights[f"crit.out_layers.{i}.weight"] = (
            weights[f"word_emb.emb_layers.{i}.weight"] if tied else draw(size, width)
        )
        weights[f"crit.out_layers.{i}.bias"] = draw(size)
        if div_val > 1 or d_embed != WIDTH:
            weights[f"word_emb.emb_projs.{i}"] = draw(WIDTH, width)
    if div_val > 1 or d_embed != WIDTH:
        for i in range(len(sizes)):
            own = draw(WIDTH, d_embed // div_val**i)
            shared = weights[f"word_emb.emb_projs.{i if div_val > 1 else 0}"]
            weights[f"crit.out_projs.{i}"] = shared if i < len(tie_projs) and tie_projs[i] else own
    if cutoffs:
        weights |= {"crit.cluster_weight": draw(len(cutoffs), d_embed), "crit.cluster_bias": draw(len(cutoffs))}
    for i in range(LAYERS):
        attention, ff = f"layers.{i}.dec_attn.", f"layers.{i}.pos_ff."
        weights |= {
            f"{attention}qkv_net.weight": draw(3 * WIDTH, WIDTH),
            f"{attention}o_net.weight": draw(WIDTH, WIDTH),
            f"{attention}r_net.weight": draw(WIDTH, WIDTH),
            f"{ff}CoreNet.0.weight": draw(INNER, WIDTH),
            f"{ff}CoreNet.0.bias": draw(INNER),
            f"{ff}CoreNet.3.weight": draw(WIDTH, INNER),
            f"{ff}CoreNet.3.bias": draw(WIDTH),
        }
        for part in (attention, ff):
            weights |= {f"{part}layer_norm.weight": 1 + draw(WIDTH), f"{part}layer_norm.bias": draw(WIDTH)}
        if of_transformers:  # shared biases are listed in every layer, too
            own = {name: draw(HEADS, d_head) for name in biases} if untie_r else biases
            weights |= {f"{attention}{name}": value for name, value in own.items()}
    known = {"mem_len": 5, "cutoffs": list(cutoffs), "div_val": div_val, "tie_weight": tied, "n_head": HEADS}
    known |= {"n_layer": LAYERS, "d_head": d_head, "d_model": WIDTH, "d_embed": d_embed, "d_inner": INNER}
    if of_transformers:
        known |= {"tie_projs": list(tie_projs), "untie_r": untie_r, "vocab_size": WORDS, "layer_norm_epsilon": 1e-5}
        weights = {n if n.startswith("crit.") else f"transformer.{n}": value for n, value in weights.items()}
    return weights, known | settings


def plain_network(weights, known, ids, cuts=(), memories=None):
    """Compute log-probabilities ``[N, WORDS]`` of one stream ``ids [N]`` with the equations of the paper.

    The memory is empty at first, unless the hidden states of each layer are given.
    """
    in_order = any(name.startswith("transformer.") for name in weights)  # of the tails' logits
    weights = {name.removeprefix("transformer."): value.double() for name, value in weights.items()}
    memories = memories or [torch.zeros(0, WIDTH, dtype=torch.float64)] * LAYERS
    out = []
    for start, end in zip((0, *cuts), (*cuts, len(ids)), strict=True):
        h = embed(weights, known, ids[start:end])
        for i in range(LAYERS):
            seen = torch.cat([memories[i], h])
            own = {n.removeprefix(f"layers.{i}."): value for n, value in weights.items()}
            h = norm(h + attention({**weights, **own}, known, h, seen), own, "dec_attn")
            memories = [*memories[:i], seen[-known["mem_len"] :], *memories[i + 1 :]]
            inner = (h @ own["pos_ff.CoreNet.0.weight"].T + own["pos_ff.CoreNet.0.bias"]).clamp(min=0)
            h = norm(h + inner @ own["pos_ff.CoreNet.3.weight"].T + own["pos_ff.CoreNet.3.bias"], own, "pos_ff")
        out.append(log_probabilities(weights, known, h, in_order))
    return torch.cat(out)


def embed(weights, known, ids):
    rows = []
    for word in ids.tolist():
        cluster = sum(word >= c for c in known["cutoffs"]) if known["div_val"] > 1 else 0
        first = ([0, *known["cutoffs"]])[cluster]
        row = weights[f"word_emb.emb_layers.{cluster}.weight"][word - first]
        projection = weights.get(f"word_emb.emb_projs.{cluster}")
        rows.append(math.sqrt(WIDTH) * (row if projection is None else projection @ row))
    return torch.stack(rows)


def norm(x, weights, part):
    x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return x * weights[f"{part}.layer_norm.weight"] + weights[f"{part}.layer_norm.bias"]


def attention(weights, known, h, seen):
    """Scores one by one; ``same_length`` by the two triangles that the releases hide."""
    new, keys = len(h), len(seen)
    old = keys - new
    u, v = (weights.get(f"dec_attn.{name}", weights.get(name)) for name in ("r_w_bias", "r_r_bias"))
    query, key, value = (
        (x @ w.T).view(len(x), HEADS, -1)
        for x, w in zip((h, seen, seen), weights["dec_attn.qkv_net.weight"].split(WIDTH), strict=True)
    )
    hidden = torch.triu(torch.ones(new, keys), old + 1)
    if known.get("same_length", False):
        beyond = keys - known["mem_len"]
        hidden = hidden + torch.tril(torch.ones(new, keys), -(new - beyond if beyond > 0 else new))
    scores = torch.full((HEADS, new, keys), -math.inf, dtype=torch.float64)
    for i, j in (hidden == 0).nonzero().tolist():
        distance = old + i - j
        if known.get("clamp_len", -1) > 0:
            distance = min(distance, known["clamp_len"])
        angle = distance * weights["pos_emb.inv_freq"]
        place = (weights["dec_attn.r_net.weight"] @ torch.cat([angle.sin(), angle.cos()])).view(HEADS, -1)
        scores[:, i, j] = (((query[i] + u) * key[j]).sum(-1) + ((query[i] + v) * place).sum(-1)) / math.sqrt(
            WIDTH // HEADS
        )
    return torch.einsum("hij,jhd->ihd", scores.softmax(-1), value).flatten(1) @ weights["dec_attn.o_net.weight"].T


def log_probabilities(weights, known, h, in_order):
    edges = [0, *known["cutoffs"], WORDS]
    tails = len(edges) - 2
    parts = []
    for i, (start, end) in enumerate(pairwise(edges)):
        table, rows = (i, slice(None)) if known["div_val"] > 1 else (0, slice(start, end))
        weight, bias = (weights[f"crit.out_layers.{table}.{name}"][rows] for name in ("weight", "bias"))
        if i == 0 and tails:
            weight = torch.cat([weight, weights["crit.cluster_weight"]])
            bias = torch.cat([bias, weights["crit.cluster_bias"]])
        projection = weights.get(f"crit.out_projs.{i}")
        parts.append(((h if projection is None else h @ projection) @ weight.T + bias).log_softmax(-1))
    head, first = parts[0], edges[1]
    chosen = [head[:, first + i if in_order else -(i + 1)] for i in range(tails)]
    return torch.cat([head[:, :first], *(c[:, None] + part for c, part in zip(chosen, parts[1:], strict=True))], -1)
