# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Labelled texts from csv, tsv, json and parquet files or from the Hub, in splits that share no text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...data.extras import check_option, require_datasets
from .splits import OVERLAPS, hold_out, in_order, read_table, separate, sources, strings_of, text_key

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

__all__ = ["load_text_dataset", "split_by_label", "text_key"]


def split_by_label(split: Dataset, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    """Split off a random ``fraction``, stratified by label; copies of a text stay together."""
    return hold_out(split, [text_key(text) for text in split["text"]], split["label"], fraction, seed)


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
    """Load the columns ``text`` and ``label`` (strings) of train, validation and, if there is one, test.

    Args:
        train_file, validation_file, test_file: csv, tsv (no quoting), json, jsonl or parquet, also compressed (.gz,
            .bz2, .xz).
        dataset_name, dataset_config_name: a data set of the Hub, or a folder that ``datasets`` reads.
        text_column, label_column: names of the columns.
        validation_split: share of the training rows, stratified by label, held out without a validation split.
        split_seed: seed of the held-out rows.
        overlap: texts in two splits: ``error``, ``drop`` them from the earlier split, or ``allow``.
        cache_dir: cache folder of ``datasets`` for ``dataset_name``; files are read into memory and not copied.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another ending, a missing column, an empty text or label, splits that overlap.
    """
    check_option("overlap", overlap, OVERLAPS)
    files = (train_file, validation_file, test_file)
    loaded, paths = sources("train_file", files, dataset_name, dataset_config_name, cache_dir)
    columns = {"text": text_column, "label": label_column}
    loaded |= {name: read_table(path, list(columns.values())) for name, path in paths.items()}
    splits = {}
    for name, split in loaded.items():
        split = split.select_columns(list(columns.values()))  # raises if one is missing
        strings = {kind: strings_of(name, split, column, kind) for kind, column in columns.items()}
        splits[name] = require_datasets().Dataset.from_dict(strings)
    splits = separate(splits, overlap, ["text"], "text")
    if "validation" not in splits:
        splits["train"], splits["validation"] = split_by_label(splits["train"], validation_split, split_seed)
    return in_order(splits)
