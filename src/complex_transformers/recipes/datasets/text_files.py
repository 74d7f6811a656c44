# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Labelled texts from csv, tsv and json files or from the Hub, in parts that share no text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...data.extras import (
    check_option,
    require_datasets,
)
from .splits import (
    OVERLAPS,
    check_columns,
    hold_out,
    in_order,
    read_table,
    separate,
    sources,
    strings_of,
    text_key,
)

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

__all__ = ["load_text_dataset", "split_by_label", "text_key"]


def _clean(name: str, part: Dataset, columns: dict[str, str]) -> Dataset:
    """The columns ``text`` and ``label`` as strings; errors name what is missing and the remedy."""
    check_columns(name, part, columns)
    values = {kind: strings_of(name, part, columns[f"{kind}_column"], kind) for kind in ("text", "label")}
    return require_datasets().Dataset.from_dict(values)


def split_by_label(part: Dataset, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    """Two parts with equal shares of labels, the second of size ``fraction``; copies of a text stay together."""
    return hold_out(part, [text_key(text) for text in part["text"]], part["label"], fraction, seed)


def load_text_dataset(
    train_file: str | None = None,
    validation_file: str | None = None,
    test_file: str | None = None,
    *,
    dataset_name: str | None = None,
    dataset_config_name: str | None = None,
    text_column: str = "text",
    label_column: str = "label",
    validation_split: float = 0.1,
    split_seed: int = 0,
    overlap: str = "error",
    cache_dir: str | None = None,
) -> DatasetDict:
    """Columns ``text`` and ``label`` (strings) of the parts train, validation and, where given, test.

    Args:
        train_file, validation_file, test_file: csv, tsv (no quoting), json, jsonl or parquet, also compressed (.gz,
            .bz2, .xz).
        dataset_name, dataset_config_name: a data set of the Hub, or a folder ``datasets`` can read.
        text_column, label_column: names of the columns.
        validation_split: share of the training part, by label, set aside where no validation part is given.
        split_seed: of that split.
        overlap: what to do with a text in two parts: ``error``, ``drop`` it from the earlier part, or ``allow``.
        cache_dir: folder for what ``datasets`` keeps of ``dataset_name``, by default its own; files are read into
            memory and leave no copy.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another ending, a missing column, an empty text or label, parts that overlap.
    """
    check_option("overlap", overlap, OVERLAPS)
    files = (train_file, validation_file, test_file)
    parts, paths = sources("train_file", files, dataset_name, dataset_config_name, cache_dir)
    columns = {"text_column": text_column, "label_column": label_column}
    parts |= {name: read_table(path, list(columns.values())) for name, path in paths.items()}
    parts = {name: _clean(name, part, columns) for name, part in parts.items()}
    parts = separate(parts, overlap, ["text"], "text")
    if "validation" not in parts:
        parts["train"], parts["validation"] = split_by_label(parts["train"], validation_split, split_seed)
    return in_order(parts)
