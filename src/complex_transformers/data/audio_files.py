# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Audio with labels or transcripts from csv, tsv and json files or from the Hub, in parts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .parts import PARTS, check_columns, hold_out, load_hub_parts, read_table, require_datasets

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

__all__ = ["load_audio_dataset"]


def _clean(name: str, part: Dataset, columns: dict[str, str], folder: Path | None) -> Dataset:
    """The columns ``audio`` and ``target``; errors name what is missing and the remedy."""
    datasets = require_datasets()
    check_columns(name, part, columns)
    audio_column, target_column = columns.values()
    feature = part.features[target_column]
    if isinstance(part.features[audio_column], datasets.Audio):
        part = part.cast_column(audio_column, datasets.Audio(decode=False))  # `read_audio` decodes
    targets = part[target_column]
    if isinstance(feature, datasets.ClassLabel):
        targets = [feature.names[label] if label is not None and label >= 0 else None for label in targets]
    bad = [row for row, value in enumerate(targets) if value is None or not str(value).strip()]
    if bad:
        raise ValueError(
            f"{len(bad)} row(s) of the {name} data have no {target_column} (first: row {bad[0]}): remove them"
        )
    audio: Any = part[audio_column]
    if folder is not None:
        audio = [str(folder / path) for path in audio]
        if missing := [path for path in audio if not Path(path).is_file()]:
            raise FileNotFoundError(f"{len(missing)} audio file(s) of the {name} data are missing: {missing}")
    return datasets.Dataset.from_dict({"audio": audio, "target": [str(target) for target in targets]})


def load_audio_dataset(
    train_file: str | None = None,
    validation_file: str | None = None,
    test_file: str | None = None,
    *,
    dataset_name: str | None = None,
    dataset_config_name: str | None = None,
    audio_column: str = "path",
    target_column: str = "label",
    validation_split: float = 0.1,
    split_seed: int = 0,
) -> DatasetDict:
    """Columns ``audio`` (for ``read_audio``) and ``target`` (strings) of train, validation and, where given, test.

    Args:
        train_file, validation_file, test_file: csv, tsv (no quoting), json or jsonl, also with .gz; paths of audio
            files in them are relative to their folder.
        dataset_name, dataset_config_name: a data set of the Hub, or a folder ``datasets`` can read, such as one with a
            folder of audio files for each class.
        audio_column, target_column: names of the columns.
        validation_split: share of the training part, with equal shares of every target, set aside where no validation
            part is given.
        split_seed: of that split.

    Raises:
        FileNotFoundError: no such file; audio files that are missing, all of them listed.
        ValueError: another ending, a missing column, an empty target.
    """
    DatasetDict = require_datasets().DatasetDict
    if (dataset_name is None) == (train_file is None):
        raise ValueError("give either dataset_name or train_file")
    columns = {"audio_column": audio_column, "target_column": target_column}
    parts = {} if dataset_name is None else load_hub_parts(dataset_name, dataset_config_name)
    parts = {name: _clean(name, part, columns, None) for name, part in parts.items()}
    for name, path in zip(PARTS, (train_file, validation_file, test_file), strict=True):
        if path is not None:
            parts[name] = _clean(name, read_table(path, list(columns.values())), columns, Path(path).parent)
    if "validation" not in parts:
        rows, targets = list(range(len(parts["train"]))), parts["train"]["target"]
        # Transcripts are all different: a share of each would be nothing.
        groups = targets if len(set(targets)) * 2 <= len(targets) else [""] * len(rows)
        parts["train"], parts["validation"] = hold_out(parts["train"], rows, groups, validation_split, split_seed)
    return DatasetDict(parts)
