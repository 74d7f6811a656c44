# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all data sets share: tables read by their ending, columns that must be there, parts that are disjoint."""

from __future__ import annotations

import csv
import io
import json
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.extras import (
    require_datasets,
)
from ...data.files import open_file, uncompressed_name

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, IterableDataset

PARTS = ("train", "validation", "test")
OVERLAPS = ("error", "allow", "drop")


def sources(
    option: str, files: Sequence[Any], dataset_name: str | None, config_name: str | None, cache_dir: str | None
) -> tuple[dict[str, Dataset], dict[str, Any]]:
    """The parts of a data set by its name, and the files given for parts; ``option`` names the training file."""
    given = given_files(option, files, dataset_name)
    return ({} if dataset_name is None else load_hub_parts(dataset_name, config_name, cache_dir)), given


def given_files(option: str, files: Sequence[Any], dataset_name: str | None) -> dict[str, Any]:
    """The files given for parts; raises where the training part has two sources or none."""
    given = {name: file for name, file in zip(PARTS, files, strict=True) if file is not None}
    if (dataset_name is None) == ("train" not in given):
        raise ValueError(f"give either dataset_name or {option}")
    return given


def load_hub_parts(name: str, config_name: str | None, cache_dir: str | None) -> dict[str, Dataset]:
    """The parts of a data set of the Hub, or of a folder; one of them is ``train``, parts of other names are named."""
    if (folder := Path(name)).is_dir() and set(str(folder.absolute())) & set("[]*?"):
        raise ValueError(
            f"datasets would read the name {folder.absolute()} as a pattern, and the files of another folder: "
            "rename what has one of [ ] * ? in it"
        )
    loaded = require_datasets().load_dataset(name, config_name, cache_dir=cache_dir)
    if "train" not in loaded:
        raise ValueError(f"{name} has no part 'train', only {list(loaded)}")
    if others := [part for part in loaded if part not in PARTS]:
        print(f"{name}: parts {others} are not used, only {[part for part in PARTS if part in loaded]}")
    return {part: loaded[part] for part in PARTS if part in loaded}


def read_table(path: str, columns: Sequence[str]) -> Dataset:
    """Read the ``columns`` of one file by its ending into memory, or all columns if one of them is missing.

    Cells of csv and tsv are strings: "1", "None" and "01" mean what they say. Json is one list of objects, or an
    object a line.
    """
    kind = uncompressed_name(path).rsplit(".", 1)[-1]
    if kind not in _TABLES:
        raise ValueError(f"{path} must end in {', '.join(f'.{name}' for name in _TABLES)} (and .gz, .bz2 or .xz)")
    with open_file(path) as file:
        data = file.read()
    try:
        table = _TABLES[kind](data)
        picked = {name: table[name] for name in columns} if set(columns) <= set(table) else table
        return require_datasets().Dataset.from_dict(picked)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:  # pandas' and pyarrow's are ValueErrors
        raise ValueError(f"{path} is no readable {kind} table in UTF-8: {error}") from error


def _csv_columns(data: bytes, **options: Any) -> dict[str, list[str]]:
    import pandas  # datasets needs it as well

    # The names are read as a row: pandas takes cells without a name for an index, and moves all others.
    cells = pandas.read_csv(io.BytesIO(data), header=None, dtype=str, na_filter=False, encoding="utf-8", **options)
    names = cells.iloc[0].tolist()
    if len(set(names)) < len(names):
        raise ValueError(f"two columns have the same name: {names}")
    return {name: cells[index].tolist()[1:] for index, name in enumerate(names)}


def _json_columns(data: bytes) -> dict[str, list[Any]]:
    text = data.decode("utf-8-sig")
    if text.lstrip().startswith("["):
        rows = json.loads(text)
    else:
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    if wrong := [row for row in rows if not isinstance(row, Mapping)]:
        raise ValueError(f"a row must be an object, got {wrong[0]!r:.80}")
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _json_column([row.get(name) for row in rows]) for name in names}


