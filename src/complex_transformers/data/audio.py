# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Audio files as mono waveforms, tables of clips with labels, and data sets of their features."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from math import gcd
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.utils.data import Dataset

from .parts import (
    OVERLAPS,
    PARTS,
    check_columns,
    check_option,
    hold_out,
    load_hub_parts,
    read_table,
    require_datasets,
    separate,
    strings_of,
)

if TYPE_CHECKING:
    import datasets

__all__ = ["ClipDataset", "load_audio_dataset", "read_audio"]

_UNKNOWN_SIZE = 0x7FFFF000  # sizes from here on stand in wav files that were written to a pipe


def read_audio(source: Any, sampling_rate: int, mix_channels: bool = False) -> np.ndarray:
    """A mono waveform in float32, ``[samples]``, integers of the file in [-1, 1).

    Args:
        source: the path of a file that ``soundfile`` reads (wav, flac, ogg, mp3 ...), its bytes, or an entry of an
            ``Audio`` column of ``datasets``: a mapping with ``path`` and ``bytes``, or with ``array`` and
            ``sampling_rate``.
        sampling_rate: Hz of the result; audio of another rate is resampled by a polyphase filter.
        mix_channels: average channels instead of refusing audio that has several.

    Raises:
        ImportError: ``soundfile`` or ``scipy`` is missing (extra ``speech``).
        FileNotFoundError: no such file.
        TypeError: an ``array`` that is not of floats.
        ValueError: a file that is empty, truncated or no audio; several channels; samples that are not finite.
    """
    samples, rate, name = _decode(source)
    if samples.ndim == 2:
        if not mix_channels and samples.shape[1] > 1:
            raise ValueError(
                f"{name} has {samples.shape[1]} channels; average them with mix_channels=True, or choose one"
            )
        samples = samples.mean(axis=1)
    if len(samples) == 0:
        raise ValueError(f"{name} is empty: it has no sample")
    if not np.isfinite(samples).all():
        raise ValueError(f"{name} has samples that are no finite numbers; repair the recording")
    if rate != sampling_rate:
        try:
            from scipy.signal import resample_poly
        except ImportError as error:
            raise ImportError(
                f"{name} has {rate} Hz and not {sampling_rate}; resampling needs scipy: pip install "
                "complex_transformers[speech]"
            ) from error
        common = gcd(rate, sampling_rate)
        samples = resample_poly(samples, sampling_rate // common, rate // common)
    return np.ascontiguousarray(samples, dtype=np.float32)


def _decode(source: Any) -> tuple[np.ndarray, int, str]:
    """``[samples]`` or ``[samples, channels]``, Hz, and what to call it."""
    name = _name(source)
    if isinstance(source, Mapping) and source.get("array") is not None:
        array = np.asarray(source["array"])
        if not np.issubdtype(array.dtype, np.floating):
            raise TypeError(f"the array of {name} must be floats in [-1, 1), got {array.dtype}: divide by full scale")
        return array.astype(np.float32), int(source["sampling_rate"]), name
    soundfile = _require_soundfile()
    data = _bytes(source)
    _check_complete(data, name)
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            samples, rate, expected = file.read(dtype="float32"), file.samplerate, file.frames
    except soundfile.LibsndfileError as error:
        raise ValueError(f"{name} is no audio file that soundfile can read: {error.error_string}") from error
    if len(samples) < expected:
        raise ValueError(f"{name} is truncated: it has {len(samples)} samples of {expected}; copy it again")
    return samples, rate, name


def _require_soundfile() -> Any:
    try:
        import soundfile
    except ImportError as error:
        raise ImportError("audio files need soundfile: pip install complex_transformers[speech]") from error
    return soundfile


def _name(source: Any) -> str:
    """What messages call a clip."""
    if isinstance(source, Mapping):
        source = source.get("path")
    return str(source) if isinstance(source, (str, Path)) and str(source) else "the audio"


def _bytes(source: Any) -> bytes:
    """The content of a file, or of an entry of an ``Audio`` column."""
    if isinstance(source, Mapping):
        source = source.get("path") if source.get("bytes") is None else source["bytes"]
        if source is None:
            raise ValueError("an entry of an Audio column needs a path, bytes or an array, and all are missing")
    return source if isinstance(source, bytes) else Path(source).read_bytes()


def _check_complete(data: bytes, name: str) -> None:
    """Raise for a wav file shorter than its header says: libsndfile reads what is there and says nothing."""
    if not data:
        raise ValueError(f"{name} is empty: the file has no byte")
    if data[:4] != b"RIFF" or len(data) < 8:
        return
    size = int.from_bytes(data[4:8], "little")
    if size < _UNKNOWN_SIZE and len(data) < size + 8:
        raise ValueError(f"{name} is truncated: it has {len(data)} bytes of {size + 8}; copy it again")


class ClipDataset(Dataset[dict[str, Any]]):
    """Clips with one label or text each; audio is read, and features are made, when an item is asked for.

    Args:
        clips: what ``read_audio`` reads.
        targets: a label or a text for each.
        prepare: ``prepare(waveform, target)`` gives an item of the data set.
        sampling_rate, mix_channels: as in ``read_audio``.
        keep_items: keep every item in memory, so that it is made once only.

    Raises:
        ValueError: no clip, or unequal numbers.
    """

    def __init__(
        self,
        clips: Sequence[Any],
        targets: Sequence[Any],
        prepare: Callable[[np.ndarray, Any], dict[str, Any]],
        sampling_rate: int,
        mix_channels: bool = False,
        keep_items: bool = False,
    ) -> None:
        if len(clips) != len(targets) or not len(clips):
            raise ValueError(f"each clip needs a target, got {len(clips)} clips and {len(targets)} targets")
        self.clips, self.targets, self.prepare = clips, targets, prepare
        self.sampling_rate, self.mix_channels = sampling_rate, mix_channels
        self.kept: dict[int, dict[str, Any]] | None = {} if keep_items else None

    def __len__(self) -> int:
        return len(self.clips)

    def waveform(self, index: int) -> np.ndarray:
        """The samples of a clip."""
        return read_audio(self.clips[index], self.sampling_rate, self.mix_channels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        if self.kept is not None and index in self.kept:
            return dict(self.kept[index])
        waveform = self.waveform(index)
        try:
            item = self.prepare(waveform, self.targets[index])
        except ValueError as error:  # which knows nothing of files
            raise ValueError(f"{self.name(index)}: {error}") from error
        if self.kept is not None:
            self.kept[index] = dict(item)
        return item

    def name(self, index: int) -> str:
        """What messages call a clip: its path, or its number."""
        name = _name(self.clips[index])
        return name if name != "the audio" else f"clip {index}"

    def check(self) -> None:
        """Make every item once.

        Raises:
            ValueError: there are clips that cannot be read or prepared; the message names all of them.
        """
        bad = []
        for index in range(len(self)):
            try:
                self[index]
            except (OSError, TypeError, ValueError) as error:
                message = str(error)
                name = self.name(index)
                bad.append(message if name in message else f"{name}: {message}")
        if bad:
            raise ValueError("\n  ".join([f"{len(bad)} of {len(self)} clips cannot be used:", *bad]))


def load_audio_dataset(
    train_file: str | None = None,
    validation_file: str | None = None,
    test_file: str | None = None,
    *,
    data_dir: str | None = None,
    dataset_name: str | None = None,
    dataset_config_name: str | None = None,
    audio_column: str | None = None,
    label_column: str = "label",
    validation_split: float = 0.1,
    split_seed: int = 0,
    overlap: str = "error",
) -> datasets.DatasetDict:
    """Columns ``audio`` (for ``read_audio``) and ``label`` (strings) of train, validation and, where given, test.

    Args:
        train_file, validation_file, test_file: csv, tsv (no quoting), json or jsonl, also with .gz; paths of audio
            are relative to the folder of the table.
        data_dir: a folder with one folder of audio files for each label; the training part.
        dataset_name, dataset_config_name: a data set of the Hub, or a folder ``datasets`` can read; its audio is left
            encoded.
        audio_column, label_column: names of the columns; audio is ``path`` in a table, ``audio`` on the Hub.
        validation_split: share of the training part, by label, set aside where no validation part is given.
        split_seed: of that split.
        overlap: what to do with a recording in two parts, whatever its name: ``error``, ``drop`` it from the earlier
            part, or ``allow``.

    Raises:
        FileNotFoundError: no such table or folder; audio files that are missing, all of them by name.
        ValueError: not exactly one source of training data, another ending, a missing column, an empty path or label,
            a label that the training part lacks, parts that overlap.
    """
    DatasetDict = require_datasets().DatasetDict
    check_option("overlap", overlap, OVERLAPS)
    if sum(source is not None for source in (train_file, data_dir, dataset_name)) != 1:
        raise ValueError("give one of train_file, data_dir and dataset_name")
    parts = {}
    if dataset_name is not None:
        columns = {"audio_column": audio_column or "audio", "label_column": label_column}
        hub = load_hub_parts(dataset_name, dataset_config_name)
        parts = {name: _clips_of_hub(name, part, columns) for name, part in hub.items()}
    if data_dir is not None:
        parts["train"] = _clips_of_folders(data_dir)
    columns = {"audio_column": audio_column or "path", "label_column": label_column}
    for name, path in zip(PARTS, (train_file, validation_file, test_file), strict=True):
        if path is not None:
            parts[name] = _clips_of_table(name, path, columns)
    _check_exist(parts)
    parts = {name: part.add_column("key", [_key(clip) for clip in part["audio"]]) for name, part in parts.items()}
    parts = separate(parts, overlap, ["key"], "recording")
    if "validation" not in parts:
        train = parts["train"]
        parts["train"], parts["validation"] = hold_out(
            train, train["key"], train["label"], validation_split, split_seed
        )
    known = set(parts["train"]["label"])
    for name, part in parts.items():
        if unknown := sorted(set(part["label"]) - known):
            raise ValueError(f"the {name} data has labels {unknown} that the training data lacks: {sorted(known)}")
    return DatasetDict({name: parts[name].remove_columns("key") for name in PARTS if name in parts})


def _clips_of_table(name: str, path: str, columns: dict[str, str]) -> datasets.Dataset:
    table = read_table(path, list(columns.values()))
    check_columns(name, table, columns)
    audio, label = columns.values()
    paths = [str(Path(path).parent / file) for file in strings_of(name, table, audio, "audio")]
    return require_datasets().Dataset.from_dict({"audio": paths, "label": strings_of(name, table, label, "label")})


def _clips_of_hub(name: str, part: datasets.Dataset, columns: dict[str, str]) -> datasets.Dataset:
    Audio = require_datasets().Audio
    check_columns(name, part, columns)
    audio, label = columns.values()
    labels = strings_of(name, part, label, "label")
    part = part.select_columns([audio]).rename_columns({audio: "audio"} if audio != "audio" else {})
    if isinstance(part.features["audio"], Audio):
        part = part.cast_column("audio", Audio(decode=False))
    return part.add_column("label", labels)


def _clips_of_folders(folder: str) -> datasets.Dataset:
    """Files that ``soundfile`` reads in the folders of the labels; hidden files and folders are left out."""
    soundfile = _require_soundfile()
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
    """Raise for files that are not there, all of them by name."""
    clips = [clip for part in parts.values() for clip in part["audio"]]
    paths = [_name(clip) for clip in clips if isinstance(clip, str) or clip.get("bytes") is None]
    missing = [path for path in paths if not Path(path).is_file()]
    if missing:
        raise FileNotFoundError("\n  ".join([f"{len(missing)} audio file(s) are missing:", *missing]))


def _key(clip: Any) -> str:
    """What makes two recordings the same: their bytes."""
    return hashlib.blake2b(_bytes(clip), digest_size=16).hexdigest()
