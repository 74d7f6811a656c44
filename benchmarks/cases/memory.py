# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of the encoder layer, for scores that keep attention weights and scores that do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from torch import nn

from benchmarks.cases.encoder import our_layer
from benchmarks.peak import peak
from benchmarks.race import Comparison, Outcome, row
from benchmarks.timing import Step, random_step

__all__ = ["case", "peak_steps"]


def peak_steps(score: str) -> tuple[nn.Module, Callable[[int], Step]]:
    """Return an encoder layer and its steps on one sentence of some length."""
    layer = our_layer(attention_score=score)
    return layer, lambda length: random_step(layer, 1, length, 512)


def case(rounds: int) -> Outcome:
    """Peak memory of a training step of the encoder layer (hidden 512, feed-forward 2048, 8 heads), one sentence."""
    lengths = (1024, 2048, 4096)
    rows, notes = [], []
    for score, bar in (("real", 2.3), ("modulus", None)):
        peaks: dict[int, list[float]] = {}
        for length in lengths:
            # Eight heads, about nine float32 values per score.
            needed = 0 if score == "real" else 12 * 8 * length**2 * 4
            if needed > _available_memory():
                notes.append(f"score {score} at {length} tokens left out: {needed / 2**30:.0f} GiB are not free")
                continue
            peaks[length] = [peak(__name__, score, length) for _ in range(rounds)]
        for short, long in pairwise(lengths):
            if long in peaks:
                comparison = Comparison(f"{long} tokens", f"{short} tokens", bar if short == 2048 else None)
                rows.append(row(f"score {score}", comparison, peaks[long], peaks[short], "MiB"))
                print(f"  score {score}: {long} / {short} tokens = {rows[-1]['ratio']['median']:.3f}", flush=True)
    return Outcome(rows, notes)


def _available_memory() -> float:
    try:
        text = Path("/proc/meminfo").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    match = re.search(r"MemAvailable:\s+(\d+) kB", text)
    return 1024.0 * int(match.group(1)) if match else 0.0
