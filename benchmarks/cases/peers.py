# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder layers of other libraries."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from benchmarks.cases.encoder import complex_layer
from benchmarks.race import Comparison, Outcome, layer_steps, race, size

__all__ = ["case"]


@dataclass(frozen=True)
class Peer:
    """An encoder layer of another library, on native complex tensors ``[B, N, features]``."""

    package: str
    description: str
    build: Callable[[int, int, int], nn.Module]


def _complextorch(softmax_on: str) -> Callable[[int, int, int], nn.Module]:
    def build(features: int, feed_forward: int, heads: int) -> nn.Module:
        layer = importlib.import_module("complextorch.nn").TransformerEncoderLayer
        return layer(features, heads, feed_forward, dropout=0.0, softmax_on=softmax_on).train()

    return build


def _torchcvnn(features: int, feed_forward: int, heads: int) -> nn.Module:
    layer = importlib.import_module("torchcvnn.nn").TransformerEncoderLayer
    return layer(features, heads, feed_forward, dropout=0.0, batch_first=True).train()


def peers() -> dict[str, Peer]:
    """Each as its authors ship it; what it computes besides attention and a feed-forward network is said."""
    return {
        "complextorch": Peer(
            "complextorch",
            "defaults: softmax of both parts of q k^H, GELU of both parts, norms that whiten, no bias in attention",
            _complextorch("complex"),
        ),
        "complextorch, softmax_on='real'": Peer(
            "complextorch",
            "the same with softmax of Re(q k^H), which is our score real",
            _complextorch("real"),
        ),
        "torchcvnn": Peer(
            "torchcvnn",
            "defaults: softmax of Re(q k^H), norms of q and k, ReLU of both parts, norms that whiten",
            _torchcvnn,
        ),
    }


def case(rounds: int) -> Outcome:
    """Encoder layers of other libraries of the same size: 256 complex features, feed-forward 1024, 8 heads."""
    features, feed_forward, heads = 256, 1024, 8
    available, notes = {}, []
    for name, peer in peers().items():
        if importlib.util.find_spec(peer.package) is None:
            notes.append(f"{name} is not installed and was left out: pip install complex_transformers[bench]")
            continue
        available[name] = peer.build(features, feed_forward, heads)
        notes.append(f"{name}: {peer.description}; {size(available[name]):,} real parameters")
    ours = {f"score {score}": complex_layer(512, 2048, heads, score) for score in ("real", "modulus")}
    notes.append(f"ours: GELU of both parts, norms of each part; {size(ours['score real']):,} real parameters")
    rows = []
    for length, batch, bar in ((256, 8, 1.3), (1024, 2, 3.0)):
        z = torch.randn(batch, length, features, dtype=torch.complex64)
        contestants = {**layer_steps(ours, torch.view_as_real(z).transpose(-1, -2).flatten(-2))}
        contestants |= layer_steps(available, z)
        comparisons = [Comparison(score, name, round(1 / bar, 3)) for name in available for score in ours]
        rows += race(f"{batch} x {length} tokens", contestants, comparisons, rounds)
    return Outcome(rows, notes)
