# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Audio files as mono waveforms, and data sets of clips whose features are made when they are asked for."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import Dataset

from .extras import require

__all__ = [
    "ClipDataset",
    "ConcatenatedClips",
    "audio_bytes",
    "audio_name",
    "check_clips",
    "read_audio",
    "require_soundfile",
]

_BLOCK = 2**16  # frames that are read at once
# A header can promise more than memory holds, and silence can be packed 345 samples a byte and more.
_RATES = (1_000, 1_000_000)  # Hz
_LONGEST = 4 * 3600  # seconds
_MOST_CHANNELS = 64
_MOST_SAMPLES_OF_A_BYTE = 2_500  # before or after resampling
_ALWAYS_ALLOWED = 2**24  # samples, whatever the size of a file
_LARGEST_FILTER = 2**16  # the filter of resampling has 20 times as many numbers
_UNKNOWN_SIZES = {4: 0x7FFFF000, 8: 2**63}  # width -> sizes from here on stand in files that were written to a pipe
# first bytes -> where the chunks begin, the width of their sizes, and its order of bytes
_CHUNKS: dict[bytes, tuple[int, int, Literal["big", "little"]]] = {
    b"RIFF": (12, 4, "little"),
    b"FORM": (12, 4, "big"),
    b"caff": (8, 8, "big"),
}


def read_audio(source: Any, sampling_rate: int, mix_channels: bool = False) -> np.ndarray:
    """A mono waveform in float32, ``[samples]``, integers of the file in [-1, 1).

    Args:
        source: the path of a file that ``soundfile`` reads (wav, flac, ogg, mp3 ...), its bytes, or an entry of an
            ``Audio`` column of ``datasets``: a mapping with ``path`` and ``bytes``, or with ``array`` and
            ``sampling_rate``. The shorter axis of an array of two is that of the channels.
        sampling_rate: Hz of the result; audio of another rate is resampled by a polyphase filter (rates above 65536
            Hz that have no small ratio to it by the nearest one, less than a millionth away).
        mix_channels: average channels instead of refusing audio that has several.

    Raises:
        ImportError: ``soundfile`` or ``scipy`` is missing (extra ``speech``).
        FileNotFoundError: no such file.
        TypeError: an ``array`` that is not of floats.
        ValueError: a file that is empty, truncated or no audio; an ``array`` without its rate or of other axes;
            several channels; samples that are not finite; before anything is decoded, a rate outside 1 kHz to 1 MHz,
            more than 64 channels or 4 hours, a file of more than 2500 samples a byte (2**24 are always allowed).
    """
    samples, rate, name = _decode(source, sampling_rate, mix_channels)
    if len(samples) == 0:
        raise ValueError(f"{name} is empty: it has no sample")
    if not np.isfinite(samples).all():
        raise ValueError(f"{name} has samples that are no finite numbers; repair the recording")
    if rate != sampling_rate:
        why = f"{name} has {rate} Hz and not {sampling_rate}; resampling needs scipy"
        resample_poly = require("scipy.signal", why, "speech").resample_poly
        ratio = Fraction(sampling_rate, rate).limit_denominator(_LARGEST_FILTER)
        samples = resample_poly(samples, ratio.numerator, ratio.denominator)
    return np.ascontiguousarray(samples, dtype=np.float32)


