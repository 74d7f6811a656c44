# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Pairs of texts for translation: from two line-aligned files, from a table or from the Hub, in disjoint parts."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...data.extras import (
    check_option,
    require_datasets,
)
from ...data.files import decode_lines, read_lines
from .splits import OVERLAPS, check_columns, read_table, separate, sources, with_validation

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict
    from transformers import PreTrainedTokenizerBase

__all__ = ["encode_parallel_dataset", "load_parallel_dataset", "read_texts"]

_EMPTIES = ("error", "drop")
_TOO_LONG = ("error", "truncate", "drop")
_NO_LIMIT = 10**9  # tokenizers without a limit say 1e30


def read_texts(path: str | None, empty: str = "error") -> list[str]:
    """Texts to translate, one a line, of a file or of standard input.

    Args:
        path: as in ``read_lines``; None for standard input.
        empty: lines of white space alone: ``error``, or ``keep`` them.

    Raises:
        ValueError: an empty line, an unknown ``empty``, or what ``read_lines`` raises.
    """
    check_option("empty", empty, ("error", "keep"))
    texts = list(decode_lines(sys.stdin.buffer, "standard input") if path is None else read_lines(path))
    numbers = [number for number, text in enumerate(texts, 1) if not text.strip()]
    if numbers and empty == "error":
        raise ValueError(
            f"{len(numbers)} empty line(s), the first is line {numbers[0]}: remove them, or set empty='keep'"
        )
    return texts


def _aligned(name: str, paths: Sequence[str]) -> Dataset:
    source, target = (list(read_lines(path)) for path in paths)
    if len(source) != len(target):
        raise ValueError(
            f"the {name} files must have equal numbers of lines: {paths[0]} has {len(source)}, "
            f"{paths[1]} has {len(target)}"
        )
    return require_datasets().Dataset.from_dict({"source": source, "target": target})


def _read(name: str, paths: Sequence[str], columns: dict[str, str]) -> Dataset:
    """Two aligned files, or one table with two columns."""
    if isinstance(paths, str):
        paths = [paths]
    if len(paths) not in (1, 2):
        raise ValueError(
            f"{name}_file takes two aligned text files (source, target) or one table, got {len(paths)}: {list(paths)}"
        )
    if len(paths) == 2:
        return _aligned(name, paths)
    return _pick(name, read_table(paths[0], list(columns.values())), columns)


def _pick(name: str, part: Dataset, columns: dict[str, str]) -> Dataset:
    """The columns ``source`` and ``target``, also out of a column ``translation`` of ``{language: text}``."""
    if "translation" in part.column_names and not set(columns.values()) <= set(part.column_names):
        part = part.select_columns(["translation"]).flatten()
        part = part.rename_columns({column: column.removeprefix("translation.") for column in part.column_names})
    check_columns(name, part, columns)
    picked = {new: list(part[old]) for new, old in zip(("source", "target"), columns.values(), strict=True)}
    for column, texts in picked.items():
        for row, text in enumerate(texts):
            if text is not None and not isinstance(text, str):
                raise ValueError(f"row {row} of the {name} data has a {column} that is no text but {text!r}")
    return require_datasets().Dataset.from_dict({key: [text or "" for text in value] for key, value in picked.items()})


def _without_empty(name: str, part: Dataset, empty: str) -> Dataset:
    full = [
        bool(source.strip() and target.strip()) for source, target in zip(part["source"], part["target"], strict=True)
    ]
    if lost := len(full) - sum(full):
        message = f"{lost} pair(s) of the {name} data have an empty side (first: line {full.index(False) + 1})"
        if empty == "error":
            raise ValueError(f"{message}: correct them, or drop these pairs with empty='drop'")
        warnings.warn(f"{message}: dropped", stacklevel=3)
        part = part.select([row for row, good in enumerate(full) if good])
    if not len(part):
        raise ValueError(f"the {name} data has no pairs")
    return part


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
    """Columns ``source`` and ``target`` (strings, as they are in the data) of the parts train, validation and test.

    Args:
        train_file, validation_file, test_file: two text files whose lines translate each other, source first; or
            one csv, tsv (no quoting), json or jsonl. All may end in .gz.
        dataset_name, dataset_config_name: a data set of the Hub, or a folder ``datasets`` can read; files given
            besides replace its parts.
        source_column, target_column: columns of a table; with a column ``translation`` of ``{language: text}``, the
            two languages.
        validation_split: share of the training pairs set aside where no validation part is given; copies of a pair
            stay together.
        split_seed: of that split.
        empty: what to do with a pair that has an empty side: ``error`` or ``drop``, with a warning.
        overlap: what to do with a pair in two parts: ``error``, ``drop`` it from the earlier part, or ``allow``.
        cache_dir: folder for what ``datasets`` keeps of ``dataset_name``, by default its own; files are read into
            memory and leave no copy.

    Raises:
        FileNotFoundError: no such file.
        ValueError: files of unequal length, a missing column, an empty text, parts that overlap.
    """
    check_option("overlap", overlap, OVERLAPS)
    check_option("empty", empty, _EMPTIES)
    columns = {"source_column": source_column, "target_column": target_column}
    files = (train_file, validation_file, test_file)
    loaded, given = sources("train_file", files, dataset_name, dataset_config_name, cache_dir)
    parts = {name: _pick(name, part, columns) for name, part in loaded.items()}
    parts |= {name: _read(name, paths, columns) for name, paths in given.items()}
    for name, part in parts.items():
        parts[name] = _without_empty(name, part, empty)
    parts = separate(parts, overlap, ["source", "target"], "pair")
    return with_validation(parts, ["source", "target"], validation_split, split_seed)


