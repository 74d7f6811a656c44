# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Modulus attention against PyTorch's fused attention on the same halves, and sigmoid against softmax weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, race
from benchmarks.timing import Step
from complex_transformers.nn.attention.multi_head import complex_attention

__all__ = ["case", "sigmoid_case"]

SHAPES = ((8, 256), (2, 1024), (1, 2048))
HEADS, HEAD_WIDTH = 8, 64
SCORES = ("modulus", "bilinear_modulus")
AT_MOST = {("modulus", 1024): 2.0}
FUSED, SOFTMAX = "fused attention on halves", "score modulus"
# Not slower, within the noise of the machine.
SIGMOID_BARS = {"modulus": 1.05, "real": None}


def attention_steps(batch: int, length: int) -> dict[str, Step]:
    """Return attention steps, forward and backward: PyTorch's (score `real`) and ours by score, also with sigmoids."""
    inputs = [torch.randn(batch, HEADS, length, HEAD_WIDTH, requires_grad=True) for _ in range(3)]
    cotangent = torch.randn(batch, length, HEADS, HEAD_WIDTH)
    bias = torch.full((1,), -5.0, requires_grad=True)

    def step(attend: Any, *more: Tensor) -> Step:
        def run() -> None:
            out: Tensor = attend()
            torch.autograd.grad(out, [*inputs, *more], cotangent)

        return run

    def ours(score: str, **options: Any) -> Step:
        options = {"score": score, "need_weights": False, **options}
        more = [value for value in options.values() if isinstance(value, Tensor)]
        return step(lambda: complex_attention(nn.Identity(), *inputs, None, **options)[0], *more)

    fused = nn.functional.scaled_dot_product_attention
    return {
        FUSED: step(lambda: fused(*inputs).transpose(1, 2)),
        **{f"score {score}": ours(score) for score in SCORES},
        **{f"score {score}, sigmoid": ours(score, normalization="sigmoid", bias=bias) for score in SIGMOID_BARS},
    }


def _race(rounds: int, reference: str, comparisons_of: Callable[[int], list[Comparison]]) -> Outcome:
    """Time the contestants of the comparisons for each shape."""
    rows = []
    for batch, length in SHAPES:
        comparisons = comparisons_of(length)
        names = {reference, *(comparison.ours for comparison in comparisons)}
        steps = {name: step for name, step in attention_steps(batch, length).items() if name in names}
        rows += race(f"{batch} x {length} tokens, training step", steps, comparisons, rounds)
    return Outcome(rows)


def case(rounds: int) -> Outcome:
    """Attention (8 heads of 32 complex features) against scaled_dot_product_attention on the same halves."""
    return _race(
        rounds, FUSED, lambda length: [Comparison(f"score {s}", FUSED, AT_MOST.get((s, length))) for s in SCORES]
    )


def sigmoid_case(rounds: int) -> Outcome:
    """Attention (8 heads of 32 complex features) with sigmoid weights against softmax weights of modulus scores."""
    bars = SIGMOID_BARS.items()
    return _race(rounds, SOFTMAX, lambda length: [Comparison(f"score {s}, sigmoid", SOFTMAX, bar) for s, bar in bars])
