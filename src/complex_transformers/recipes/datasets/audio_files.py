# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recordings with labels or transcripts from tables, folders or the Hub, in parts that share no recording."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.audio import audio_bytes, audio_name, require_soundfile
from ...data.extras import (
    check_option,
    require_datasets,
)
from .splits import (
    OVERLAPS,
    PARTS,
    check_columns,
    check_labels,
    hold_out,
    in_order,
    load_hub_parts,
    read_table,
    separate,
    strings_of,
)

if TYPE_CHECKING:
    import datasets

__all__ = ["TARGETS", "load_audio_dataset"]

TARGETS = ("label", "text")


def load_audio_dataset(
    train_file: str | None = None,
    validation_file: str | None = None,
    test_file: str | None = None,
    *,
    data_dir: str | None = None,
    dataset_name: str | None = None,
    dataset_config_name: str | None = None,
    audio_column: str | None = None,
    target: str = "label",
    target_column: str | None = None,
    validation_split: float = 0.1,
    split_seed: int = 0,
    overlap: str = "error",
    cache_dir: str | None = None,
) -> datasets.DatasetDict:
    """Columns ``audio`` (for ``read_audio``) and ``label`` or ``text`` of train, validation and, where given, test.

    Args:
        train_file, validation_file, test_file: csv, tsv (no quoting), json, jsonl or parquet, also compressed (.gz,
            .bz2, .xz); paths of audio are relative to the folder of the table.
        data_dir: a folder with one folder of audio files for each label; the training part.
        dataset_name, dataset_config_name: a data set of the Hub; its audio is left encoded.
        audio_column: name of the column; ``path`` in a table, ``audio`` on the Hub.
        target: ``label``, of which validation and test have none that training lacks, or ``text``, a transcript.
        target_column: name of its column, by default ``label`` or ``text``.
        validation_split: share of the training part, with equal shares of all labels, set aside where no validation
            part is given.
        split_seed: of that split.
        overlap: what to do with a recording in two parts, whatever its name: ``error``, ``drop`` it from the earlier
            part, or ``allow``.
        cache_dir: folder for what ``datasets`` keeps of ``dataset_name``, by default its own; files are read into
            memory and leave no copy.

    Raises:
        FileNotFoundError: no such table or folder; audio files that are missing, all of them by name.
        ValueError: not exactly one source of training data, another ending, a missing column, an empty path or label,
            a label that the training part lacks, parts that overlap.
    """
    check_option("overlap", overlap, OVERLAPS)
    check_option("target", target, TARGETS)
    target_column = target_column or target
    if data_dir is not None and target != "label":
        raise ValueError(f"the folders of data_dir are labels, and target={target!r} needs a table: use train_file")
    if sum(source is not None for source in (train_file, data_dir, dataset_name)) != 1:
        raise ValueError("give one of train_file, data_dir and dataset_name")
    parts = {}
    if dataset_name is not None:
        columns = {"audio_column": audio_column or "audio", "target_column": target_column}
        hub = load_hub_parts(dataset_name, dataset_config_name, cache_dir)
        parts = {name: _clips_of_hub(name, part, columns, target) for name, part in hub.items()}
    if data_dir is not None:
        parts["train"] = _clips_of_folders(data_dir)
    columns = {"audio_column": audio_column or "path", "target_column": target_column}
    for name, path in zip(PARTS, (train_file, validation_file, test_file), strict=True):
        if path is not None:
            parts[name] = _clips_of_table(name, path, columns, target)
    _check_exist(parts)
    parts = {name: part.add_column("key", [_key(clip) for clip in part["audio"]]) for name, part in parts.items()}
    parts = separate(parts, overlap, ["key"], "recording")
    if "validation" not in parts:
        train = parts["train"]
        groups = train["label"] if target == "label" else [""] * len(train)
        parts["train"], parts["validation"] = hold_out(train, train["key"], groups, validation_split, split_seed)
    if target == "label":
        check_labels(parts)
    return in_order({name: part.remove_columns("key") for name, part in parts.items()})


def _clips_of_table(name: str, path: str, columns: dict[str, str], target: str) -> datasets.Dataset:
    table = read_table(path, list(columns.values()))
    check_columns(name, table, columns)
    audio, column = columns.values()
    paths = [str(Path(path).parent / file) for file in strings_of(name, table, audio, "audio")]
    return require_datasets().Dataset.from_dict({"audio": paths, target: strings_of(name, table, column, target)})


def _clips_of_hub(name: str, part: datasets.Dataset, columns: dict[str, str], target: str) -> datasets.Dataset:
    Audio = require_datasets().Audio
    check_columns(name, part, columns)
    audio, column = columns.values()
    targets = strings_of(name, part, column, target)
    part = part.select_columns([audio]).rename_columns({audio: "audio"} if audio != "audio" else {})
    if isinstance(part.features["audio"], Audio):
        part = part.cast_column("audio", Audio(decode=False))
    return part.add_column(target, targets)


def _clips_of_folders(folder: str) -> datasets.Dataset:
    """Files that ``soundfile`` reads in the folders of the labels; hidden files and folders are left out."""
    soundfile = require_soundfile()
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"no such folder: {folder}")
    endings = {f".{ending.lower()}" for ending in (*soundfile.available_formats(), "aif", "oga", "opus")}
    paths, labels, others = [], [], []
    for label in sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")):
        files = sorted(path for path in label.iterdir() if path.is_file() and not path.name.startswith("."))
        audio = [str(path) for path in files if path.suffix.lower() in endings]
        if not audio:
            raise ValueError(f"the folder {label} has no audio file: every folder in data_dir is a label")
        others += [str(path) for path in files if path.suffix.lower() not in endings]
        paths += audio
        labels += [label.name] * len(audio)
    if not paths:
        raise ValueError(f"{folder} has no folders: data_dir needs one folder of audio files for each label")
    if others:
        print(f"{len(others)} file(s) in the folders of labels are no audio and left out, the first: {others[0]}")
    return require_datasets().Dataset.from_dict({"audio": paths, "label": labels})


def _check_exist(parts: Mapping[str, datasets.Dataset]) -> None:
    """Raise for rows without a clip, and for files that are not there, all of them by name."""
    for name, part in parts.items():
        if empty := [row for row, clip in enumerate(part["audio"]) if clip is None]:
            raise ValueError(
                f"{len(empty)} row(s) of the {name} data have no audio (first: row {empty[0]}): remove them"
            )
    clips = [clip for part in parts.values() for clip in part["audio"]]
    paths = [audio_name(clip) for clip in clips if isinstance(clip, str) or clip.get("bytes") is None]
    missing = [path for path in paths if not Path(path).is_file()]
    if missing:
        raise FileNotFoundError("\n  ".join([f"{len(missing)} audio file(s) are missing:", *missing]))


def _key(clip: Any) -> str:
    """What makes two recordings the same: their bytes."""
    return hashlib.blake2b(audio_bytes(clip), digest_size=16).hexdigest()