def encode_parallel_dataset(
    parts: DatasetDict,
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_source_length: int | None = None,
    max_target_length: int | None = None,
    too_long: str = "error",
) -> DatasetDict:
    """Add ``input_ids``, ``attention_mask``, ``labels`` and ``length`` (tokens of the longer side) to all parts.

    The texts stay in the data set: a translation is scored against the reference as it was written.

    Args:
        parts: columns ``source`` and ``target``, as ``load_parallel_dataset`` gives them.
        tokenizer: of both languages; its end-of-text token is counted.
        max_source_length, max_target_length: tokens; the default is the tokenizer's ``model_max_length``.
        too_long: what to do with longer pairs: ``error``; ``truncate`` (the end-of-text token stays) or ``drop``,
            both with a warning that counts them.

    Raises:
        ValueError: pairs that are too long, a limit below 2, an unknown ``too_long``.
    """
    check_option("too_long", too_long, _TOO_LONG)
    given = {"source": max_source_length, "target": max_target_length}
    default = tokenizer.model_max_length if tokenizer.model_max_length < _NO_LIMIT else None
    limits = {side: default if limit is None else limit for side, limit in given.items()}
    for side, limit in limits.items():
        if limit is not None and limit < 2:
            raise ValueError(f"max_{side}_length must be at least 2 (one token and the end of the text), got {limit}")

    def options(side: str, cut: bool) -> dict[str, Any]:
        return {"truncation": True, "max_length": limits[side]} if cut and limits[side] is not None else {}

    def encode(batch: dict[str, list[str]], cut: bool) -> dict[str, Any]:
        encoded = tokenizer(batch["source"], verbose=False, **options("source", cut))
        labels = tokenizer(text_target=batch["target"], verbose=False, **options("target", cut))["input_ids"]
        lengths = [max(len(source), len(target)) for source, target in zip(encoded["input_ids"], labels, strict=True)]
        inputs = {name: encoded[name] for name in ("input_ids", "attention_mask")}
        return {**inputs, "labels": labels, "length": lengths}

    result = parts.map(encode, batched=True, fn_kwargs={"cut": False}, desc="Tokenising")
    for name, part in result.items():
        sides = {"source": part["input_ids"], "target": part["labels"]}
        long: dict[str, set[int]] = {"source": set(), "target": set()}
        for side, limit in limits.items():
            if limit is not None:
                long[side] = {row for row, ids in enumerate(sides[side]) if len(ids) > limit}
        if not (rows := long["source"] | long["target"]):
            continue
        message = f"of {len(part)} {name} pairs " + " and ".join(
            f"{len(long[side])} have a {side} of more than {limits[side]} tokens" for side in long if long[side]
        )
        if too_long == "error":
            longest = {side: max(map(len, sides[side])) for side in long if long[side]}
            lengths = " and ".join(f"max_{side}_length" for side in longest)
            if any(given[side] is None for side in longest):
                lengths += " (where learned positions set it, the model's max_position_embeddings)"
            raise ValueError(
                f"{message} (longest: {longest}): raise {lengths}, or choose too_long='truncate' or 'drop'"
            )
        warnings.warn(f"{message}: {'cut' if too_long == 'truncate' else 'dropped'}", stacklevel=2)
        if too_long == "truncate":
            result[name] = part.map(encode, batched=True, fn_kwargs={"cut": True}, desc="Cutting")
        else:
            result[name] = part.select([row for row in range(len(part)) if row not in rows])
    return result
