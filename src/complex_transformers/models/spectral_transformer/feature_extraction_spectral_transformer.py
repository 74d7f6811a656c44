# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""From waveforms to frames of complex bins, of samples, or of real features for the real twin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from transformers import BatchFeature, SequenceFeatureExtractor
from transformers.audio_utils import mel_filter_bank

from ...nn import dct, frame, make_window, modulus, scale, short_time_dft, squared_modulus
from ...nn.checks import check_choice
from ...nn.short_time import WINDOWS
from ..base.hub import ReaderHubMixin

__all__ = ["COMPRESSIONS", "FEATURE_TYPES", "SpectralFeatureExtractor"]

FEATURE_TYPES = ("spectrum", "modulus", "phase", "frames", "log_mel", "mfcc")
COMPRESSIONS = ("none", "log")
# Zero of each unsigned, and full scale of each integer sample format.
_INTEGERS = {"int16": (0, 2**15), "int32": (0, 2**31), "uint8": (2**7, 2**7)}
# Squared bins of such samples are still finite in float32. Not a Python float, which would be infinite beside float16.
_LARGEST = np.float64(1e15)


class SpectralFeatureExtractor(ReaderHubMixin, SequenceFeatureExtractor):
    """Frames of a waveform and their short-time spectra (thesis, sections 5.2.1 and 5.4).

    A waveform is made zero mean and unit variance, cut into frames (the last filled up with zeros: no sample is left
    out), windowed and transformed. Integer samples become numbers in [-1, 1) first; silence becomes zeros.

    Args:
        feature_size: width of the features; follows from the others, and must fit them when it is given.
        sampling_rate: 8000 to 48000 Hz. Audio of another rate is refused.
        padding_value: of frames that fill a batch.
        feature_type: ``spectrum`` ``[real | imag]`` bins, scaled so that white noise of unit variance has E|z|^2 = 1;
            ``modulus`` and ``phase`` of it (|z| and z / |z|); ``frames`` windowed samples; ``log_mel``; ``mfcc``.
        window_length, hop_length: samples; default 25 and 10 ms. A hop is at most a window.
        window_type: ``hamming``, ``hann`` or ``rectangular``.
        compression: of the moduli of a spectrum: ``none``, or ``log`` log(1 + |z|), phases untouched.
        num_mel_bins, num_cepstra: of ``log_mel`` and ``mfcc``.
        normalize: False keeps the loudness, and makes pieces of a recording have the features of the recording.
        kwargs: ``padding_side``, ``return_attention_mask`` of ``SequenceFeatureExtractor``.

    Raises:
        ValueError, TypeError: sizes or names that do not fit; audio that is no mono waveform of ``sampling_rate``.

    Example:
        >>> from complex_transformers import SpectralFeatureExtractor
        >>> extractor = SpectralFeatureExtractor(sampling_rate=8000)
        >>> extractor([[0.1, -0.1] * 400], sampling_rate=8000, return_tensors="pt")["input_features"].shape
        torch.Size([1, 9, 202])
    """

    model_input_names: ClassVar[list[str]] = ["input_features", "attention_mask"]

    def __init__(
        self,
        feature_size: int | None = None,
        sampling_rate: int = 16000,
        padding_value: float = 0.0,
        feature_type: str = "spectrum",
        window_length: int | None = None,
        hop_length: int | None = None,
        window_type: str = "hamming",
        compression: str = "none",
        num_mel_bins: int = 80,
        num_cepstra: int = 13,
        normalize: bool = True,
        **kwargs: Any,
    ) -> None:
        numbers = {"sampling_rate": sampling_rate, "window_length": window_length, "hop_length": hop_length}
        for name, value in {**numbers, "num_mel_bins": num_mel_bins, "num_cepstra": num_cepstra}.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
                raise ValueError(f"{name} must be a whole number above 0, got {value!r}")
        if not 8000 <= sampling_rate <= 48000:
            raise ValueError(f"sampling_rate must be 8000 to 48000 Hz, got {sampling_rate}")
        check_choice("feature_type", feature_type, FEATURE_TYPES)
        check_choice("window_type", window_type, WINDOWS)
        check_choice("compression", compression, COMPRESSIONS)
        self.feature_type = feature_type
        self.window_length = round(0.025 * sampling_rate) if window_length is None else window_length
        self.hop_length = round(0.01 * sampling_rate) if hop_length is None else hop_length
        if self.hop_length > self.window_length:
            raise ValueError(
                f"hop_length={self.hop_length} must be at most window_length={self.window_length}: samples between "
                "two windows would be left out"
            )
        self.window_type = window_type  # not `window`: Transformers leaves an attribute of that name out of the file
        self.compression = compression
        self.num_mel_bins = num_mel_bins
        self.num_cepstra = num_cepstra
        self.normalize = normalize
        if compression != "none" and feature_type not in ("spectrum", "modulus"):
            raise ValueError(
                f"compression={compression!r} is for the moduli of a spectrum, not for feature_type={feature_type!r}"
            )
        if feature_type == "mfcc" and not 1 <= num_cepstra <= num_mel_bins:
            raise ValueError(f"num_cepstra must be 1 to num_mel_bins={num_mel_bins}, got {num_cepstra}")
        size = {"frames": self.window_length, "log_mel": num_mel_bins, "mfcc": num_cepstra}.get(
            feature_type, 2 * self.num_bins
        )
        if feature_size not in (None, size):
            raise ValueError(f"these settings make features of width {size}, got feature_size={feature_size}")
        super().__init__(feature_size=size, sampling_rate=sampling_rate, padding_value=padding_value, **kwargs)

    @property
    def num_bins(self) -> int:
        """Frequencies of a spectrum, from 0 to half the sampling rate."""
        return self.window_length // 2 + 1

    def __call__(
        self,
        raw_speech: Any,
        sampling_rate: int | None = None,
        padding: bool | str = True,
        max_length: int | None = None,
        truncation: bool = False,
        pad_to_multiple_of: int | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: str | None = None,
    ) -> BatchFeature:
        """Features ``input_features [B, T, feature_size]`` and the ``attention_mask [B, T]`` of frames.

        Args:
            raw_speech: one waveform (array, tensor or list of numbers) or a list of waveforms.
            sampling_rate: of the audio; must be given.
            padding, max_length, truncation, pad_to_multiple_of, return_attention_mask, return_tensors: as in
                ``SequenceFeatureExtractor.pad``; lengths are frames.

        Raises:
            ValueError: no or another sampling rate, an empty input, several channels, a clip shorter than a window,
                samples that are not finite or beyond 1e15, a tensor that requires gradients.
            TypeError: no samples, such as a path; samples that are no floats and no format of integers above.
        """
        if sampling_rate is None:
            raise ValueError(f"give sampling_rate: frequencies are those of audio at {self.sampling_rate} Hz only")
        if sampling_rate != self.sampling_rate:
            raise ValueError(
                f"the audio has {sampling_rate} Hz and this extractor is made for {self.sampling_rate} Hz; resample "
                "it, for instance with scipy.signal.resample_poly"
            )
        features = [self._features(waveform) for waveform in self._waveforms(raw_speech)]
        return self.pad(
            BatchFeature({"input_features": features}),
            padding=padding,
            max_length=max_length,
            truncation=truncation,
            pad_to_multiple_of=pad_to_multiple_of,
            return_attention_mask=return_attention_mask,
            return_tensors=return_tensors,
        )

    def _waveforms(self, raw_speech: Any) -> list[np.ndarray]:
        """Checked waveforms as float arrays."""
        one = not isinstance(raw_speech, Sequence) or (len(raw_speech) > 0 and np.ndim(raw_speech[0]) == 0)
        waveforms = [raw_speech] if one else list(raw_speech)
        if not waveforms:
            raise ValueError("there is no audio: the list of waveforms is empty")
        return [self._waveform(w, "" if one else f" {i}") for i, w in enumerate(waveforms)]

    def _waveform(self, given: Any, which: str) -> np.ndarray:
        if isinstance(given, Tensor):
            if given.requires_grad:
                raise ValueError(f"waveform{which} requires gradients, which end at features: give waveform.detach()")
            given = given.cpu().float() if given.dtype == torch.bfloat16 else given.cpu()  # NumPy has no bfloat16
        samples = np.asarray(given)
        if samples.ndim == 0:
            raise TypeError(
                f"waveform{which} must be an array of samples, got {type(given).__name__}; read_audio reads files"
            )
        if samples.ndim != 1:
            raise ValueError(
                f"waveform{which} must be one channel of samples, got shape {samples.shape}; average the channels, "
                "for instance audio.mean(axis=0), or give several waveforms as a list of arrays"
            )
        if samples.dtype.name in _INTEGERS:
            zero, full_scale = _INTEGERS[samples.dtype.name]
            samples = (samples.astype(np.float64) - zero) / full_scale
        elif not np.issubdtype(samples.dtype, np.floating):
            raise TypeError(
                f"waveform{which} has dtype {samples.dtype}: give floats, or integers of a wav file "
                f"({', '.join(sorted(_INTEGERS))})"
            )
        if len(samples) < self.window_length:
            raise ValueError(
                f"waveform{which} has {len(samples)} samples, less than one window of {self.window_length} "
                f"({1000 * self.window_length / self.sampling_rate:g} ms); leave it out or pad it with zeros"
            )
        if len(bad := np.flatnonzero(~(np.abs(samples) <= _LARGEST))):  # not a number is not smaller either
            raise ValueError(
                f"waveform{which} has {len(bad)} samples that are no finite numbers or beyond {_LARGEST:g}, the first "
                f"at {bad[0]}; repair the recording, for instance with numpy.nan_to_num, or divide it by full scale"
            )
        return samples

    def _features(self, samples: np.ndarray) -> np.ndarray:
        """``[N] -> [T, feature_size]`` in float32."""
        samples = samples.astype(np.float64)
        if self.normalize:
            samples = samples - samples.mean()
            deviation = samples.std()
            samples = samples / deviation if deviation > 1e-7 else np.zeros_like(samples)
        wave = torch.from_numpy(samples.astype(np.float32))
        window = make_window(self.window_type, self.window_length)
        if self.feature_type == "frames":
            return (frame(wave, self.window_length, self.hop_length, pad_end=True) * window).numpy()
        energy = float(window.square().sum())
        spectrum = short_time_dft(wave, window, self.hop_length, pad_end=True) / energy**0.5
        return self._of_spectrum(spectrum).numpy()

    def _of_spectrum(self, spectrum: Tensor) -> Tensor:
        if self.feature_type in ("log_mel", "mfcc"):
            bank = _mel_bank(self.num_bins, self.num_mel_bins, self.sampling_rate)
            mel = (squared_modulus(spectrum) @ bank).clamp(min=1e-10).log()
            return mel if self.feature_type == "log_mel" else dct(mel)[..., : self.num_cepstra] / self.num_mel_bins
        size = modulus(spectrum)
        unit = scale(spectrum, size.clamp(min=torch.finfo(size.dtype).tiny).reciprocal())
        if self.feature_type == "phase":
            return unit
        size = size.log1p() if self.compression == "log" else size
        if self.feature_type == "modulus":
            return torch.cat([size, torch.zeros_like(size)], dim=-1)
        return spectrum if self.compression == "none" else scale(unit, size)


@lru_cache(maxsize=8)
def _mel_bank(num_bins: int, num_mel_bins: int, sampling_rate: int) -> Tensor:
    """Triangles on the mel scale, ``[bins, num_mel_bins]``."""
    bank = mel_filter_bank(num_bins, num_mel_bins, 0.0, sampling_rate / 2, sampling_rate)
    return torch.from_numpy(bank).float()
