# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Audio files as mono waveforms, and data sets of clips whose features are computed on access."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

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

_LONGEST = 4 * 3600  # seconds
_LARGEST_FILTER = 2**16  # the resampling filter has 20 times as many taps


def read_audio(source: Any, sampling_rate: int, mix_channels: bool = False) -> np.ndarray:
    """Read audio as a mono waveform ``[samples]`` in float32; integer formats are scaled to [-1, 1).

    Args:
        source: path of a file that ``soundfile`` reads (wav, flac, ogg, mp3 ...), its bytes, or an entry of an
            ``Audio`` column of ``datasets``: a mapping with ``path`` and ``bytes``, or with ``array`` and
            ``sampling_rate``. The shorter axis of a two-dimensional array is the channel axis.
        sampling_rate: sampling rate of the result in Hz. Other audio is resampled with a polyphase filter; a ratio of
            rates without a small denominator is approximated to one millionth.
        mix_channels: average the channels instead of rejecting audio with several.

    Raises:
        ImportError: ``soundfile`` or ``scipy`` is missing (extra ``speech``).
        FileNotFoundError: no such file.
        soundfile.LibsndfileError: not an audio file.
        TypeError: an ``array`` of integers.
        ValueError: no samples, audio longer than 4 hours, several channels, samples that are not finite.
    """
    samples, rate = _decode(source)
    name = audio_name(source)
    if samples.shape[1] > 1 and not mix_channels:
        raise ValueError(f"{name} must have one channel, got {samples.shape[1]}. Average them with mix_channels=True.")
    if not samples.size or not np.isfinite(samples).all():
        raise ValueError(
            f"{name} must have finite samples, got {'NaN or infinity' if samples.size else 'none'}. Remove it."
        )
    mono = samples.mean(axis=1, dtype=np.float32)
    if rate != sampling_rate:
        why = f"{name} has {rate} Hz and not {sampling_rate}; resampling needs scipy"
        resample_poly = require("scipy.signal", why, "speech").resample_poly
        ratio = Fraction(sampling_rate, rate).limit_denominator(_LARGEST_FILTER)
        mono = resample_poly(mono, ratio.numerator, ratio.denominator)
    return np.ascontiguousarray(mono, dtype=np.float32)


def _decode(source: Any) -> tuple[np.ndarray, int]:
    """Return ``[samples, channels]`` and the sampling rate."""
    if isinstance(source, Mapping) and source.get("array") is not None:
        return _channels_last(np.asarray(source["array"]), audio_name(source)), int(source["sampling_rate"])
    with _opened(source) as raw, require_soundfile().SoundFile(raw) as file:
        if file.frames > _LONGEST * file.samplerate:  # before the memory for it is allocated
            raise ValueError(
                f"{audio_name(source)} must last at most {_LONGEST // 3600} hours, got "
                f"{file.frames / file.samplerate / 3600:,.1f}. Cut it into pieces."
            )
        return file.read(dtype="float32", always_2d=True), file.samplerate


def _channels_last(array: np.ndarray, name: str) -> np.ndarray:
    """Return ``[samples, channels]``; ``Audio`` columns have had the channels on either axis."""
    if array.ndim not in (1, 2) or not np.issubdtype(array.dtype, np.floating):
        raise TypeError(
            f"array of {name} must be floats in [-1, 1), [samples] or [samples, channels], got {array.dtype} "
            f"{array.shape}. Divide integers by full scale."
        )
    if array.ndim == 1:
        return array[:, None]
    return array if array.shape[0] > array.shape[1] else array.T


def require_soundfile() -> Any:
    """Import the optional package ``soundfile``."""
    return require("soundfile", "audio files need soundfile", "speech")


def audio_name(source: Any) -> str:
    """Return the path of a clip, or "the audio", for messages."""
    if isinstance(source, Mapping):
        source = source.get("path")
    return str(source) if isinstance(source, (str, Path)) and str(source) else "the audio"


def _opened(source: Any) -> Any:
    """Return a binary file; errors of ``soundfile`` show its name."""
    if isinstance(source, Mapping):
        source = source.get("path") if source.get("bytes") is None else source["bytes"]
    return io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb")