def _json_column(values: list[Any]) -> list[Any]:
    """No NaN, which stands for a missing value; integers beside other numbers as written: a table would make 1 1.0."""
    values = [None if value != value else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    return [value if value is None else str(value) for value in values] if kinds == {int, float} else values


def _parquet_columns(data: bytes) -> dict[str, list[Any]]:
    from pyarrow import parquet  # of which datasets is made

    return dict(parquet.read_table(io.BytesIO(data)).to_pydict())


_TABLES: dict[str, Callable[[bytes], dict[str, list[Any]]]] = {
    "csv": _csv_columns,
    "tsv": partial(_csv_columns, delimiter="\t", quoting=csv.QUOTE_NONE),
    "json": _json_columns,
    "jsonl": _json_columns,
    "parquet": _parquet_columns,
}


def check_columns(name: str, part: Dataset | IterableDataset, columns: dict[str, str]) -> None:
    """Every column must be there; ``columns`` maps the option that names a column to its value."""
    there = part.column_names
    if there is None:  # a stream without a header: its first row says it
        there = list(next(iter(part), {}))
    for option, column in columns.items():
        if column not in there:
            raise ValueError(f"the {name} data has no column {column!r}, only {there}: name one of them with {option}")


def strings_of(name: str, part: Dataset, column: str, kind: str) -> list[str]:
    """A column as strings, a ``ClassLabel`` by its names; raises for rows with none of that ``kind``, or a list."""
    values = part[column]
    feature = part.features[column]
    if isinstance(feature, require_datasets().ClassLabel):
        values = [feature.names[value] if value is not None and value >= 0 else None for value in values]
    values = [None if value != value else value for value in values]  # NaN, of numbers: a missing one
    bad = [row for row, value in enumerate(values) if value is None or not str(value).strip()]
    if bad:
        raise ValueError(f"{len(bad)} row(s) of the {name} data have no {kind} (first: row {bad[0]}): remove them")
    if bad := [row for row, value in enumerate(values) if isinstance(value, (list, Mapping))]:
        raise ValueError(
            f"{len(bad)} row(s) of the {name} data have a {kind} that is neither a string nor a number (first: row "
            f"{bad[0]}, {values[bad[0]]!r:.80}): make one string of each"
        )
    return [str(value) for value in values]


def text_key(text: str) -> str:
    """What makes two texts the same: case and spaces do not count."""
    return " ".join(text.lower().split())


def row_keys(part: Dataset, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The keys of each row's texts."""
    return [tuple(map(text_key, texts)) for texts in zip(*(part[column] for column in columns), strict=True)]


def separate(parts: dict[str, Dataset], overlap: str, columns: Sequence[str], noun: str) -> dict[str, Dataset]:
    """No row in two parts: stop, report, or drop the copies from the earlier part.

    Args:
        parts: the data, changed in place.
        overlap: ``error``, ``allow`` or ``drop``.
        columns: the texts that make two rows the same.
        noun: what the message calls them.
    """
    order = [name for name in PARTS if name in parts]
    for index, name in enumerate(order):
        for other in order[index + 1 :]:
            known = set(row_keys(parts[other], columns))
            kept = [row for row, key in enumerate(row_keys(parts[name], columns)) if key not in known]
            if not (shared := len(parts[name]) - len(kept)):
                continue
            message = f"{shared} row(s) of the {name} data have a {noun} that is also in the {other} data"
            if overlap == "error":
                raise ValueError(f"{message}: use overlap='drop' (drop these rows of {name}) or overlap='allow'")
            if overlap == "drop":
                parts[name] = parts[name].select(kept)
            print(f"{message}: {'dropped from the ' + name + ' data' if overlap == 'drop' else 'kept'}")
    return parts


def check_validation_split(fraction: float) -> None:
    """Raise unless ``fraction`` is in (0, 1)."""
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"validation_split must be between 0 and 1, got {fraction}")


def hold_out_end(part: Dataset, fraction: float) -> tuple[Dataset, Dataset]:
    """Split off the last ``fraction`` of the rows, for data whose order counts.

    Raises:
        ValueError: a fraction outside (0, 1), or one that leaves a split without rows.
    """
    check_validation_split(fraction)
    kept = len(part) - round(fraction * len(part))
    if not 0 < kept < len(part):
        raise ValueError(
            f"validation_split={fraction} of {len(part)} rows leaves a split empty: choose another "
            "share, or give a validation file"
        )
    return part.select(range(kept)), part.select(range(kept, len(part)))


def hold_out(
    part: Dataset, keys: Sequence[Hashable], groups: Sequence[str], fraction: float, seed: int
) -> tuple[Dataset, Dataset]:
    """Two parts, the second of size ``fraction`` with equal shares of all groups; equal keys stay together."""
    check_validation_split(fraction)
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
    if not held_out:
        raise ValueError(
            f"validation_split={fraction} of {len(part)} rows is nothing: raise it or give validation_file"
        )
    inside = [key in held_out for key in keys]
    return (
        part.select([row for row, held in enumerate(inside) if not held]),
        part.select([row for row, held in enumerate(inside) if held]),
    )


def with_validation(parts: dict[str, Dataset], columns: Sequence[str], fraction: float, seed: int) -> DatasetDict:
    """Return the splits in their order; without a validation split, hold one out of the training pairs."""
    if "validation" not in parts:
        train = parts["train"]
        keys = row_keys(train, columns)
        parts["train"], parts["validation"] = hold_out(train, keys, [""] * len(keys), fraction, seed)
    return in_order(parts)


def in_order(parts: Mapping[str, Dataset]) -> DatasetDict:
    """Train, validation and, where given, test."""
    return require_datasets().DatasetDict({name: parts[name] for name in PARTS if name in parts})


def sample_training(parts: DatasetDict, size: int | None, seed: int) -> DatasetDict:
    """The parts with ``size`` random rows of the training part, or all where there are no more; None: as they are."""
    if size is not None:
        sample = parts["train"].shuffle(seed=seed)
        parts["train"] = sample.select(range(min(size, len(sample))))
    return parts


def check_labels(parts: Mapping[str, Dataset], known: Collection[str] | None = None) -> None:
    """Raise for labels of a part that are not ``known``, by default those of the training part."""
    known = set(parts["train"]["label"]) if known is None else set(known)
    for name, part in parts.items():
        if unknown := sorted(set(part["label"]) - known):
            raise ValueError(f"the {name} data has labels {unknown} that the training data lacks: {sorted(known)}")
