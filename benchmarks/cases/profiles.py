# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Profile of a training step of a dense, encoder or recurrent layer, by kind of operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn
from torch.profiler import ProfilerActivity, profile

from benchmarks.cases.encoder import our_layer
from benchmarks.cases.recurrent import States
from benchmarks.race import Outcome
from benchmarks.reporting import machine_line, markdown_table
from benchmarks.timing import Step, random_step
from complex_transformers.nn import ComplexGRU, ComplexLinear, ComplexLSTM

__all__ = ["STEPS", "case", "table"]

OTHER = "other passes over memory"
KINDS = {
    "dense products": ("aten::mm", "aten::addmm", "aten::addmm_"),
    "fused attention": (
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    "products of attention": ("aten::bmm", "aten::baddbmm_", "aten::baddbmm"),
    "modulus": ("aten::hypot",),
    "softmax": ("aten::_softmax",),
}


def linear_step() -> Step:
    """Return a training step of ComplexLinear(1024, 1024) on 4096 tokens."""
    return random_step(ComplexLinear(1024, 1024), 4096, 1024)


def encoder_step(score: str, batch: int, length: int) -> Step:
    """Return a training step of the encoder layer."""
    return random_step(our_layer(attention_score=score), batch, length, 512)


def recurrent_step(layer: type[nn.Module]) -> Step:
    """Return a training step of a recurrent layer of 256 complex features on 64 sequences of 40 steps."""
    return random_step(States(layer(512, 512)), 40, 64, 512)


def shares(step: Step, steps: int) -> dict[str, float]:
    """Return the share of each kind in the time of a step, in percent; the rest is passes over memory."""
    step()
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        for _ in range(steps):
            step()
    time: Counter[str] = Counter()
    for event in recorded.key_averages():
        kind = next((kind for kind, names in KINDS.items() if event.key in names), OTHER)
        time[kind] += event.self_cpu_time_total
    total = sum(time.values())
    return {kind: 100.0 * time[kind] / total for kind in (*KINDS, OTHER)}


# Profile name -> row name and its step.
STEPS: dict[str, dict[str, Callable[[], Step]]] = {
    "profile-linear": {"ComplexLinear": linear_step},
    "profile-encoder": {score: partial(encoder_step, score, 16, 128) for score in ("real", "modulus")},
    "profile": {score: partial(encoder_step, score, 2, 1024) for score in ("real", "modulus")},
    "profile-recurrent": {kind.__name__: partial(recurrent_step, kind) for kind in (ComplexLSTM, ComplexGRU)},
}


def case(name: str, rounds: int) -> Outcome:
    """Per cent of the processor time of so many steps."""
    return Outcome([{"step": row, "per_cent": shares(step(), rounds)} for row, step in STEPS[name].items()])


def table(data: dict[str, Any]) -> str:
    """Write a row for each step; absent kinds are left out."""
    rows = data["rows"]
    kinds = [kind for kind in (*KINDS, OTHER) if any(row["per_cent"][kind] >= 0.5 for row in rows)]
    cells = [[f"`{row['step']}`", *(f"{row['per_cent'][kind]:.0f} %" for kind in kinds)] for row in rows]
    return f"{markdown_table(['', *kinds], cells)}\n\n{machine_line(data['machine'])}"
