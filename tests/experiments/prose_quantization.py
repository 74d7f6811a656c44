# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentences of the page Quantization, from the results."""

from __future__ import annotations

from collections.abc import Iterator

from prose_figures import mean, runs

__all__ = ["quantization"]


def quantization() -> Iterator[str]:
    def after(row: str) -> float:
        return mean("lift-bits", row, "perplexity")

    assert after("calibrated-row-2") < after("gptq-2-bit-row")
    two = f"{after('calibrated-row-2'):,.0f} against {after('gptq-2-bit-row'):,.0f}"
    yield f"(SmolLM2-135M, one run: perplexity {two}, float {after('float'):.1f})"
    bits, ours = (mean("lift-bits", row, "bits") for row in ("gptq-2-bit-group-64", "calibrated-row-2"))
    yield f"({after('gptq-2-bit-group-64'):.0f}) is worse, too, and takes {bits:.2f} bits instead of {ours:.2f}"
    assert after("calibrated-row-2") < after("gptq-2-bit-group-64")
    three = f"{after('calibrated-row-3'):.1f} against {after('gptq-3-bit-row'):.1f}"
    yield f"({three}) and worse than one per 64 weights ({after('gptq-3-bit-group-64'):.1f} at 3.50 bits)"
    assert after("gptq-4-bit-row") < after("gptq-3-bit-group-64")
    for row, digits in {
        "gptq-4-bit-group-64": 1,
        "gptq-3-bit-group-64": 1,
        "calibrated-row-2": 0,
        "calibrated-row-3": 1,
    }.items():
        yield f"| {after(row):.{digits}f} at {mean('lift-bits', row, 'bits'):.2f} |"
    trained = {row: mean("lift-training", row, "perplexity") for row in ("units-2-calibrated", "lsq")}
    complex_, uniform = trained.values()
    yield f"have a perplexity of {complex_:.1f}, a uniform two-bit grid with learned scales (LSQ) {uniform:.0f}."
    yield f"| {complex_:.1f} at {mean('lift-training', 'units-2-calibrated', 'bits'):.2f} |"
    (run,) = runs("lift-precisions", "calibrated-row-2")
    exact, rounded = (run["perplexity"][name] for name in ("highest", "high"))
    assert f"{exact:.1f}" == f"{rounded:.1f}"
    yield f"perplexity of {exact:.1f} either way"
    yield f"the loss of a token changes by at most {run['largest_difference']:.2f}"
    rows = [row for row in runs("bench", "llama_cpp")[0]["rows"] if "7B" in row["group"]]
    times = {row["reference"].split()[-1]: row["ratio"]["median"] for row in rows}
    assert times["Q4_1"] < 1.05
    yield f"its Q4_K_M is {times['Q4_K_M']:.1f} times as fast, its Q2_K {times['Q2_K']:.1f} times"
