# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing of several implementations, and the table of their ratios and limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.reporting import DOCS, machine_line, markdown_table
from benchmarks.timing import Quartiles, Step, check_gradients, ratio, time_rounds, training_step

__all__ = [
    "THREADS",
    "Case",
    "Comparison",
    "Outcome",
    "layer_steps",
    "race",
    "race_cells",
    "race_table",
    "race_text",
    "row",
    "size",
    "sizes",
]

THREADS = 2
# Committed results keep the words they were measured with; tables show these instead.
WORDING = {
    r"(\d+) stored numbers": r"stored width \1",
    r"(\d+) texts\b": r"\1 sequences",
    r"\btexts of\b": "sequences of",
    r"of 3 billion weights": "of 3 billion parameters",
    r"write 32 tokens": "generate 32 tokens",
    r"a token behind 2,000 and behind 20": "a token after 2,000 and after 20",
    r"3 of keys": "3 key/value heads",
    r"4 of keys": "4 key/value heads",
    r"\b(24|35|512) words\b": r"\1 tokens",
    r"([0-9]+,000) words\b": r"\1 tokens",
    r"real words\b": "real embeddings",
    r"over letters": "on characters",
    r"reading (4,096 tokens)": r"evaluation of \1",
    r"greedily": "greedy decoding",
    r"behind (\d+) words": r"after \1 words",
    r"its products alone": "its matrix products only",
    r"/ the audio\b": "/ audio duration",
    r"text of (\d+ s)\b": r"transcription of \1",
    r"reading in chunks": "transcription in chunks",
    r"cached greedy writing": "cached greedy decoding",
}


@dataclass(frozen=True)
class Comparison:
    """Two implementations and the limit of their ratio; None for no limit."""

    ours: str
    reference: str
    bar: float | None = None


@dataclass
class Outcome:
    """Rows and notes of a measured case."""

    rows: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)


def row(group: str, comparison: Comparison, ours: list[float], reference: list[float], unit: str) -> dict[str, Any]:
    """Return one row of a table: both medians, their ratio, and whether it is within the limit."""
    quotient = ratio(ours, reference)
    return {
        "group": group,
        "ours": comparison.ours,
        "reference": comparison.reference,
        "unit": unit,
        "ours_value": Quartiles.of(ours).to_dict(),
        "reference_value": Quartiles.of(reference).to_dict(),
        "ratio": quotient.to_dict(),
        "bar": comparison.bar,
        "met": None if comparison.bar is None else quotient.median <= comparison.bar,
    }


def race(
    group: str,
    contestants: Mapping[str, Step],
    comparisons: Sequence[Comparison],
    rounds: int,
    min_seconds: float = 0.02,
) -> list[dict[str, Any]]:
    """Time contestants in interleaved rounds, in milliseconds, and return a row for each comparison."""
    seconds = time_rounds(contestants, rounds, min_seconds)
    milliseconds = {name: [1e3 * s for s in values] for name, values in seconds.items()}
    rows = [row(group, c, milliseconds[c.ours], milliseconds[c.reference], "ms") for c in comparisons]
    for found in rows:
        print(f"  {group}: {found['ours']} / {found['reference']} = {found['ratio']['median']:.3f}", flush=True)
    return rows


def size(model: nn.Module) -> int:
    """Count real parameters; a complex one counts twice."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in model.parameters())


def sizes(models: Mapping[str, nn.Module], kind: str = "parameters") -> list[str]:
    """Return a note with the number of parameters of each model."""
    return [f"{name}: {size(model):,} {kind}" for name, model in models.items()]


def _check_output(name: str, out: Tensor, shape: torch.Size) -> None:
    """Raise AssertionError unless an output has its shape and is finite."""
    if out.shape != shape or not out.isfinite().all():
        raise AssertionError(
            f"output of {name} must be finite with shape {tuple(shape)}, got shape {tuple(out.shape)}"
        )


def layer_steps(layers: Mapping[str, nn.Module], x: Tensor, shape: torch.Size | None = None) -> dict[str, Step]:
    """Return a training step of each layer on ``x`` (halves or complex), with outputs and gradients checked."""
    contestants = {}
    for name, layer in layers.items():
        with torch.no_grad():
            _check_output(name, layer(x), shape or x.shape)
        contestants[name] = training_step(layer, list(layer.parameters()), x)
        check_gradients(name, layer, contestants[name])
    return contestants


def _figure(value: dict[str, float], unit: str) -> str:
    median = value["median"]
    return f"{median:,.0f} {unit}" if median >= 100 else f"{median:.3g} {unit}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3g}"


def race_cells(found: dict[str, Any]) -> list[str]:
    """Return the cells of a comparison: both medians, their ratio, the limit."""
    quotient = found["ratio"]
    return [
        f"{found['group']}: {found['ours']} / {found['reference']}",
        _figure(found["ours_value"], found["unit"]),
        _figure(found["reference_value"], found["unit"]),
        f"{_ratio(quotient['median'])} ({_ratio(quotient['low'])} to {_ratio(quotient['high'])})",
        "" if found["bar"] is None else f"{found['bar']:.3g}, {'met' if found['met'] else '**missed**'}",
    ]


def race_table(data: dict[str, Any]) -> str:
    """Return the table of a case, a row for each comparison."""
    return race_text(data, ["", "ours", "reference", "ratio (quartiles)", "limit"], map(race_cells, data["rows"]))


def race_text(data: dict[str, Any], columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the caption of a case, its table, notes and the machine."""
    text = [data["what"], markdown_table(columns, list(rows))]
    if data["notes"]:
        text.append("\n".join(f"- {note}" for note in data["notes"]))
    text.append(f"Medians of {data['rounds']} rounds. {machine_line(data['machine'])}")
    return worded("\n\n".join(text))


def worded(text: str) -> str:
    """Return a text about recorded comparisons with the wording of today."""
    return reduce(lambda out, pattern: re.sub(pattern, WORDING[pattern], out), WORDING, text)


@dataclass(frozen=True)
class Case:
    """A measurement, its number of rounds, and the page and table that show it."""

    run: Callable[[int], Outcome]
    rounds: int
    table: Callable[[dict[str, Any]], str] = race_table
    page: Path = DOCS / "benchmarks.md"
    part: str | None = None  # default: bench-NAME
    packages: tuple[str, ...] = ()  # recorded with their versions
