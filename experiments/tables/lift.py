# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Lifted checkpoints against their originals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.race import race_table
from benchmarks.reporting import machine_line, markdown_table, read_lines

__all__ = ["TABLES", "families_table", "logits_table", "sentence_times_table", "sentences_table", "times_table"]

DIFFERENCES = {
    "lifted - original": "lifted - original",
    "lifted - exact": "lifted - exact",
    "original - exact": "original - exact",
    "exact - float64": "exact - float64",
    "lifted - float64": "lifted - float64",
    "lifted, float64 - float64": "lifted in float64 - float64",
}
ROW = "smollm2-135m-instruct"
ENCODER = "all-minilm-l6-v2"
WHAT = "CPU time of the lifted model and of the original, one thread, interleaved:"


def _result(results: Path, name: str = "lift", row: str = ROW) -> dict[str, Any]:
    """Return the result of a checkpoint."""
    return next(line for line in read_lines(results / f"{name}.jsonl") if line["row"] == row)


def logits_table(results: Path) -> str:
    """Tabulate the differences of the logits at each length, and other comparisons with the original."""
    found = _result(results)
    columns = _result(results, "lift-logits")["logits"]
    rows = [
        [f"largest difference of logits, {words}", *(f"{column[name]:.1e}" for column in columns)]
        for name, words in DIFFERENCES.items()
    ]
    rows.append(["largest logit", *(f"{column['largest']:.1f}" for column in columns)])
    rows += [
        [f"perplexity of the text, {name}", *(_perplexity(column, name) for column in columns)]
        for name in ("lifted", "original")
    ]
    texts, process, share = found["texts"], found["new_process"], found["conjugate_share"]
    notes = [
        f"feed-forward weights recovered bit for bit: {100 * found['equal_weights']:.4g} %",
        f"greedy decoding of {texts['prompts']} prompts, {texts['tokens']} tokens each, identical: "
        f"{texts['identical']} of {texts['prompts']}",
        f"saved and loaded in a new process, same generated text: {'yes' if process['same'] else '**no**'}",
        f"conjugate share per layer: {share['least']:.3f} to {share['largest']:.3f}, mean {share['mean']:.3f}",
        f"parameters: {found['parameters']['lifted']:,} lifted, {found['parameters']['original']:,} original",
    ]
    table = markdown_table(["", *(column["texts"] for column in columns)], rows)
    return table + "\n\n" + "\n".join(f"- {note}" for note in notes)


def _perplexity(column: dict[str, Any], name: str) -> str:
    """Return the perplexity of a column; prompts have none."""
    return f"{column['perplexity'][name]:.4f}" if "perplexity" in column else ""


def times_table(results: Path) -> str:
    """Tabulate the medians of interleaved rounds, lifted / original."""
    found = _result(results)
    more = {line["row"]: line["times"] for line in read_lines(results / "lift-longer.jsonl")}
    training, writing = found["times"]
    rows = [training, *(row for times in more.values() for row in times), writing]
    return _race_table(found, rows)


def _race_table(found: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Write the table of these rows, measured with the settings of ``found``."""
    facts = {"what": WHAT, "notes": [], "rounds": found["settings"]["rounds"], "machine": found["machine"]}
    return race_table({**facts, "rows": rows})


def sentences_table(results: Path) -> str:
    """Tabulate the differences of the sentence embeddings, and other comparisons with the original."""
    found = _result(results, "lift-sentences", ENCODER)
    rows = [
        [f"largest difference of embeddings, {name.replace(', float64', ' in float64')}", f"{difference:.1e}"]
        for name, difference in found["vectors"].items()
    ]
    rows.append(["largest element", f"{found['largest']:.2f}"])
    process, parameters = found["new_process"], found["parameters"]
    notes = [
        f"feed-forward weights recovered bit for bit: {100 * found['equal_weights']:.4g} %",
        f"saved and loaded in a new process, embeddings of {process['sentences']} sentences: largest difference "
        f"{process['difference']:.1e}",
        f"parameters: {parameters['lifted']:,} lifted, {parameters['original']:,} original",
    ]
    table = markdown_table(["", f"{found['sentences']} sentences"], rows)
    return table + "\n\n" + "\n".join(f"- {note}" for note in notes)


def sentence_times_table(results: Path) -> str:
    """Tabulate the medians of interleaved rounds, lifted / original."""
    found = _result(results, "lift-sentences", ENCODER)
    return _race_table(found, found["times"])


def families_table(results: Path) -> str:
    """Write a row for each family: its settings, and the differences from the original."""
    lines = read_lines(results / "lift-families.jsonl")
    rows = [
        [
            f"{line['settings']['tried']} (`{line['settings']['network']}`)",
            f"{line['difference']:.1e}",
            f"{line['largest']:.3g}",
            f"{line['cached']:.1e}" if line.get("cached") is not None else "",
            {True: "yes", False: "**no**", None: ""}[line.get("same_tokens")],
        ]
        for line in lines
    ]
    header = [
        "model and settings",
        "largest difference",
        "largest output",
        "cached - uncached",
        "same greedy tokens",
    ]
    return f"{markdown_table(header, rows)}\n\n{machine_line(lines[-1]['machine'])}"


TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "docs/lift-results.md": {"lift-families": families_table},
    "docs/lift.md": {
        "lift-logits": logits_table,
        "lift-times": times_table,
        "lift-sentences": sentences_table,
        "lift-sentence-times": sentence_times_table,
    },
}
