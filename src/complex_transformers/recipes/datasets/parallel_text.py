# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Pairs of texts for translation: from two line-aligned files, from a table or from the Hub, in disjoint splits."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...data.extras import check_option, require_datasets
from ...data.files import decode_lines, read_lines
from .splits import OVERLAPS, read_table, separate, sources, with_validation

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict
    from transformers import PreTrainedTokenizerBase

__all__ = ["encode_parallel_dataset", "load_parallel_dataset", "read_texts"]

_EMPTIES = ("error", "drop")
_TOO_LONG = ("error", "truncate", "drop")
_NO_LIMIT = 10**9  # model_max_length is 1e30 without a limit


def read_texts(path: str | None, empty: str = "error") -> list[str]:
    """Read texts to translate, one per line, from a file or from standard input.

    Args:
        path: as in ``read_lines``; None for standard input.
        empty: blank lines: ``error``, or ``keep`` them.

    Raises:
        ValueError: a blank line, an unknown ``empty``, or an error of ``read_lines``.
    """
    check_option("empty", empty, ("error", "keep"))
    texts = list(decode_lines(sys.stdin.buffer) if path is None else read_lines(path))
    numbers = [number for number, text in enumerate(texts, 1) if not text.strip()]
    if numbers and empty == "error":
        found = f"{len(numbers)} blank line(s), the first is line {numbers[0]}"
        raise ValueError(f"texts must not be blank, got {found}. Remove them or use empty='keep'.")
    return texts


def _read(name: str, paths: Sequence[str] | str, columns: list[str]) -> Dataset:
    """Read two aligned text files, or one table."""
    if isinstance(paths, str) or len(paths) == 1:
        return _pick(read_table(paths if isinstance(paths, str) else paths[0], columns), columns)
    source, target = (list(read_lines(path)) for path in paths)
    if len(source) != len(target):
        raise ValueError(
            f"{name}_file must be two files with equally many lines, got {paths[0]} with {len(source)} and {paths[1]} "
            f"with {len(target)}."
        )
    return require_datasets().Dataset.from_dict({"source": source, "target": target})


def _pick(split: Dataset, columns: list[str]) -> Dataset:
    """Return the columns ``source`` and ``target``, also from a column ``translation`` of ``{language: text}``."""
    if "translation" in split.column_names and not set(columns) <= set(split.column_names):
        split = split.select_columns(["translation"]).flatten()
        split = split.rename_columns({column: column.removeprefix("translation.") for column in split.column_names})
    split = split.select_columns(columns)  # raises if one is missing
    texts = {new: [text or "" for text in split[old]] for new, old in zip(("source", "target"), columns, strict=True)}
    return require_datasets().Dataset.from_dict(texts)


def _without_empty(name: str, split: Dataset, empty: str) -> Dataset:
    full = [
        bool(source.strip() and target.strip())
        for source, target in zip(split["source"], split["target"], strict=True)
    ]
    if lost := len(full) - sum(full):
        message = f"{lost} pair(s) of the {name} data have an empty side (first: line {full.index(False) + 1})"
        if empty == "error":
            raise ValueError(f"{message}. Correct them, or drop them with empty='drop'.")
        warnings.warn(f"{message}: dropped", stacklevel=3)
        split = split.select([row for row, good in enumerate(full) if good])
    return split


