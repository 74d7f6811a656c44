# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Texts without labels, from text files or from the Hub, for language models."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from ...data.extras import (
    require_datasets,
)
from ...data.files import check_own_files, read_lines
from .splits import check_columns, hold_out_end, in_order, sources

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

__all__ = ["load_plain_text"]

_LINES = 10_000  # that are brought together: more would not be read any faster


def load_plain_text(
    train_file: str | None = None,
    validation_file: str | None = None,
    test_file: str | None = None,
    *,
    dataset_name: str | None = None,
    dataset_config_name: str | None = None,
    text_column: str = "text",
    keep_linebreaks: bool = False,
    validation_split: float = 0.1,
    cache_dir: str | None = None,
) -> DatasetDict:
    r"""Column ``text`` of the parts train, validation and, where given, test; a row is a line, in its order.

    Args:
        train_file, validation_file, test_file: plain text, also compressed (.gz, .bz2, .xz); lines end at ``\n`` or
            ``\r\n``.
        dataset_name, dataset_config_name: a data set of the Hub, or a folder ``datasets`` can read.
        text_column: of that data set; files have ``text``.
        keep_linebreaks: lines of files end in their line break, for models of characters.
        validation_split: share of the training lines, the last ones, set aside where no validation part is given.
        cache_dir: folder for the lines of files as Arrow, for text that memory does not hold, and for what ``map``
            makes of them; without it they are in memory and nothing is written. Also for what ``datasets`` keeps of
            ``dataset_name``, by default in its own folder.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no data or two kinds of it, two parts from one file, an empty file, a missing column, a
            ``validation_split`` that leaves no line on one side.
    """
    files = (train_file, validation_file, test_file)
    parts, paths = sources("train_file", files, dataset_name, dataset_config_name, cache_dir)
    check_own_files(paths)
    for name in [name for name in parts if name not in paths]:
        check_columns(name, parts[name], {"text_column": text_column})
        parts[name] = parts[name].select_columns([text_column]).rename_columns({text_column: "text"})
    parts |= {name: _lines_of(path, keep_linebreaks, cache_dir) for name, path in paths.items()}
    if "validation" not in parts:
        parts["train"], parts["validation"] = hold_out_end(parts["train"], validation_split)
    return in_order(parts)


def _lines_of(path: str, keep_linebreaks: bool, cache_dir: str | None) -> Dataset:
    """The lines of a file, in memory, or as a file of Arrow that is made once and then mapped into memory."""
    Dataset = require_datasets().Dataset
    import pyarrow  # of which datasets is made

    schema = pyarrow.schema({"text": pyarrow.string()})

    def batches() -> Iterator[Any]:
        lines = read_lines(path, keep_linebreaks)
        while batch := list(islice(lines, _LINES)):
            yield pyarrow.record_batch([pyarrow.array(batch, pyarrow.string())], schema=schema)

    if cache_dir is None:
        part = Dataset(pyarrow.Table.from_batches(batches(), schema))
    else:
        state = os.stat(path)
        key = repr((str(Path(path).resolve()), state.st_size, state.st_mtime_ns, keep_linebreaks))
        target = Path(cache_dir) / f"lines-{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}.arrow"
        if not target.is_file():
            _write_arrow(target, schema, batches())
        part = Dataset.from_file(str(target))
    if not len(part):
        raise ValueError(f"{path} holds no line")
    return part


def _write_arrow(target: Path, schema: Any, batches: Iterator[Any]) -> None:
    """All or nothing, whatever stops it and however many processes write the same."""
    import pyarrow

    target.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=target.parent, delete=False) as file:
        try:
            with pyarrow.ipc.new_stream(file, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, target)
