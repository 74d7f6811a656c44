# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Audio in, text out: the task of encoder-decoder models of speech."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from transformers import AutomaticSpeechRecognitionPipeline, GenerationConfig

from ..models.base.hub import SPEECH_TO_TEXT_TASK
from .resampling import at_rate

__all__ = ["SpeechToTextPipeline"]


class SpeechToTextPipeline(AutomaticSpeechRecognitionPipeline):
    """``pipeline("complex-speech2text")``: Transformers' speech recognition for models that ``generate()``.

    Its ``automatic-speech-recognition`` takes every model that is not in its own list for one of CTC. Inputs and
    arguments are the same, but that samples of another rate are resampled by scipy, several channels are refused, and
    one beam is the default; models with a CTC head have their place there.

    Args:
        model: an encoder-decoder model of speech, as ``AutoModelForSpeechSeq2Seq`` loads it.
        feature_extractor, tokenizer, device, kwargs: as in ``AutomaticSpeechRecognitionPipeline``.

    Raises:
        ValueError: a model without a decoder, a tokenizer made for CTC; ``return_timestamps``, ``stride`` or
            ``chunk_length_s``, which need the frames of CTC; samples that ``read_audio`` refuses.
    """

    _default_generation_config = GenerationConfig(max_new_tokens=256)

    def __init__(self, model: Any, *args: Any, **kwargs: Any) -> None:
        name = type(model).__name__
        if not getattr(model.config, "is_encoder_decoder", False) or not model.can_generate():
            raise ValueError(
                f"{name} cannot generate text: {SPEECH_TO_TEXT_TASK!r} needs an encoder-decoder model, as "
                "AutoModelForSpeechSeq2Seq loads them; CTC is 'automatic-speech-recognition'"
            )
        super().__init__(model, *args, **kwargs)
        self.type = "seq2seq"
        if hasattr(self.tokenizer, "word_delimiter_token"):
            raise ValueError(
                f"{type(self.tokenizer).__name__} merges equal symbols that follow one another, which CTC needs and a "
                "decoder does not write: train and load the model with another tokenizer, for instance "
                "build_tokenizer(texts, kind='character', append_eos=True)"
            )

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        for name in ("return_timestamps", "chunk_length_s", "stride_length_s"):
            if kwargs.get(name):
                raise ValueError(
                    f"{name}={kwargs[name]!r} needs the frames of a CTC model ('automatic-speech-recognition'); cut "
                    "long audio at pauses and transcribe the pieces"
                )
        return super()._sanitize_parameters(**kwargs)

    def preprocess(self, inputs: Any, **kwargs: Any) -> Iterator[dict[str, Any]]:
        """As in Transformers, which would average channels and needs torchaudio for another rate."""
        samples = inputs
        if isinstance(inputs, Mapping):
            samples = inputs.get("array") if inputs.get("raw") is None else inputs["raw"]
        if isinstance(samples, (np.ndarray, torch.Tensor)) and samples.ndim > 1:
            raise ValueError(
                f"one waveform [samples] is transcribed, got {tuple(samples.shape)}; average or choose the channels"
            )
        yield from super().preprocess(at_rate(inputs, self.feature_extractor.sampling_rate), **kwargs)
