# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Audio of any sampling rate for our models, without the torchaudio that Transformers' speech pipelines need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from transformers import AudioClassificationPipeline, AutomaticSpeechRecognitionPipeline

from ..data.audio import read_audio
from ..models.base.pretrained import ComplexPreTrainedModel

if TYPE_CHECKING:
    from transformers import Pipeline as _Pipeline
else:
    _Pipeline = object

__all__ = ["ResampledAudioClassificationPipeline", "ResampledSpeechRecognitionPipeline", "at_rate"]


def at_rate(inputs: Any, sampling_rate: int, mix_channels: bool = False) -> Any:
    """Resample the input of a pipeline to ``sampling_rate`` with ``read_audio``; return other inputs unchanged.

    Args:
        inputs: a mapping with ``raw`` or ``array`` and their ``sampling_rate``; ``stride``, in samples, is scaled. The
            mapping itself is not changed.
        sampling_rate: rate of the model, in Hz.
        mix_channels: average the channels.
    """
    if not isinstance(inputs, Mapping) or inputs.get("sampling_rate", sampling_rate) == sampling_rate:
        return inputs
    samples = inputs.get("array") if inputs.get("raw") is None else inputs["raw"]
    if samples is None:
        return inputs
    rate = inputs["sampling_rate"]
    wave = read_audio({"array": samples, "sampling_rate": rate}, sampling_rate, mix_channels)
    others = {name: value for name, value in inputs.items() if name not in ("array", "path")}
    inputs = {**others, "raw": wave, "sampling_rate": sampling_rate}
    if inputs.get("stride") is not None:
        inputs["stride"] = tuple(round(samples * sampling_rate / rate) for samples in inputs["stride"])
    return inputs


class _ResampledPipeline(_Pipeline):
    mix_channels = False

    def preprocess(self, inputs: Any, **kwargs: Any) -> Any:
        """Resample for models of this package, then preprocess as Transformers does."""
        if isinstance(self.model, ComplexPreTrainedModel):
            inputs = at_rate(inputs, self.feature_extractor.sampling_rate, self.mix_channels)
        return super().preprocess(inputs, **kwargs)


class ResampledAudioClassificationPipeline(_ResampledPipeline, AudioClassificationPipeline):
    """``pipeline("audio-classification")`` with resampling for models of this package; other models are unchanged."""


class ResampledSpeechRecognitionPipeline(_ResampledPipeline, AutomaticSpeechRecognitionPipeline):
    """``pipeline("automatic-speech-recognition")`` with resampling for models of this package only."""

    mix_channels = True  # as Transformers does it
