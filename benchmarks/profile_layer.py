# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Where a training step of the encoder layer spends its time at 2 x 1024 tokens: python -m benchmarks.profile_layer.

Shares of the processor time by kind of operation, written under the table of the peers in ``docs/benchmarks.md``.
"""

from __future__ import annotations

from collections import Counter

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.layers import complex_layer
from benchmarks.reporting import DOCS, RESULTS, machine_facts, machine_line, markdown_table, write_json, write_part
from benchmarks.timing import training_step

KINDS = {
    "dense products": ("aten::mm", "aten::addmm"),
    "fused attention": (
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    "products of attention": ("aten::bmm", "aten::baddbmm_", "aten::baddbmm"),
    "modulus": ("aten::hypot",),
    "softmax": ("aten::_softmax",),
}


def shares(score: str, steps: int = 5) -> dict[str, float]:
    """Per cent of the time of a step, by kind; what is not named is passes over memory (sums, copies, products)."""
    torch.manual_seed(0)
    layer = complex_layer(512, 2048, 8, score)
    step = training_step(layer, list(layer.parameters()), torch.randn(2, 1024, 512))
    step()
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        for _ in range(steps):
            step()
    time: Counter[str] = Counter()
    for event in recorded.key_averages():
        kind = next((kind for kind, names in KINDS.items() if event.key in names), "other passes over memory")
        time[kind] += event.self_cpu_time_total
    total = sum(time.values())
    return {kind: 100.0 * time[kind] / total for kind in (*KINDS, "other passes over memory")}


def main() -> None:
    """Both scores, as JSON and as a table."""
    torch.set_num_threads(2)
    data = {"machine": machine_facts(), "per_cent": {score: shares(score) for score in ("real", "modulus")}}
    write_json(RESULTS / "profile.json", data)
    kinds = list(data["per_cent"]["real"])
    rows = [[f"`{score}`", *(f"{values[kind]:.0f} %" for kind in kinds)] for score, values in data["per_cent"].items()]
    table = markdown_table(["score", *kinds], rows)
    print(table)
    write_part(DOCS / "benchmarks.md", "profile", f"{table}\n\n{machine_line(data['machine'])}")


if __name__ == "__main__":
    main()
