# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Write the tables of the documentation and of the examples' READMEs from ``experiments/results``.

    python -m experiments.tables [PAGE ...]        # a page, or a substring of its path; default: all

A table replaces the text between ``<!-- name:start -->`` and ``<!-- name:end -->``; a page has each marker once.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reporting import RESULTS, ROOT, write_part

# Page -> the modules of its tables, imported on demand.
PAGES: dict[str, tuple[str, ...]] = {
    "docs/benchmarks.md": ("cases",),
    "docs/benchmarks-gpu.md": ("cases", "launches"),
    "docs/choose.md": ("verdicts",),
    "docs/comparisons.md": ("choose", "verdicts"),
    "docs/concepts/attention-scores.md": ("coherent",),
    "docs/concepts/positions.md": ("positions",),
    "docs/decisions/0002-linear.md": ("cases",),
    "docs/decisions/0003-blocked-attention.md": ("cases",),
    "docs/export.md": ("export",),
    "docs/lift-results.md": ("bits", "lift"),
    "docs/lift.md": ("lift",),
    "docs/long-range.md": ("long_range",),
    "docs/state-tracking.md": ("long_range",),
    "docs/models/complex_mamba.md": ("state_space",),
    "docs/models/complex_quantum.md": ("quantum",),
    "docs/models/synconmt.md": ("claims",),
    "docs/paper.md": ("cases", "paper"),
    "docs/positions.md": ("positions",),
    "docs/quantization.md": ("bits",),
    "docs/semantics.md": ("semantics",),
    "docs/sources/complex-order.md": ("sources",),
    "docs/sources/index.md": ("sources",),
    "docs/sources/slides.md": ("sources",),
    "docs/sources/synconmt.md": ("sources",),
    "docs/sources/thesis.md": ("sources",),
    "docs/stability.md": ("stability",),
    "docs/thesis.md": ("thesis", "babi", "claims"),
    "examples/language-modeling/README.md": ("text",),
    "examples/phonetic-transcription/README.md": ("speech",),
    "examples/speech/README.md": ("speech",),
    "examples/syntax-translation/README.md": ("text", "claims"),
    "examples/text-classification/README.md": ("text",),
    "examples/translation/README.md": ("text",),
}


def tables_of(page: str, results: Path) -> dict[str, str]:
    """Return the tables of a page by marker name."""
    modules = [importlib.import_module(f"experiments.tables.{name}") for name in PAGES[page]]
    return {name: table(results) for module in modules for name, table in module.TABLES[page].items()}


def write_tables(page: str, root: Path, results: Path) -> None:
    """Replace the tables of one page."""
    path = root / page
    text = path.read_text(encoding="utf-8")
    for name, table in tables_of(page, results).items():
        for marker in (f"<!-- {name}:start -->", f"<!-- {name}:end -->"):
            if (count := text.count(marker)) != 1:
                raise ValueError(f"{page} must have the marker {marker} once, found {count}")
        text = write_part(text, name, table)
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="*", metavar="PAGE", help=f"one or more of: {', '.join(PAGES)}")
    asked = parser.parse_args(arguments).page or [""]
    for part in asked:
        if not any(part in page for page in PAGES):
            parser.error(f"PAGE must be part of one of {', '.join(PAGES)}, got {part}")
    for page in PAGES:
        if any(part in page for part in asked):
            write_tables(page, ROOT, RESULTS)


if __name__ == "__main__":
    main()
