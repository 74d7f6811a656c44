# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recordings with labels or transcripts from tables, folders or the Hub, in splits that share no recording."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.audio import audio_bytes, audio_name, require_soundfile
from ...data.extras import check_option, require_datasets
from .splits import (
    OVERLAPS,
    SPLITS,
    check_labels,
    hold_out,
    in_order,
    load_hub_splits,
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
    """Load ``audio`` (for ``read_audio``) and ``label`` or ``text`` of train, validation and, if there is one, test.

    Args:
        train_file, validation_file, test_file: csv, tsv (no quoting), json, jsonl or parquet, also compressed (.gz,
            .bz2, .xz); audio paths are relative to the folder of the table.
        data_dir: folder with one subfolder of audio files per label, as training split.
        dataset_name, dataset_config_name: a data set of the Hub; its audio is not decoded yet.
        audio_column: name of the audio column, by default ``path`` in a table and ``audio`` on the Hub.
        target: ``label``, a class that must occur in the training split, or ``text``, a transcript.
        target_column: name of its column, by default ``label`` or ``text``.
        validation_split: share of the training rows, stratified by label, held out without a validation split.
        split_seed: seed of the held-out rows.
        overlap: recordings in two splits, under any name: ``error``, ``drop`` them from the earlier split, or
            ``allow``.
        cache_dir: cache folder of ``datasets`` for ``dataset_name``; files are read into memory and not copied.

    Raises:
        FileNotFoundError: no such table or folder; missing audio files, all listed.
        ValueError: not exactly one source of training data, another ending, a missing column, an empty path or
            label, a label missing from the training split, splits that overlap.
    """
    check_option("overlap", overlap, OVERLAPS)
    check_option("target", target, TARGETS if data_dir is None else ("label",))
    target_column = target_column or target
    training = {"train_file": train_file, "data_dir": data_dir, "dataset_name": dataset_name}
    given = [name for name, source in training.items() if source is not None]
    if len(given) != 1:
        raise ValueError(f"exactly one of {', '.join(training)} must be given, got {' and '.join(given) or 'none'}.")
    splits = {}
    if dataset_name is not None:
        hub = load_hub_splits(dataset_name, dataset_config_name, cache_dir)
        for name, split in hub.items():
            splits[name] = _clips_of_hub(name, split, audio_column or "audio", target_column, target)
    if data_dir is not None:
        splits["train"] = _clips_of_folders(data_dir)
    for name, path in zip(SPLITS, (train_file, validation_file, test_file), strict=True):
        if path is not None:
            splits[name] = _clips_of_table(name, path, audio_column or "path", target_column, target)
    _check_exist(splits)
    splits = {name: split.add_column("key", [_key(clip) for clip in split["audio"]]) for name, split in splits.items()}
    splits = separate(splits, overlap, ["key"], "recording")
    if "validation" not in splits:
        train = splits["train"]
        groups = train["label"] if target == "label" else [""] * len(train)
        splits["train"], splits["validation"] = hold_out(train, train["key"], groups, validation_split, split_seed)
    if target == "label":
        check_labels(splits)
    return in_order({name: split.remove_columns("key") for name, split in splits.items()})


def _clips_of_table(name: str, path: str, audio: str, column: str, target: str) -> datasets.Dataset:
    table = read_table(path, [audio, column])
    paths = [str(Path(path).parent / file) for file in strings_of(name, table, audio, "audio")]
    return require_datasets().Dataset.from_dict({"audio": paths, target: strings_of(name, table, column, target)})


def _clips_of_hub(name: str, split: datasets.Dataset, audio: str, column: str, target: str) -> datasets.Dataset:
    Audio = require_datasets().Audio
    split = split.select_columns([audio, column])  # raises if one is missing
    targets = strings_of(name, split, column, target)
    split = split.select_columns([audio]).rename_columns({audio: "audio"})
    if isinstance(split.features["audio"], Audio):
        split = split.cast_column("audio", Audio(decode=False))
    return split.add_column(target, targets)


def _clips_of_folders(folder: str) -> datasets.Dataset:
    """Collect the audio files in the subfolders, whose names are the labels; hidden files are left out."""
    endings = {f".{ending.lower()}" for ending in (*require_soundfile().available_formats(), "aif", "oga", "opus")}
    paths, labels, others = [], [], []
    for label in sorted(path for path in Path(folder).iterdir() if path.is_dir() and not path.name.startswith(".")):
        files = sorted(path for path in label.iterdir() if path.is_file() and not path.name.startswith("."))
        audio = [str(path) for path in files if path.suffix.lower() in endings]
        others += [str(path) for path in files if path.suffix.lower() not in endings]
        paths += audio
        labels += [label.name] * len(audio)
    if not paths:
        raise ValueError(f"data_dir must have one folder of audio files per label, got {folder} without audio files.")
    if others:
        print(f"{len(others)} file(s) in the label folders are not audio and left out, the first: {others[0]}")
    return require_datasets().Dataset.from_dict({"audio": paths, "label": labels})


def _check_exist(splits: Mapping[str, datasets.Dataset]) -> None:
    """Raise for missing files, all listed."""
    clips = [clip for split in splits.values() for clip in split["audio"]]
    paths = [audio_name(clip) for clip in clips if isinstance(clip, str) or clip.get("bytes") is None]
    if missing := [path for path in paths if not Path(path).is_file()]:
        raise FileNotFoundError("\n  ".join([f"audio files must exist, got {len(missing)} missing:", *missing]))


def _key(clip: Any) -> str:
    """Return a digest of the bytes of a recording; equal digests count as copies."""
    return hashlib.blake2b(audio_bytes(clip), digest_size=16).hexdigest()