def audio_bytes(source: Any) -> bytes:
    """Return the content of a file, or of an entry of an ``Audio`` column."""
    with _opened(source) as file:
        return bytes(file.read())


class ClipDataset(Dataset[dict[str, Any]]):
    """Audio clips with one label or transcript each; an item is read and its features are computed on access.

    Args:
        clips: sources for ``read_audio``.
        targets: the label or transcript of each clip.
        prepare: ``prepare(waveform, target)`` returns an item of the data set.
        sampling_rate, mix_channels: as in ``read_audio``.
        keep_items: keep every item in memory once it is computed.

    Raises:
        ValueError: different numbers of clips and targets.
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
        if len(clips) != len(targets):
            raise ValueError(f"clips and targets must have equal lengths, got {len(clips)} and {len(targets)}.")
        self.clips, self.targets, self.prepare = clips, targets, prepare
        self.sampling_rate, self.mix_channels = sampling_rate, mix_channels
        self.kept: dict[int, dict[str, Any]] | None = {} if keep_items else None

    def __len__(self) -> int:
        return len(self.clips)

    def waveform(self, index: int) -> np.ndarray:
        """Return the samples of a clip."""
        return read_audio(self.clips[index], self.sampling_rate, self.mix_channels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        if self.kept is not None and index in self.kept:
            return dict(self.kept[index])
        waveform = self.waveform(index)
        try:
            item = self.prepare(waveform, self.targets[index])
        except ValueError as error:  # which does not name the file
            raise ValueError(f"{self.name(index)}: {error}") from error
        if self.kept is not None:
            self.kept[index] = dict(item)
        return item

    def name(self, index: int) -> str:
        """Return the path of a clip, or its index, for messages."""
        name = audio_name(self.clips[index])
        return name if name != "the audio" else f"clip {index}"

    def check(self) -> None:
        """Compute every item once.

        Raises:
            ValueError: some clips cannot be read or prepared; the message lists all of them.
        """
        bad = []
        for index in range(len(self)):
            try:
                self[index]
            except Exception as error:  # soundfile and feature extractors have errors of their own
                message, name = str(error), self.name(index)
                bad.append(message if name in message else f"{name}: {message}")
        if bad:
            raise ValueError("\n  ".join([f"{len(bad)} of {len(self)} clips cannot be used:", *bad]))


class ConcatenatedClips(ClipDataset):
    """Randomly drawn clips concatenated to longer ones, with their transcripts, such as strings of digits.

    Args:
        clips, targets, prepare, sampling_rate, mix_channels: as in ``ClipDataset``; targets are transcripts, joined
            without a space.
        shortest, longest: smallest and largest number of clips in a string.
        size: number of strings in the data set.
        seed: makes string ``i`` the same on every access; None draws a new one from the global generator of PyTorch,
            for training.
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
        self.shortest, self.longest, self.size, self.seed = shortest, longest, size, seed

    def __len__(self) -> int:
        return self.size

    def draw(self, index: int) -> list[int]:
        """Return the indices of the clips of a string."""
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed * self.size + index)
        length = torch.randint(self.shortest, self.longest + 1, (), generator=generator)
        return torch.randint(len(self.clips), (int(length),), generator=generator).tolist()

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"index must lie in [0, {self.size}), got {index}")
        drawn = self.draw(index)
        wave = np.concatenate([self.waveform(clip) for clip in drawn])
        return self.prepare(wave, "".join(self.targets[clip] for clip in drawn))

    def check(self) -> None:
        """Compute the item of every clip once, whether a string contains it or not."""
        ClipDataset(self.clips, self.targets, self.prepare, self.sampling_rate, self.mix_channels).check()


def check_clips(parts: Mapping[str, ClipDataset]) -> None:
    """Run ``ClipDataset.check`` on all splits, ``{name: split}``.

    Raises:
        ValueError: some clips cannot be used; the message lists all of them by split.
    """
    bad = []
    for name, split in parts.items():
        try:
            split.check()
        except ValueError as error:
            bad.append(f"{name}: {error}")
    if bad:
        raise ValueError("\n".join(bad))
