# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Helpers of all data sets: tables as data sets, and splits that share no row."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...data.extras import check_option, require_datasets
from ...data.files import named, open_file, uncompressed_name

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

SPLITS = ("train", "validation", "test")
OVERLAPS = ("error", "allow", "drop")


def sources(
    option: str, files: Sequence[Any], dataset_name: str | None, config_name: str | None, cache_dir: str | None
) -> tuple[dict[str, Dataset], dict[str, Any]]:
    """Return the splits of ``dataset_name`` and the files given for splits; ``option`` names the training file."""
    given = given_files(option, files, dataset_name)
    return ({} if dataset_name is None else load_hub_splits(dataset_name, config_name, cache_dir)), given


def given_files(option: str, files: Sequence[Any], dataset_name: str | None) -> dict[str, Any]:
    """Return the files given for splits; raise if the training split has two sources or none."""
    given = {name: file for name, file in zip(SPLITS, files, strict=True) if file is not None}
    if (dataset_name is None) == ("train" not in given):
        found = "none" if dataset_name is None else "both"
        raise ValueError(f"exactly one of dataset_name and {option} must be given, got {found}.")
    return given


def load_hub_splits(name: str, config_name: str | None, cache_dir: str | None) -> dict[str, Dataset]:
    """Load train, validation and test of a data set of the Hub or of a folder; report other splits."""
    loaded = require_datasets().load_dataset(name, config_name, cache_dir=cache_dir)
    if others := [split for split in loaded if split not in SPLITS]:
        print(f"{name}: splits {others} are not used, only {[split for split in SPLITS if split in loaded]}")
    return {split: loaded[split] for split in SPLITS if split in loaded}


def read_table(path: str, columns: Sequence[str]) -> Dataset:
    """Read ``columns`` of a csv, tsv (no quoting), json, jsonl or parquet file, also compressed, into memory.

    Cells of csv and tsv stay strings: "01", "1.0" and "None" are not converted. Json is a list of objects or one
    object per line.

    Raises:
        ValueError: another ending, a column that is missing or occurs twice, json with one object of columns.
    """
    import pandas  # a dependency of datasets

    kind = uncompressed_name(path).rsplit(".", 1)[-1].lower()
    check_option(f"the ending of {path}", kind, _READERS)
    with named(path), open_file(path) as file:
        frame = _READERS[kind](pandas, file)
        found = list(frame.columns)
        if wrong := [name for name in columns if found.count(name) != 1]:
            raise ValueError(f"{path} must have one column {wrong[0]!r}, got {found}. Name it or add a header line.")
        frame = frame[list(columns)]
        if len(frame) == 1 and all(isinstance(cell, (list, dict)) for cell in frame.iloc[0]):
            raise ValueError(f"{path} must have one object per line or a list of objects, got one object of columns.")
        frame = frame.astype(object).where(frame.notna(), None)
        return require_datasets().Dataset.from_dict({name: frame[name].tolist() for name in columns})


def _read_csv(pandas: Any, file: Any, **options: Any) -> Any:
    # Without header=None, cells beyond the last column name would silently become an index.
    cells = pandas.read_csv(file, header=None, dtype=str, na_filter=False, encoding="utf-8-sig", **options)
    return cells[1:].set_axis(cells.iloc[0].tolist(), axis="columns")


def _read_json(pandas: Any, file: Any) -> Any:
    lines = not file.read(100).lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"[")
    file.seek(0)
    try:
        return pandas.read_json(file, lines=lines, dtype=False, encoding="utf-8-sig")
    except ValueError as error:
        error.add_note("json must be one object per line, or a list of objects")
        raise


_READERS: dict[str, Any] = {
    "csv": _read_csv,
    "tsv": lambda pandas, file: _read_csv(pandas, file, delimiter="\t", quoting=csv.QUOTE_NONE),
    "json": _read_json,
    "jsonl": _read_json,
    "parquet": lambda pandas, file: pandas.read_parquet(file),
}


def strings_of(name: str, split: Dataset, column: str, kind: str) -> list[str]:
    """Return a column as strings, a ``ClassLabel`` by its names; raise for rows without a ``kind``, or with a list."""
    values = split[column]
    feature = split.features[column]
    if isinstance(feature, require_datasets().ClassLabel):
        values = [feature.names[value] if value is not None and value >= 0 else None for value in values]
    for row, value in enumerate(values):
        if value is None or value != value or isinstance(value, (list, Mapping)) or not str(value).strip():
            raise ValueError(f"{kind} must be a string or number, got {value!r:.40} in row {row} of the {name} data.")
    return [str(value) for value in values]