def _decode(source: Any, sampling_rate: int, mix_channels: bool) -> tuple[np.ndarray, int, str]:
    """``[samples]`` of one channel, Hz, and what to call it."""
    name = audio_name(source)
    if isinstance(source, Mapping) and source.get("array") is not None:
        array = np.asarray(source["array"])
        if not np.issubdtype(array.dtype, np.floating):
            raise TypeError(f"the array of {name} must be floats in [-1, 1), got {array.dtype}: divide by full scale")
        rate = source.get("sampling_rate")
        if not isinstance(rate, Real) or rate <= 0 or not float(rate).is_integer():
            raise ValueError(
                f"the array of {name} needs its sampling_rate, a whole number of Hz above 0, got {rate!r}"
            )
        array = _channels_last(array, name)
        _check_size(name, int(float(rate)), array.shape, array.nbytes, sampling_rate, mix_channels)
        return array.mean(axis=1, dtype=np.float32), int(float(rate)), name
    soundfile = require_soundfile()
    data = audio_bytes(source)
    _check_complete(data, name)
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate, expected = file.samplerate, file.frames
            is_estimate = file.format == "MP3"  # without an Info frame the length follows from size and bit rate
            read, blocks = 0, list[np.ndarray]()
            while not blocks or len(blocks[-1]):
                shape = (max(read, expected), file.channels)  # some formats hold more than they say
                _check_size(name, rate, shape, len(data), sampling_rate, mix_channels)
                blocks.append(file.read(_BLOCK, dtype="float32", always_2d=True).mean(axis=1))
                read += len(blocks[-1])
    except soundfile.LibsndfileError as error:
        raise ValueError(f"{name} is no audio file that soundfile can read: {error.error_string}") from error
    samples = np.concatenate(blocks)
    if len(samples) < expected and not is_estimate:
        raise ValueError(f"{name} is truncated: it has {len(samples)} samples of {expected}; copy it again")
    return samples, rate, name


def _check_size(
    name: str, rate: int, shape: tuple[int, ...], size: int, sampling_rate: int, mix_channels: bool
) -> None:
    """Raise for what no recording is: ``shape`` is ``[frames, channels]``, ``size`` the bytes that hold them."""
    frames, channels = shape
    if not _RATES[0] <= rate <= _RATES[1]:
        raise ValueError(
            f"{name} says that it has {rate} Hz, and audio has {_RATES[0]:,} to {_RATES[1]:,}; repair its header, or "
            "give the samples and their rate"
        )
    if channels > (_MOST_CHANNELS if mix_channels else 1):
        remedy = "average them with mix_channels=True, or choose one" if channels <= _MOST_CHANNELS else "choose one"
        raise ValueError(f"{name} has {channels} channels; {remedy}")
    if frames > _LONGEST * rate:
        raise ValueError(
            f"{name} would last {frames / rate / 3600:,.1f} hours, above {_LONGEST // 3600}: cut it into pieces"
        )
    samples = frames * max(sampling_rate, rate) // rate
    if samples > max(_ALWAYS_ALLOWED, _MOST_SAMPLES_OF_A_BYTE * size):
        raise ValueError(
            f"{name} would become {samples:,} samples out of {size:,} bytes, and a recording is not packed so small: "
            "cut it into pieces"
        )


def _channels_last(array: np.ndarray, name: str) -> np.ndarray:
    """``[samples, channels]``: ``Audio`` columns have had the channels on either axis."""
    if array.ndim == 1:
        return array[:, None]
    if array.ndim != 2 or (array.shape[0] == array.shape[1] and array.size > 1):
        raise ValueError(
            f"the array of {name} must be [samples], or have samples and fewer channels, got {array.shape}"
        )
    return array if array.shape[0] > array.shape[1] else array.T


def require_soundfile() -> Any:
    """The optional package ``soundfile``."""
    return require("soundfile", "audio files need soundfile", "speech")


def audio_name(source: Any) -> str:
    """What messages call a clip."""
    if isinstance(source, Mapping):
        source = source.get("path")
    return str(source) if isinstance(source, (str, Path)) and str(source) else "the audio"


def audio_bytes(source: Any) -> bytes:
    """The content of a file, or of an entry of an ``Audio`` column."""
    if isinstance(source, Mapping):
        source = source.get("path") if source.get("bytes") is None else source["bytes"]
        if source is None:
            raise ValueError("an entry of an Audio column needs a path, bytes or an array, and all are missing")
    return source if isinstance(source, bytes) else Path(source).read_bytes()


