# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Where a training step of a dense, encoder or recurrent layer spends its time: python -m benchmarks.profile_layer.

    python -m benchmarks.profile_layer [--part profile-recurrent ...]

Shares of the processor time by kind of operation, written under the tables of ``docs/benchmarks.md``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from functools import partial

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.layers import complex_layer
from benchmarks.networks import States
from benchmarks.reporting import (
    DOCS,
    RESULTS,
    machine_facts,
    machine_line,
    markdown_table,
    read_json,
    write_json,
    write_part,
)
from benchmarks.timing import Step, training_step
from complex_transformers.nn import ComplexGRU, ComplexLinear, ComplexLSTM

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
    """A training step of ComplexLinear(1024, 1024) on 4096 tokens."""
    layer = ComplexLinear(1024, 1024)
    return training_step(layer, list(layer.parameters()), torch.randn(4096, 1024))


def encoder_step(score: str, batch: int, length: int) -> Step:
    """A training step of the encoder layer."""
    layer = complex_layer(512, 2048, 8, score)
    return training_step(layer, list(layer.parameters()), torch.randn(batch, length, 512))


def recurrent_step(kind: str) -> Step:
    """A training step of a recurrent layer of 256 complex features on 64 sequences of 40 steps."""
    layer = States({"ComplexLSTM": ComplexLSTM, "ComplexGRU": ComplexGRU}[kind](512, 512))
    return training_step(layer, list(layer.parameters()), torch.randn(40, 64, 512))


def shares(step: Step, steps: int = 5) -> dict[str, float]:
    """Per cent of the time of a step, by kind; what is not named is passes over memory (sums, copies, products)."""
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


def table(per_cent: dict[str, dict[str, float]]) -> str:
    """A row for each step; kinds that none of them has are left out."""
    kinds = [kind for kind in (*KINDS, OTHER) if any(values[kind] >= 0.5 for values in per_cent.values())]
    rows = [[f"`{name}`", *(f"{values[kind]:.0f} %" for kind in kinds)] for name, values in per_cent.items()]
    return markdown_table(["", *kinds], rows)


# Part of the page -> a row's name and its step.
PARTS: dict[str, dict[str, Callable[[], Step]]] = {
    "profile-linear": {"ComplexLinear": linear_step},
    "profile-encoder": {score: partial(encoder_step, score, 16, 128) for score in ("real", "modulus")},
    "profile": {score: partial(encoder_step, score, 2, 1024) for score in ("real", "modulus")},
    "profile-recurrent": {kind: partial(recurrent_step, kind) for kind in ("ComplexLSTM", "ComplexGRU")},
}


def main() -> None:
    """Dense, encoder and recurrent layers, as JSON and as tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=list(PARTS), help="one or more parts (default: all)")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(0)
    facts, path = machine_facts(), RESULTS / "profile.json"
    results = read_json(path) if path.exists() else {}
    for name in arguments.part or PARTS:
        per_cent = {row: shares(step()) for row, step in PARTS[name].items()}
        results[name] = {"machine": facts, "per_cent": per_cent}
        print(table(per_cent))
        write_part(DOCS / "benchmarks.md", name, f"{table(per_cent)}\n\n{machine_line(facts)}")
    write_json(path, results)


if __name__ == "__main__":
    main()
