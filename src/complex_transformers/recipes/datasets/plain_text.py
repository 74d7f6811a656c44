# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Unlabelled text from text files or from the Hub, for language models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...data.extras import require_datasets
from ...data.files import check_own_files, read_lines
from .splits import hold_out_end, in_order, sources

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

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
    validation_split: float = 0.1,
    cache_dir: str | None = None,
) -> DatasetDict:
    r"""Load the column ``text`` of train, validation and, if there is one, test; a row is a line, in order.

    Args:
        train_file, validation_file, test_file: plain text, also compressed (.gz, .bz2, .xz); lines end in ``\n`` or
            ``\r\n``.
        dataset_name, dataset_config_name: a data set of the Hub, or a folder that ``datasets`` reads.
        text_column: its text column.
        keep_linebreaks: keep the line break at the end of each line of a file, for character models.
        validation_split: share of the training lines, the last ones, held out without a validation split.
        cache_dir: folder for the lines of files as memory-mapped Arrow files, for text that does not fit in memory,
            and cache folder of ``datasets`` for ``dataset_name``. None keeps the lines of files in memory.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no data or two sources, two splits from one file, an empty file, a missing column, a
            ``validation_split`` that leaves a split empty.
    """
    files = (train_file, validation_file, test_file)
    loaded, paths = sources("train_file", files, dataset_name, dataset_config_name, cache_dir)
    check_own_files(paths)
    splits = {
        name: split.select_columns([text_column]).rename_columns({text_column: "text"})
        for name, split in loaded.items()
        if name not in paths
    }
    splits |= {name: _lines_of(path, keep_linebreaks, cache_dir) for name, path in paths.items()}
    if "validation" not in splits:
        splits["train"], splits["validation"] = hold_out_end(splits["train"], validation_split)
    return in_order(splits)


def _lines_of(path: str, keep_linebreaks: bool, cache_dir: str | None) -> Dataset:
    """Return the lines of a file, in memory or memory-mapped from ``cache_dir``."""
    Dataset = require_datasets().Dataset
    if cache_dir is None:
        return Dataset.from_dict({"text": list(read_lines(path, keep_linebreaks))})
    state = os.stat(path)
    version = (state.st_size, state.st_mtime_ns)  # datasets caches by the arguments
    options = {"path": os.path.abspath(path), "keep_linebreaks": keep_linebreaks, "version": version}
    return Dataset.from_generator(_rows, gen_kwargs=options, cache_dir=cache_dir)


def _rows(path: str, keep_linebreaks: bool, version: tuple[int, int]) -> Iterator[dict[str, str]]:
    return ({"text": line} for line in read_lines(path, keep_linebreaks))
