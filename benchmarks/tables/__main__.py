# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Write the tables of the examples' READMEs from ``benchmarks/results``.

    python -m benchmarks.tables [README ...]        # folders of examples/; default: all

A table stands between ``<!-- name:start -->`` and ``<!-- name:end -->``, which the README must hold once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.reporting import RESULTS, ROOT, write_part
from benchmarks.tables import speech, text

TABLES: dict[str, dict[str, Callable[[Path], str]]] = {
    "text-classification": {"trec": text.trec_table},
    "translation": {"multi30k en-de": partial(text.multi30k_table, direction="en-de")},
    "syntax-translation": {"synconmt": text.synconmt_table, "synconmt-length": text.synconmt_length_table},
    "speech": {
        "fsdd": speech.official_table,
        "fsdd-leave-out": speech.leave_out_table,
        "fsdd-phase": speech.phase_table,
        "digit-strings": partial(speech.transcription_table, data="digit-strings"),
    },
    "phonetic-transcription": {"espeak": partial(speech.transcription_table, data="espeak")},
}


def write_tables(folder: str, examples: Path, results: Path) -> None:
    """Replace the tables of one README."""
    readme = examples / folder / "README.md"
    page = readme.read_text(encoding="utf-8")
    for name, table in TABLES[folder].items():
        for marker in (f"<!-- {name}:start -->", f"<!-- {name}:end -->"):
            if (count := page.count(marker)) != 1:
                raise ValueError(f"{folder}/README.md must hold the marker {marker} once, found {count}")
        write_part(readme, name, table(results))


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readme", nargs="*", metavar="README", help=f"one or more of: {', '.join(TABLES)}")
    for folder in parser.parse_args().readme or TABLES:
        if folder not in TABLES:
            parser.error(f"no tables for {folder}; there are: {', '.join(TABLES)}")
        write_tables(folder, ROOT / "examples", RESULTS)


if __name__ == "__main__":
    main()
