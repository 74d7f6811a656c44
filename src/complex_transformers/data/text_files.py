# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Labelled texts from csv, tsv and json files or from the Hub, in parts that share no text."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

__all__ = ["load_text_dataset", "split_by_label", "text_key"]

PARTS = ("train", "validation", "test")
OVERLAPS = ("error", "allow", "drop")


def _read_file(path: str, text_column: str, label_column: str) -> Dataset:
    """One file by its ending. Cells stay strings: "1", "None" and "01" mean what they say."""
    from datasets import load_dataset

    if not Path(path).is_file():
        raise FileNotFoundError(f"no such file: {path}")
    kind = path.removesuffix(".gz").rsplit(".", 1)[-1]
    if kind in ("json", "jsonl"):
        return load_dataset("json", data_files=path, split="train")
    if kind not in ("csv", "tsv"):
        raise ValueError(f"{path} must end in .csv, .tsv, .json or .jsonl (and .gz)")
    options: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if kind == "tsv" else {}
    strings = {text_column: str, label_column: str}
    return load_dataset("csv", data_files=path, split="train", keep_default_na=False, converters=strings, **options)


def _clean(name: str, part: Dataset, columns: dict[str, str]) -> Dataset:
    """The columns ``text`` and ``label`` as strings; errors name what is missing and the remedy."""
    from datasets import ClassLabel, Dataset

    for option, column in columns.items():
        if column not in part.column_names:
            raise ValueError(
                f"the {name} data has no column {column!r}, only {part.column_names}: name one of them with {option}"
            )
    texts, labels = (part[column] for column in columns.values())
    feature = part.features[columns["label_column"]]
    if isinstance(feature, ClassLabel):
        labels = [feature.names[label] if label is not None and label >= 0 else None for label in labels]
    for kind, values in (("text", texts), ("label", labels)):
        bad = [row for row, value in enumerate(values) if value is None or not str(value).strip()]
        if bad:
            raise ValueError(f"{len(bad)} row(s) of the {name} data have no {kind} (first: row {bad[0]}): remove them")
    return Dataset.from_dict({"text": [str(text) for text in texts], "label": [str(label) for label in labels]})


def text_key(text: str) -> str:
    """What makes two texts the same: case and spaces do not count."""
    return " ".join(text.lower().split())


def _separate(parts: dict[str, Dataset], overlap: str) -> dict[str, Dataset]:
    """No text in two parts: stop, report, or drop the copies from the earlier part."""
    order = [name for name in PARTS if name in parts]
    for index, name in enumerate(order):
        for other in order[index + 1 :]:
            known = {text_key(text) for text in parts[other]["text"]}
            kept = [row for row, text in enumerate(parts[name]["text"]) if text_key(text) not in known]
            if not (shared := len(parts[name]) - len(kept)):
                continue
            message = f"{shared} row(s) of the {name} data have a text that is also in the {other} data"
            if overlap == "error":
                raise ValueError(f"{message}: use overlap='drop' (drop these rows of {name}) or overlap='allow'")
            if overlap == "drop":
                parts[name] = parts[name].select(kept)
            print(f"{message}: {'dropped from the ' + name + ' data' if overlap == 'drop' else 'kept'}")
    return parts


def split_by_label(part: Dataset, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    """Two parts with equal shares of labels, the second of size ``fraction``; copies of a text stay together."""
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"validation_split must be between 0 and 1, got {fraction}")
    label_of: dict[str, str] = {}
    for text, label in zip(part["text"], part["label"], strict=True):
        label_of.setdefault(text_key(text), label)
    texts_of = defaultdict(list)
    for text, label in label_of.items():
        texts_of[label].append(text)
    generator = random.Random(seed)
    held_out: set[str] = set()
    for label in sorted(texts_of):
        held_out.update(generator.sample(texts_of[label], round(fraction * len(texts_of[label]))))
    if not held_out:
        raise ValueError(
            f"validation_split={fraction} of {len(part)} rows is nothing: raise it or give validation_file"
        )
    inside = [text_key(text) in held_out for text in part["text"]]
    return (
        part.select([row for row, held in enumerate(inside) if not held]),
        part.select([row for row, held in enumerate(inside) if held]),
    )


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
) -> DatasetDict:
    """Columns ``text`` and ``label`` (strings) of the parts train, validation and, where given, test.

    Args:
        train_file, validation_file, test_file: csv, tsv (no quoting), json or jsonl, also with .gz.
        dataset_name, dataset_config_name: a data set of the Hub, or a folder ``datasets`` can read.
        text_column, label_column: names of the columns.
        validation_split: share of the training part, by label, set aside where no validation part is given.
        split_seed: of that split.
        overlap: what to do with a text in two parts: ``error``, ``drop`` it from the earlier part, or ``allow``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another ending, a missing column, an empty text or label, parts that overlap.
    """
    try:
        from datasets import DatasetDict, load_dataset
    except ImportError as error:
        raise ImportError("reading data sets needs datasets: pip install complex_transformers[train]") from error
    if overlap not in OVERLAPS:
        raise ValueError(f"overlap must be one of {sorted(OVERLAPS)}, got {overlap!r}")
    if (dataset_name is None) == (train_file is None):
        raise ValueError("give either dataset_name or train_file")
    parts: dict[str, Dataset] = {}
    if dataset_name is not None:
        loaded = load_dataset(dataset_name, dataset_config_name)
        if "train" not in loaded:
            raise ValueError(f"{dataset_name} has no part 'train', only {list(loaded)}")
        parts = {name: loaded[name] for name in PARTS if name in loaded}
    for name, path in zip(PARTS, (train_file, validation_file, test_file), strict=True):
        if path is not None:
            parts[name] = _read_file(path, text_column, label_column)
    columns = {"text_column": text_column, "label_column": label_column}
    parts = _separate({name: _clean(name, part, columns) for name, part in parts.items()}, overlap)
    if "validation" not in parts:
        parts["train"], parts["validation"] = split_by_label(parts["train"], validation_split, split_seed)
    return DatasetDict(parts)
