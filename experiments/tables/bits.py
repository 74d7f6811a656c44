# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Low-bit lifted checkpoints against rules for real weights, with and without training."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reporting import machine_line, markdown_table, read_lines

from experiments.lift.learned_scales import LEARNED
from experiments.tables.runs import MISSING

__all__ = ["TABLES", "bits_table", "training_table", "what"]


GUIDE = (
    *("float", "hqq-4-bit", "calibrated-row-3", "hqq-2-bit", "calibrated-row-2", "residual_binary"),
    *("gptq-4-bit-row", "gptq-3-bit-row", "gptq-2-bit-row", "gptq-2-bit-group-64", "gptq-balanced-2-bit"),
    *("gptq-ternary", "gptq-published-2-bit-row"),
)


def bits_table(results: Path, chosen: Collection[str] | None = None) -> str:
    """Tabulate perplexities by bits per weight; rows that were not run, or are not in ``chosen``, are left out."""
    lines = [line for line in read_lines(results / "lift-bits.jsonl") if chosen is None or line["row"] in chosen]
    rows = [
        [
            what(line["settings"]),
            f"{line['bits']:.2f}",
            f"{line['megabytes']:.0f} MB",
            f"{line['perplexity']:,.1f}",
            f"{line['seconds']:.0f} s",
        ]
        for line in sorted(lines, key=lambda line: (-line["bits"], line["perplexity"]))
    ]
    header = ["layers", "bits per weight", "model size (computed)", "perplexity", "CPU time"]
    return _with_machine(header, rows, lines)


def training_table(results: Path) -> str:
    """Tabulate perplexities before and after quantization-aware training."""
    lines = read_lines(results / "lift-training.jsonl")
    rows = [
        [
            what(line["settings"]),
            f"{line['bits']:.2f}",
            f"{line['before']:,.1f}",
            f"{line['perplexity']:,.1f}",
            _rate(line["rate"], line["settings"]["rates"]),
            f"{line['seconds'] / 60:.0f} min",
        ]
        for line in sorted(lines, key=lambda line: (line["bits"], line["row"]))
    ]
    header = ["layers", "bits per weight", "perplexity before", "after", "learning rate", "CPU time"]
    return _with_machine(header, rows, lines)


def _with_machine(header: list[str], rows: list[list[str]], lines: list[dict[str, Any]]) -> str:
    machines = "\n".join(dict.fromkeys(machine_line(line["machine"]) for line in lines))
    return f"{markdown_table(header, rows)}\n\n{machines}" if lines else MISSING


def _rate(best: float, tried: list[float]) -> str:
    """Return the chosen learning rate and the number of those tried; the best may lie beyond the edge."""
    edge = " (largest)" if best == max(tried) else " (smallest)" if best == min(tried) else ""
    return f"{best:.1e} of {len(tried)}{edge}".replace(".0e", "e").replace("e-0", "e-")


RULE_NAMES = {
    "residual_binary": "binary, 2 stages",
    "lsq": "2 bits (LSQ)",
    "seq": "2 bits (SEQ)",
    "ternary_learned": "ternary (SEQ)",
}


def what(settings: dict[str, Any]) -> str:
    """Return how the layers of a row are quantized."""
    rule = settings["rule"]
    if rule in ("float", "lifted"):
        return f"{'original' if rule == 'float' else rule}, float32"
    if rule == "hqq":
        return f"original, HQQ, {settings['hqq_bits']} bits, groups of {settings['hqq_group']}"
    if rule == "grid":
        return _grid(settings["grid"], settings["calibrated"])
    if "rates" in settings:
        return _trained(settings)
    if rule != "units":
        return f"original, {RULE_NAMES.get(rule, rule)}, per-row scales"
    rounding = "calibrated" if settings["calibrated"] else "nearest"
    own = "".join(f", {count} in {name}" for name, count in settings.get("module_stages", ()))
    return f"lifted, {rounding}, {_stages(settings['stages'])}{own}, per-{settings['granularity']} scales"


def _stages(count: int) -> str:
    return f"{count} stage{'s' * (count > 1)}"


def _trained(settings: dict[str, Any]) -> str:
    """Return how a row is trained; the oldest results have no options."""
    rule = settings["rule"]
    start = f"lifted, {_stages(settings['stages'])}" if rule == "units" else f"original, {RULE_NAMES.get(rule, rule)}"
    words = [start, f"{'learned ' * (rule in LEARNED)}per-row scales"]
    words += [text for name, text in TRAINING_NAMES.items() if settings.get(name)]
    return ", ".join(words)


TRAINING_NAMES = {"calibrated": "calibrated first", "distilled": "distilled"}


def _grid(grid: dict[str, Any], calibrated: bool) -> str:
    """Return how a row is rounded to a uniform grid."""
    levels = round(grid["high"] - grid["low"]) + 1
    name = "ternary" if levels == 3 else f"{levels.bit_length() - 1} bits{'' if grid['shifted'] else ' without zero'}"
    scales = f"groups of {grid['group_size']}" if grid["group_size"] else "per-row scales"
    rounding = ("GPTQ as published" if grid["published"] else "GPTQ") if calibrated else "nearest"
    return f"original, {rounding}, {name}, {scales}"


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/lift-results.md": {"lift-bits": bits_table},
    "docs/quantization.md": {"lift-bits-guide": partial(bits_table, chosen=GUIDE), "lift-training": training_table},
}
