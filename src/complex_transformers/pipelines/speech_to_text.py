# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The pipeline of encoder-decoder models for speech: audio in, text out."""

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
    """``pipeline("complex-speech2text")``: speech recognition by models that ``generate()``.

    Transformers' ``automatic-speech-recognition`` treats every model outside its own list as a CTC model; use it for
    models with a CTC head. Inputs and arguments are the same here, except that audio is resampled by scipy, several
    channels raise an error, and greedy search is the default.

    Args:
        model: an encoder-decoder model for speech, as ``AutoModelForSpeechSeq2Seq`` loads it.
        feature_extractor, tokenizer, device, kwargs: as in ``AutomaticSpeechRecognitionPipeline``.

    Raises:
        ValueError: the model has no decoder, the tokenizer was made for CTC, ``return_timestamps`` or
            ``chunk_length_s`` is given (they need CTC frames), or ``read_audio`` raises.
    """

    _default_generation_config = GenerationConfig(max_new_tokens=256)

    def __init__(self, model: Any, *args: Any, **kwargs: Any) -> None:
        name = type(model).__name__
        if not getattr(model.config, "is_encoder_decoder", False) or not model.can_generate():
            raise ValueError(
                f"model must be an encoder-decoder for {SPEECH_TO_TEXT_TASK!r}, got {name}. Use "
                "'automatic-speech-recognition' for CTC models."
            )
        super().__init__(model, *args, **kwargs)
        self.type = "seq2seq"
        if hasattr(self.tokenizer, "word_delimiter_token"):
            raise ValueError(
                f"tokenizer must not be made for CTC, got {type(self.tokenizer).__name__}, which merges repeated "
                "symbols. Use build_tokenizer(texts, kind='character', append_eos=True)."
            )

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        for name in ("return_timestamps", "chunk_length_s", "stride_length_s"):
            if kwargs.get(name):
                raise ValueError(
                    f"{name} must not be given without a CTC model, got {kwargs[name]!r}. Cut the audio at pauses."
                )
        return super()._sanitize_parameters(**kwargs)

    def preprocess(self, inputs: Any, **kwargs: Any) -> Iterator[dict[str, Any]]:
        """Resample with scipy and reject several channels, then preprocess as Transformers does."""
        samples = inputs
        if isinstance(inputs, Mapping):
            samples = inputs.get("array") if inputs.get("raw") is None else inputs["raw"]
        if isinstance(samples, (np.ndarray, torch.Tensor)) and samples.ndim > 1:
            raise ValueError(
                f"inputs must be one waveform [samples], got shape {tuple(samples.shape)}. Average or select channels."
            )
        yield from super().preprocess(at_rate(inputs, self.feature_extractor.sampling_rate), **kwargs)
