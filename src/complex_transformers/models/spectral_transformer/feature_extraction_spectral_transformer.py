# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Feature extractor for speech: waveforms to frames of complex bins, windowed samples, log-mel or MFCC features."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from transformers import BatchFeature, SequenceFeatureExtractor
from transformers.audio_utils import mel_filter_bank

from ...nn import dct, frame, make_window, modulus, scale, short_time_dft, squared_modulus
from ...nn.checks import check_choice, check_positive
from ...nn.short_time import WINDOWS
from ..base.hub import ProcessorHubMixin

__all__ = ["COMPRESSIONS", "FEATURE_TYPES", "SpectralFeatureExtractor"]

FEATURE_TYPES = ("spectrum", "modulus", "phase", "frames", "log_mel", "mfcc")
COMPRESSIONS = ("none", "log")
# Integer sample format -> its zero level and its full scale.
_INTEGERS = {"int16": (0, 2**15), "int32": (0, 2**31), "uint8": (2**7, 2**7)}
# Squared bins of samples up to this are finite in float32. A Python float would become infinite beside float16.
_LARGEST = np.float64(1e15)


class SpectralFeatureExtractor(ProcessorHubMixin, SequenceFeatureExtractor):
    """Short-time spectra, frames or mel features of waveforms (thesis, sections 5.2.1 and 5.4).

    A waveform is normalized to zero mean and unit variance, cut into frames (the last one zero-padded), windowed and
    transformed. Integer samples are first scaled to [-1, 1). Silence gives zeros.

    Args:
        feature_size: width of the features. It follows from the other arguments and must match them if given.
        sampling_rate: sampling rate of the audio in Hz.
        padding_value: value of padded frames.
        feature_type: ``spectrum``, ``[real | imag]`` bins scaled so that white noise of unit variance has E|z|^2 = 1;
            ``modulus`` |z| or ``phase`` z / |z| of the spectrum; ``frames``, windowed samples; ``log_mel``; ``mfcc``.
        window_length, hop_length: in samples, default 25 and 10 ms. ``hop_length`` is at most ``window_length``.
        window_type: ``hamming``, ``hann`` or ``rectangular``.
        compression: ``log`` maps the moduli of ``spectrum`` or ``modulus`` to log(1 + |z|) and keeps the phases;
            ``none`` keeps both.
        num_mel_bins: number of mel bins of ``log_mel`` and ``mfcc``.
        num_cepstra: number of coefficients of ``mfcc``, at most ``num_mel_bins``.
        normalize: False keeps the loudness, so that a segment has the same features as within the whole recording.
        kwargs: ``padding_side`` and ``return_attention_mask`` of ``SequenceFeatureExtractor``.

    Raises:
        ValueError: sizes or names that are not valid.

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
        choices = {"feature_type": (feature_type, FEATURE_TYPES), "window_type": (window_type, WINDOWS)}
        for name, (value, valid) in {**choices, "compression": (compression, COMPRESSIONS)}.items():
            check_choice(name, value, valid)
        self.feature_type = feature_type
        self.window_length = round(0.025 * sampling_rate) if window_length is None else window_length
        self.hop_length = round(0.01 * sampling_rate) if hop_length is None else hop_length
        check_positive(window_length=self.window_length, hop_length=self.hop_length, num_mel_bins=num_mel_bins)
        if self.hop_length > self.window_length:  # samples between two windows would be lost
            raise ValueError(f"hop_length must be at most window_length={self.window_length}, got {self.hop_length}.")
        self.window_type = window_type  # Transformers does not save an attribute named `window`
        self.compression = compression
        self.num_mel_bins = num_mel_bins
        self.num_cepstra = num_cepstra
        self.normalize = normalize
        if feature_type == "mfcc" and not 1 <= num_cepstra <= num_mel_bins:
            raise ValueError(f"num_cepstra must be in [1, num_mel_bins={num_mel_bins}], got {num_cepstra}.")
        size = {"frames": self.window_length, "log_mel": num_mel_bins, "mfcc": num_cepstra}.get(
            feature_type, 2 * self.num_bins
        )
        if feature_size not in (None, size):
            raise ValueError(f"feature_size must be {size} with these settings, got {feature_size}. Leave it out.")
        super().__init__(feature_size=size, sampling_rate=sampling_rate, padding_value=padding_value, **kwargs)

    @property
    def num_bins(self) -> int:
        """Number of frequency bins, from 0 to half the sampling rate."""
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
        """Return ``input_features [B, T, feature_size]`` and the ``attention_mask [B, T]`` of frames.

        Args:
            raw_speech: one mono waveform (array, tensor or list of samples) or a list of waveforms.
            sampling_rate: sampling rate of the audio; required.
            padding, max_length, truncation, pad_to_multiple_of, return_attention_mask, return_tensors: see
                ``SequenceFeatureExtractor.pad``; lengths are in frames.

        Raises:
            ValueError: no or another sampling rate, several channels, a clip shorter than a window, samples that are
                not finite or above 1e15.
            TypeError: complex samples or an integer format other than int16, int32 and uint8.
        """
        if sampling_rate != self.sampling_rate:
            raise ValueError(f"sampling_rate must be {self.sampling_rate}, got {sampling_rate}. Resample the audio.")
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
        one = not isinstance(raw_speech, Sequence) or (len(raw_speech) > 0 and np.ndim(raw_speech[0]) == 0)
        waveforms = [raw_speech] if one else list(raw_speech)
        return [self._waveform(w, "" if one else f" {i}") for i, w in enumerate(waveforms)]

    def _waveform(self, given: Any, which: str) -> np.ndarray:
        if isinstance(given, Tensor):
            given = given.cpu().float() if given.dtype == torch.bfloat16 else given.cpu()  # NumPy has no bfloat16
        samples = np.asarray(given)
        if samples.ndim != 1:
            kind = f"{type(given).__name__} of shape {samples.shape}"
            raise ValueError(f"waveform{which} must be a 1-D array, got {kind}. Average the channels.")
        if samples.dtype.name in _INTEGERS:
            zero, full_scale = _INTEGERS[samples.dtype.name]
            samples = (samples.astype(np.float64) - zero) / full_scale
        elif not np.issubdtype(samples.dtype, np.floating):
            raise TypeError(f"waveform{which} must be floats, int16, int32 or uint8, got {samples.dtype}.")
        if len(samples) < self.window_length:
            size = self.window_length
            raise ValueError(f"waveform{which} must have at least {size} samples, got {len(samples)}. Drop or pad it.")
        if len(bad := np.flatnonzero(~(np.abs(samples) <= _LARGEST))):  # also true for NaN
            found = f"{samples[bad[0]]} at sample {bad[0]}"
            raise ValueError(f"waveform{which} must be finite and at most {_LARGEST:g}, got {found}. Rescale it.")
        return samples

    def _features(self, samples: np.ndarray) -> np.ndarray:
        """Compute the features of samples ``[N]``: ``[T, feature_size]`` in float32."""
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
    """Return the triangular mel filters, ``[bins, num_mel_bins]``."""
    bank = mel_filter_bank(num_bins, num_mel_bins, 0.0, sampling_rate / 2, sampling_rate)
    return torch.from_numpy(bank).float()
