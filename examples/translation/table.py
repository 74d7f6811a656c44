# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Write the tables of the README from the results of ``multi30k.sh``: python examples/translation/table.py."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

README = Path(__file__).with_name("README.md")
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "multi30k"
EMBEDDINGS = ("complex_order", "complex_vanilla", "sinusoidal_position", "learned_position")
HEADER = (
    "| embedding | field | seeds | validation BLEU | test BLEU | test, seed by seed | test chrF | parameters "
    "| training |\n|---|---|---|---|---|---|---|---|---|"
)


def spread(values: Iterable[float]) -> str:
    """Mean and standard deviation over the seeds; one seed has no deviation."""
    values = list(values)
    return f"{statistics.mean(values):.2f}" + (f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else "")


def row(embedding: str, field: str, runs: list[dict[str, Any]]) -> str:
    """One line of the table: all seeds of one network."""
    if len(sizes := {run["parameters"] for run in runs}) > 1:
        raise ValueError(f"{embedding}, {field}: the seeds have unequal numbers of parameters {sorted(sizes)}")
    tests = [run["test"] for run in runs]
    seconds = [run["seconds"] for run in runs if not run["resumed"]]
    cells = (
        f"`{embedding}`",
        field,
        " ".join(str(run["seed"]) for run in runs),
        spread(run["validation"]["bleu"] for run in runs),
        spread(test["bleu"] for test in tests),
        " ".join(f"{test['bleu']:.2f}" for test in tests),
        spread(test["chrf"] for test in tests),
        f"{sizes.pop() / 1e6:.2f} M",
        f"{statistics.mean(seconds):.0f} s" if seconds else "stopped and resumed",
    )
    return f"| {' | '.join(cells)} |"


def table(folder: Path) -> str:
    """All rows of one direction that were run, and the signatures of their scores."""
    lines, signatures = [HEADER], set()
    for embedding in EMBEDDINGS:
        for field, suffix in (("complex", ""), ("real", "-real")):
            paths = sorted(folder.glob(f"{embedding}{suffix}-seed-*.json"))
            runs = sorted(
                (json.loads(path.read_text(encoding="utf-8")) for path in paths), key=lambda run: run["seed"]
            )
            if runs:
                lines.append(row(embedding, field, runs))
                signatures |= {(run["signatures"]["bleu"], run["signatures"]["chrf"]) for run in runs}
    if len(signatures) > 1:
        raise ValueError(f"{folder.name}: scores with unequal signatures do not fit one table: {sorted(signatures)}")
    lines += [""] + [f"BLEU: `{bleu}`; chrF: `{chrf}`." for bleu, chrf in signatures]
    return "\n".join(lines)


def main() -> None:
    """Replace the tables between their markers; the README has a pair of markers for each direction."""
    text = README.read_text(encoding="utf-8")
    folders = sorted(path for path in RESULTS.glob("*") if path.is_dir())
    if not folders:
        raise FileNotFoundError(f"no results in {RESULTS}: run examples/translation/multi30k.sh first")
    for folder in folders:
        start, end = f"<!-- multi30k {folder.name}:start -->", f"<!-- multi30k {folder.name}:end -->"
        pattern = re.compile(f"{re.escape(start)}.*{re.escape(end)}", re.DOTALL)
        content = f"{start}\n{table(folder)}\n{end}"
        text, count = pattern.subn(lambda _, content=content: content, text)
        if count != 1:
            raise ValueError(f"{README.name} must hold the markers {start} and {end} once, found {count}")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