def _check_complete(data: bytes, name: str) -> None:
    """Raise for a file shorter than its header says: libsndfile reads what is there and says nothing."""
    if not data:
        raise ValueError(f"{name} is empty: the file has no byte")
    size = _size_in_header(data)
    if len(data) < size:
        raise ValueError(f"{name} is truncated: it has {len(data)} bytes of {size}; copy it again")


def _size_in_header(data: bytes) -> int:
    """Bytes up to the end of the samples, or of the file; 0 for other formats and where it is not said."""

    def number(place: int, width: int, order: Literal["big", "little"]) -> int:
        value = int.from_bytes(data[place : place + width], order)
        return 0 if value >= _UNKNOWN_SIZES[width] else value

    kind = data[:4]
    if kind == b"RF64":
        return number(20, 8, "little") + 8
    if kind == b"riff":  # w64
        return number(16, 8, "little")
    if kind == b".snd":
        return number(4, 4, "big") + number(8, 4, "big")
    if kind not in _CHUNKS:
        return 0
    end, width, order = _CHUNKS[kind]
    while end + 4 + width <= len(data):
        name, size = data[end : end + 4], number(end + 4, width, order)
        end += 4 + width + size
        if name in (b"data", b"SSND"):
            break
        end += end % 2 if width == 4 else 0  # chunks begin at even places
    return end


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
        name = audio_name(self.clips[index])
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


class ConcatenatedClips(ClipDataset):
    """Strings of clips drawn at random and put one after the other, with their texts, such as strings of digits.

    Args:
        clips, targets, prepare, sampling_rate, mix_channels: as in ``ClipDataset``; targets are texts, joined without
            a space.
        shortest, longest: clips of a string.
        size: strings of the data set.
        seed: makes string ``i`` the same whenever it is asked for; None draws a new one from the global generator of
            PyTorch, for training.

    Raises:
        ValueError: lengths that do not fit, no string; what ``ClipDataset`` raises.
    """

    def __init__(
        self,
        clips: Sequence[Any],
        targets: Sequence[str],
        prepare: Callable[[np.ndarray, Any], dict[str, Any]],
        sampling_rate: int,
        mix_channels: bool = False,
        *,
        shortest: int,
        longest: int,
        size: int,
        seed: int | None = None,
    ) -> None:
        super().__init__(clips, targets, prepare, sampling_rate, mix_channels)
        if not 1 <= shortest <= longest:
            raise ValueError(f"strings have 1 <= shortest <= longest clips, got {shortest} and {longest}")
        if size < 1:
            raise ValueError(f"size must be positive, got {size} strings")
        self.shortest, self.longest, self.size, self.seed = shortest, longest, size, seed

    def __len__(self) -> int:
        return self.size

    def draw(self, index: int) -> list[int]:
        """The clips of a string."""
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed * self.size + index)
        length = torch.randint(self.shortest, self.longest + 1, (), generator=generator)
        return torch.randint(len(self.clips), (int(length),), generator=generator).tolist()

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"string {index} of {self.size}")
        drawn = self.draw(index)
        wave = np.concatenate([self.waveform(clip) for clip in drawn])
        return self.prepare(wave, "".join(self.targets[clip] for clip in drawn))

    def check(self) -> None:
        """As in ``ClipDataset``: every clip, whether a string has it or not."""
        ClipDataset(self.clips, self.targets, self.prepare, self.sampling_rate, self.mix_channels).check()


def check_clips(parts: Mapping[str, ClipDataset]) -> None:
    """``ClipDataset.check`` of all parts, ``{name: part}``.

    Raises:
        ValueError: there are clips that cannot be used; the message names all of them, part by part.
    """
    bad = []
    for name, part in parts.items():
        try:
            part.check()
        except ValueError as error:
            bad.append(f"{name}: {error}")
    if bad:
        raise ValueError("\n".join(bad))
