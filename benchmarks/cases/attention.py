# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Modulus attention against PyTorch's fused attention on the same halves."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, race
from benchmarks.timing import Step
from complex_transformers.nn.attention.multi_head import complex_attention

__all__ = ["case"]

SHAPES = ((8, 256), (2, 1024), (1, 2048))
HEADS, HEAD_WIDTH = 8, 64
SCORES = ("modulus", "bilinear_modulus")
AT_MOST = {("modulus", 1024): 2.0}


def attention_steps(batch: int, length: int) -> dict[str, Step]:
    """Return attention steps, forward and backward: PyTorch's (score `real`) and ours by score."""
    inputs = [torch.randn(batch, HEADS, length, HEAD_WIDTH, requires_grad=True) for _ in range(3)]
    cotangent = torch.randn(batch, length, HEADS, HEAD_WIDTH)

    def step(attend: Any) -> Step:
        def run() -> None:
            out: Tensor = attend()
            torch.autograd.grad(out, inputs, cotangent)

        return run

    def ours(score: str) -> Step:
        return step(lambda: complex_attention(nn.Identity(), *inputs, None, score=score, need_weights=False)[0])

    fused = nn.functional.scaled_dot_product_attention
    return {
        "fused attention on halves": step(lambda: fused(*inputs).transpose(1, 2)),
        **{f"score {score}": ours(score) for score in SCORES},
    }


def case(rounds: int) -> Outcome:
    """Attention (8 heads of 32 complex features) against scaled_dot_product_attention on the same halves."""
    rows = []
    for batch, length in SHAPES:
        comparisons = [
            Comparison(f"score {score}", "fused attention on halves", AT_MOST.get((score, length))) for score in SCORES
        ]
        rows += race(f"{batch} x {length} tokens, training step", attention_steps(batch, length), comparisons, rounds)
    return Outcome(rows)
