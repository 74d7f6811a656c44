# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder layers of other libraries."""

from __future__ import annotations

import importlib
import importlib.util

import torch

from benchmarks.cases.encoder import our_layer
from benchmarks.race import Comparison, Outcome, layer_steps, race, size

__all__ = ["case"]


# name -> package, options of its encoder layer as its authors ship it, on native complex tensors [B, N, features], and
# what it computes besides attention and a feed-forward network
PEERS = {
    "complextorch": (
        "complextorch",
        {"softmax_on": "complex"},
        "defaults: softmax of both parts of q k^H, GELU of both parts, norms that whiten, no bias in attention",
    ),
    "complextorch, softmax_on='real'": (
        "complextorch",
        {"softmax_on": "real"},
        "the same with softmax of Re(q k^H), which is our score real",
    ),
    "torchcvnn": (
        "torchcvnn",
        {"batch_first": True},
        "defaults: softmax of Re(q k^H), norms of q and k, ReLU of both parts, norms that whiten",
    ),
}


def case(rounds: int) -> Outcome:
    """Encoder layers of other libraries of the same size: 256 complex features, feed-forward 1024, 8 heads."""
    features, feed_forward, heads = 256, 1024, 8
    available, notes = {}, []
    for name, (package, options, description) in PEERS.items():
        if importlib.util.find_spec(package) is None:
            notes.append(f'{name} is not installed and was left out: pip install -e ".[bench]"')
            continue
        layer = importlib.import_module(f"{package}.nn").TransformerEncoderLayer
        available[name] = layer(features, heads, feed_forward, dropout=0.0, **options).train()
        notes.append(f"{name}: {description}; {size(available[name]):,} real parameters")
    ours = {f"score {score}": our_layer(attention_score=score) for score in ("real", "modulus")}
    notes.append(f"ours: GELU of both parts, norms of each part; {size(ours['score real']):,} real parameters")
    rows = []
    for length, batch, bar in ((256, 8, 1.3), (1024, 2, 3.0)):
        z = torch.randn(batch, length, features, dtype=torch.complex64)
        contestants = {**layer_steps(ours, torch.view_as_real(z).transpose(-1, -2).flatten(-2))}
        contestants |= layer_steps(available, z)
        comparisons = [Comparison(score, name, round(1 / bar, 3)) for name in available for score in ours]
        rows += race(f"{batch} x {length} tokens", contestants, comparisons, rounds)
    return Outcome(rows, notes)
