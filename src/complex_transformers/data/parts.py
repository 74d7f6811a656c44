# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all data sets share: tables read by their ending, columns that must be there, parts that are disjoint."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Dataset

PARTS = ("train", "validation", "test")
OVERLAPS = ("error", "allow", "drop")


def require_datasets() -> Any:
    """The optional package ``datasets``, or an ImportError that names the extra."""
    try:
        import datasets
    except ImportError as error:
        raise ImportError("reading data sets needs datasets: pip install complex_transformers[train]") from error
    return datasets


def check_option(name: str, value: str, allowed: Sequence[str]) -> None:
    """``value`` must be one of ``allowed``."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {sorted(allowed)}, got {value!r}")


def check_file(path: str) -> None:
    """There must be such a file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no such file: {path}")


def load_hub_parts(name: str, config_name: str | None) -> dict[str, Dataset]:
    """The parts of a data set of the Hub, or of a folder; one of them is ``train``, parts of other names are named."""
    loaded = require_datasets().load_dataset(name, config_name)
    if "train" not in loaded:
        raise ValueError(f"{name} has no part 'train', only {list(loaded)}")
    if others := [part for part in loaded if part not in PARTS]:
        print(f"{name}: parts {others} are not used, only {[part for part in PARTS if part in loaded]}")
    return {part: loaded[part] for part in PARTS if part in loaded}


def read_table(path: str, columns: Sequence[str]) -> Dataset:
    """One file by its ending. Cells of ``columns`` stay strings: "1", "None" and "01" mean what they say."""
    load_dataset = require_datasets().load_dataset
    check_file(path)
    kind = path.removesuffix(".gz").rsplit(".", 1)[-1]
    if kind in ("json", "jsonl"):
        return load_dataset("json", data_files=path, split="train")
    if kind not in ("csv", "tsv"):
        raise ValueError(f"{path} must end in .csv, .tsv, .json or .jsonl (and .gz)")
    options: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if kind == "tsv" else {}
    strings = dict.fromkeys(columns, str)
    return load_dataset("csv", data_files=path, split="train", keep_default_na=False, converters=strings, **options)


def check_columns(name: str, part: Dataset, columns: dict[str, str]) -> None:
    """Every column must be there; ``columns`` maps the option that names a column to its value."""
    for option, column in columns.items():
        if column not in part.column_names:
            raise ValueError(
                f"the {name} data has no column {column!r}, only {part.column_names}: name one of them with {option}"
            )


def strings_of(name: str, part: Dataset, column: str, kind: str) -> list[str]:
    """A column as strings, a ``ClassLabel`` by its names; raises for rows that have none of that ``kind``."""
    values = part[column]
    feature = part.features[column]
    if isinstance(feature, require_datasets().ClassLabel):
        values = [feature.names[value] if value is not None and value >= 0 else None for value in values]
    bad = [row for row, value in enumerate(values) if value is None or not str(value).strip()]
    if bad:
        raise ValueError(f"{len(bad)} row(s) of the {name} data have no {kind} (first: row {bad[0]}): remove them")
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


def hold_out(
    part: Dataset, keys: Sequence[Hashable], groups: Sequence[str], fraction: float, seed: int
) -> tuple[Dataset, Dataset]:
    """Two parts, the second of size ``fraction`` with equal shares of all groups; equal keys stay together."""
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"validation_split must be between 0 and 1, got {fraction}")
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
