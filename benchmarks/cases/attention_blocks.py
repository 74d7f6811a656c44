# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Modulus attention, whole and in blocks of queries."""

from __future__ import annotations

import statistics
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.race import Outcome
from benchmarks.reporting import machine_line, markdown_table
from benchmarks.timing import Step, time_rounds
from complex_transformers.kernels import modulus_attention
from complex_transformers.nn.attention import (
    multi_head as attention,
)

__all__ = ["case", "table"]

SHAPES = ((64, 16), (16, 128), (8, 256), (2, 1024), (1, 2048))
EXPONENTS = (15, 17, 18, 19, 20)
HEADS, HEAD_WIDTH = 8, 64


def steps(batch: int, length: int) -> dict[str, Step]:
    """Return contestants: PyTorch's fused attention (score ``real``), and modulus attention, whole and in blocks."""
    module = nn.Identity()
    inputs = [torch.randn(batch, HEADS, length, HEAD_WIDTH, requires_grad=True) for _ in range(3)]
    cotangent = torch.randn(batch, length, HEADS, HEAD_WIDTH)

    def backward(out: Tensor) -> None:
        torch.autograd.grad(out, inputs, cotangent)

    def modulus(block: int | None) -> Step:
        def step() -> None:
            modulus_attention.BLOCK_SCORES = block or modulus_attention.BLOCK_SCORES
            backward(attention.complex_attention(module, *inputs, None, need_weights=block is None)[0])

        return step

    fused = nn.functional.scaled_dot_product_attention
    contestants: dict[str, Step] = {"score `real`, fused": lambda: backward(fused(*inputs).transpose(1, 2))}
    contestants["whole"] = modulus(None)
    return contestants | {f"2^{n}": modulus(2**n) for n in EXPONENTS}


def case(rounds: int) -> Outcome:
    """Milliseconds of modulus attention and its gradients, by shape and size of the blocks."""
    rows: list[dict[str, Any]] = []
    for batch, length in SHAPES:
        seconds = time_rounds(steps(batch, length), rounds)
        milliseconds = {name: 1e3 * statistics.median(values) for name, values in seconds.items()}
        rows.append({"batch": batch, "length": length, "milliseconds": milliseconds})
        print(batch, length, {name: round(value, 1) for name, value in milliseconds.items()})
    return Outcome(rows)


def table(data: dict[str, Any]) -> str:
    """Write a row for each shape."""
    rows = data["rows"]
    text = markdown_table(
        ["batch x length", *rows[0]["milliseconds"]],
        [[f"{r['batch']} x {r['length']}", *(f"{v:.3g}" for v in r["milliseconds"].values())] for r in rows],
    )
    return f"{text}\n\nMedians of {data['rounds']} interleaved rounds. {machine_line(data['machine'])}"