def load_parallel_dataset(
    train_file: Sequence[str] | str | None = None,
    validation_file: Sequence[str] | str | None = None,
    test_file: Sequence[str] | str | None = None,
    *,
    dataset_name: str | None = None,
    dataset_config_name: str | None = None,
    source_column: str = "source",
    target_column: str = "target",
    validation_split: float = 0.1,
    split_seed: int = 0,
    empty: str = "error",
    overlap: str = "error",
    cache_dir: str | None = None,
) -> DatasetDict:
    """Load the columns ``source`` and ``target`` (strings) of train, validation and, if there is one, test.

    Args:
        train_file, validation_file, test_file: two line-aligned text files, source first; or one csv, tsv (no
            quoting), json, jsonl or parquet file. All may be compressed (.gz, .bz2, .xz).
        dataset_name, dataset_config_name: a data set of the Hub, or a folder that ``datasets`` reads; files given in
            addition replace its splits.
        source_column, target_column: columns of a table; with a column ``translation`` of ``{language: text}``, the
            two languages.
        validation_split: share of the training pairs held out without a validation split; copies of a pair stay
            together.
        split_seed: seed of the held-out pairs.
        empty: pairs with an empty side: ``error``, or ``drop`` them with a warning.
        overlap: pairs in two splits: ``error``, ``drop`` them from the earlier split, or ``allow``.
        cache_dir: cache folder of ``datasets`` for ``dataset_name``; files are read into memory and not copied.

    Raises:
        FileNotFoundError: no such file.
        ValueError: files of unequal length, a missing column, an empty text, splits that overlap.
    """
    check_option("overlap", overlap, OVERLAPS)
    check_option("empty", empty, _EMPTIES)
    columns = [source_column, target_column]
    files = (train_file, validation_file, test_file)
    loaded, given = sources("train_file", files, dataset_name, dataset_config_name, cache_dir)
    splits = {name: _pick(split, columns) for name, split in loaded.items()}
    splits |= {name: _read(name, paths, columns) for name, paths in given.items()}
    for name, split in splits.items():
        splits[name] = _without_empty(name, split, empty)
    splits = separate(splits, overlap, ["source", "target"], "pair")
    return with_validation(splits, ["source", "target"], validation_split, split_seed)


def encode_parallel_dataset(
    parts: DatasetDict,
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_source_length: int | None = None,
    max_target_length: int | None = None,
    too_long: str = "error",
) -> DatasetDict:
    """Add ``input_ids``, ``attention_mask``, ``labels`` and ``length`` (tokens of the longer side) to all splits.

    The texts stay in the data set as references for scoring.

    Args:
        parts: splits with the columns ``source`` and ``target``, as ``load_parallel_dataset`` returns them.
        tokenizer: the tokenizer of both languages; its end-of-text token is counted.
        max_source_length, max_target_length: limits in tokens; the default is the tokenizer's ``model_max_length``.
        too_long: longer pairs: ``error``, or ``truncate`` (the end-of-text token stays) or ``drop`` them with a
            warning.

    Raises:
        ValueError: pairs that are too long, an unknown ``too_long``.
    """
    check_option("too_long", too_long, _TOO_LONG)
    given = {"source": max_source_length, "target": max_target_length}
    default = tokenizer.model_max_length if tokenizer.model_max_length < _NO_LIMIT else None
    limits = {side: default if limit is None else limit for side, limit in given.items()}

    def options(side: str, cut: bool) -> dict[str, Any]:
        return {"truncation": True, "max_length": limits[side]} if cut and limits[side] is not None else {}

    def encode(batch: dict[str, list[str]], cut: bool) -> dict[str, Any]:
        encoded = tokenizer(batch["source"], verbose=False, **options("source", cut))
        labels = tokenizer(text_target=batch["target"], verbose=False, **options("target", cut))["input_ids"]
        lengths = [max(len(source), len(target)) for source, target in zip(encoded["input_ids"], labels, strict=True)]
        inputs = {name: encoded[name] for name in ("input_ids", "attention_mask")}
        return {**inputs, "labels": labels, "length": lengths}

    result = parts.map(encode, batched=True, fn_kwargs={"cut": False}, desc="Tokenizing")
    for name, split in result.items():
        rows: set[int] = set()
        for column, limit in zip(("input_ids", "labels"), limits.values(), strict=True):
            rows |= {row for row, ids in enumerate(split[column]) if limit is not None and len(ids) > limit}
        if not rows:
            continue
        message = (
            f"{len(rows)} of {len(split)} {name} pairs exceed max_source_length={limits['source']} or "
            f"max_target_length={limits['target']}"
        )
        if too_long == "error":
            raise ValueError(f"{message}. Raise the limits (and max_position_embeddings), or set too_long='drop'.")
        warnings.warn(f"{message}: {'cut' if too_long == 'truncate' else 'dropped'}", stacklevel=2)
        if too_long == "truncate":
            result[name] = split.map(encode, batched=True, fn_kwargs={"cut": True}, desc="Truncating")
        else:
            result[name] = split.select([row for row in range(len(split)) if row not in rows])
    return result
