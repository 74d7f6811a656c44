# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Texts without labels, from text files or from the Hub, for language models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .parts import PARTS, check_columns, check_file, load_hub_parts, require_datasets

if TYPE_CHECKING:
    from datasets import DatasetDict

__all__ = ["load_plain_text"]


def load_plain_text(
    train_file: str | None = None,
    validation_file: str | None = None,
    test_file: str | None = None,
    *,
    dataset_name: str | None = None,
    dataset_config_name: str | None = None,
    text_column: str = "text",
    keep_linebreaks: bool = False,
) -> DatasetDict:
    """Column ``text`` of the parts train, validation and, where given, test; a row is a line, in its order.

    Args:
        train_file, validation_file, test_file: plain text, also with .gz.
        dataset_name, dataset_config_name: a data set of the Hub, or a folder ``datasets`` can read.
        text_column: of that data set; files have ``text``.
        keep_linebreaks: lines of files end in their line break, for models of characters.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no data or two kinds of it, two parts from one file, an empty file, no validation part, a missing
            column.
    """
    datasets = require_datasets()
    if (dataset_name is None) == (train_file is None):
        raise ValueError("give either dataset_name or train_file")
    if dataset_name is not None:
        loaded = load_hub_parts(dataset_name, dataset_config_name)
    else:
        paths = dict(zip(PARTS, (train_file, validation_file, test_file), strict=True))
        files = {name: path for name, path in paths.items() if path is not None}
        for path in files.values():
            check_file(path)
        if len({Path(path).resolve() for path in files.values()}) < len(files):
            raise ValueError(f"the parts share a file: {files}")
        try:
            loaded = datasets.load_dataset("text", data_files=files, keep_linebreaks=keep_linebreaks)
        except (datasets.exceptions.DatasetGenerationError, ValueError) as error:
            raise ValueError(f"a file holds no line, or no text in UTF-8: {files} ({error})") from error
    if "validation" not in loaded:
        raise ValueError(f"there is no part 'validation', only {list(loaded)}: give validation_file")
    parts = {}
    for name in (name for name in PARTS if name in loaded):
        check_columns(name, loaded[name], {"text_column": text_column})
        parts[name] = loaded[name].select_columns([text_column]).rename_columns({text_column: "text"})
    return datasets.DatasetDict(parts)