def text_key(text: str) -> str:
    """Return the text without case and extra spaces; texts with equal keys count as copies."""
    return " ".join(text.lower().split())


def row_keys(split: Dataset, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the keys of each row's texts."""
    return [tuple(map(text_key, texts)) for texts in zip(*(split[column] for column in columns), strict=True)]


def separate(splits: dict[str, Dataset], overlap: str, columns: Sequence[str], noun: str) -> dict[str, Dataset]:
    """Raise for rows that occur in two splits, report them, or drop them from the earlier split.

    Args:
        splits: the data, changed in place.
        overlap: ``error``, ``allow`` or ``drop``.
        columns: the columns whose texts identify a row.
        noun: the name of a row in messages.
    """
    order = [name for name in SPLITS if name in splits]
    for index, name in enumerate(order):
        for other in order[index + 1 :]:
            known = set(row_keys(splits[other], columns))
            kept = [row for row, key in enumerate(row_keys(splits[name], columns)) if key not in known]
            if not (shared := len(splits[name]) - len(kept)):
                continue
            message = f"{shared} row(s) of the {name} data have a {noun} that is also in the {other} data"
            if overlap == "error":
                raise ValueError(f"{message}. Use overlap='drop' (drop them from {name}) or 'allow'.")
            if overlap == "drop":
                splits[name] = splits[name].select(kept)
            print(f"{message}: {'dropped from the ' + name + ' data' if overlap == 'drop' else 'kept'}")
    return splits


def _check_held_out(held_out: int, size: int, fraction: float) -> None:
    """Raise if a share leaves the training or the validation split empty."""
    if not 0 < held_out < size:
        raise ValueError(
            f"validation_split must leave rows in both splits, got {fraction} of {size} rows. Give a validation file."
        )


def hold_out_end(split: Dataset, fraction: float) -> tuple[Dataset, Dataset]:
    """Split off the last ``fraction`` of the rows, for data whose order matters."""
    kept = len(split) - round(fraction * len(split))
    _check_held_out(len(split) - kept, len(split), fraction)
    return split.select(range(kept)), split.select(range(kept, len(split)))


def hold_out(
    split: Dataset, keys: Sequence[Hashable], groups: Sequence[str], fraction: float, seed: int
) -> tuple[Dataset, Dataset]:
    """Split off a random ``fraction`` of the rows, stratified by group; rows with equal keys stay together."""
    group_of: dict[Hashable, str] = {}
    for key, group in zip(keys, groups, strict=True):
        group_of.setdefault(key, group)
    keys_of = defaultdict(list)
    for key, group in group_of.items():
        keys_of[group].append(key)
    generator = random.Random(seed)
    held_out: set[Hashable] = set()
    for group in sorted(keys_of):
        held_out.update(generator.sample(keys_of[group], round(fraction * len(keys_of[group]))))
    inside = [key in held_out for key in keys]
    _check_held_out(sum(inside), len(split), fraction)
    return (
        split.select([row for row, held in enumerate(inside) if not held]),
        split.select([row for row, held in enumerate(inside) if held]),
    )


def with_validation(splits: dict[str, Dataset], columns: Sequence[str], fraction: float, seed: int) -> DatasetDict:
    """Return the splits in their order; without a validation split, hold one out of the training pairs."""
    if "validation" not in splits:
        train = splits["train"]
        keys = row_keys(train, columns)
        splits["train"], splits["validation"] = hold_out(train, keys, [""] * len(keys), fraction, seed)
    return in_order(splits)


def in_order(splits: Mapping[str, Dataset]) -> DatasetDict:
    """Return train, validation and, if there is one, test."""
    return require_datasets().DatasetDict({name: splits[name] for name in SPLITS if name in splits})


def sample_training(splits: DatasetDict, size: int | None, seed: int) -> DatasetDict:
    """Replace the training split by at most ``size`` random rows of it; None keeps all."""
    if size is not None:
        sample = splits["train"].shuffle(seed=seed)
        splits["train"] = sample.select(range(min(size, len(sample))))
    return splits


def check_labels(splits: Mapping[str, Dataset], known: Collection[str] | None = None) -> None:
    """Raise for labels of a split that are not ``known``, by default the labels of the training split."""
    known = set(splits["train"]["label"]) if known is None else set(known)
    for name, split in splits.items():
        if unknown := sorted(set(split["label"]) - known):
            raise ValueError(f"labels of the {name} data must be training labels, {sorted(known)}, got {unknown}.")
