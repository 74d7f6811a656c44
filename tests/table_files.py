# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Small files that readers of data are tried on."""

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path


def write_text(path: Path, text: str) -> str:
    """A text in UTF-8 as it is, compressed if the ending says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def write_table(path: Path, rows: Sequence[Sequence[str]], columns: Sequence[str]) -> str:
    """A table in the form that the ending says: csv, tsv, json or jsonl, each also compressed."""
    kind = path.name.removesuffix(".gz").rsplit(".", 1)[-1]
    objects = [dict(zip(columns, row, strict=True)) for row in rows]
    if kind == "json":
        return write_text(path, json.dumps(objects, indent=1))
    if kind == "jsonl":
        return write_text(path, "".join(json.dumps(row) + "\n" for row in objects))
    if kind == "tsv":  # nothing is quoted there
        return write_text(path, "".join("\t".join(row) + "\n" for row in [columns, *rows]))
    table = io.StringIO(newline="")
    csv.writer(table).writerows([columns, *rows])
    return write_text(path, table.getvalue())
