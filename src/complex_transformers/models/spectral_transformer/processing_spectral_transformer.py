# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Processor for speech recognition: a feature extractor for the audio and a tokenizer for the labels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import BatchFeature, PreTrainedTokenizerBase, ProcessorMixin
from transformers.processing_utils import ProcessingKwargs, Unpack
from transformers.utils import cached_file

from ..base.hub import ProcessorHubMixin
from .feature_extraction_spectral_transformer import SpectralFeatureExtractor

__all__ = ["SpectralTransformerProcessor", "unknown_symbols"]

_LENGTHS = {"padding", "truncation", "max_length", "pad_to_multiple_of", "return_tensors"}
_AUDIO = {*_LENGTHS, "sampling_rate", "return_attention_mask"}
_TEXT = {*_LENGTHS, "add_special_tokens"}
_ACCESS = ("cache_dir", "force_download", "local_files_only", "token", "revision", "subfolder")


class SpectralTransformerProcessor(ProcessorHubMixin, ProcessorMixin):
    """Converts audio to ``input_features`` and text to ``labels``; ``pad`` collates both, labels with -100.

    Args:
        feature_extractor: a ``SpectralFeatureExtractor``.
        tokenizer: a ``Wav2Vec2CTCTokenizer`` for CTC, any tokenizer for an encoder-decoder model.

    Example:
        >>> from complex_transformers import SpectralFeatureExtractor, SpectralTransformerProcessor
        >>> from complex_transformers import build_ctc_tokenizer
        >>> processor = SpectralTransformerProcessor(SpectralFeatureExtractor(), build_ctc_tokenizer(["ba", "bada"]))
        >>> inputs = processor(audio=[0.1, -0.1] * 400, text="ba", sampling_rate=16000)
        >>> processor.tokenizer.decode(inputs.labels[0])
        'ba'
    """

    def __init__(self, feature_extractor: SpectralFeatureExtractor, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__(feature_extractor, tokenizer)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike[str], **kwargs: Any) -> Any:
        """Load a processor; ``AutoProcessor`` loads the feature extractor alone if the tokenizer is missing.

        Raises:
            OSError: the tokenizer is missing and the call is not from ``AutoProcessor``.
        """
        access = {name: kwargs[name] for name in _ACCESS if name in kwargs}
        options = {**access, "_raise_exceptions_for_missing_entries": False}
        if cached_file(pretrained_model_name_or_path, "tokenizer_config.json", **options) is not None:
            return super().from_pretrained(pretrained_model_name_or_path, **kwargs)
        if kwargs.pop("_from_auto", False):
            return SpectralFeatureExtractor.from_pretrained(pretrained_model_name_or_path, **kwargs)
        raise OSError(
            f"{pretrained_model_name_or_path} must have a tokenizer, got none. Load it with SpectralFeatureExtractor."
        )

    @property
    def model_input_names(self) -> list[str]:
        """Names of the features and of the labels."""
        return [*self.feature_extractor.model_input_names, "labels"]

    def __call__(
        self, audio: Any = None, text: str | Sequence[str] | None = None, **kwargs: Unpack[ProcessingKwargs]
    ) -> BatchFeature:
        """Return ``input_features`` and ``attention_mask`` of audio and ``labels`` of text.

        Args:
            audio: one waveform or a list of waveforms, see ``SpectralFeatureExtractor``.
            text: one string per waveform.
            kwargs: ``sampling_rate`` and ``return_attention_mask`` for audio; ``add_special_tokens`` for text;
                ``padding``, ``truncation``, ``max_length``, ``pad_to_multiple_of`` and ``return_tensors`` for both, in
                frames and in tokens. ``audio_kwargs`` and ``text_kwargs`` set them for one of the two. With
                ``return_tensors`` padding is on by default; labels are padded with -100 on the right.

        Raises:
            ValueError: neither audio nor text, a text without tokens or with characters outside the vocabulary; see
                also ``SpectralFeatureExtractor``.
        """
        if audio is None and text is None:
            raise ValueError("audio or text must be given, got neither.")
        batch = BatchFeature()
        if audio is not None:  # Transformers would truncate and pad audio by the settings of the tokenizer
            options = self._merge_kwargs(self.valid_processor_kwargs, **kwargs)["audio_kwargs"]
            batch = self.feature_extractor(audio, **{name: options[name] for name in options.keys() & _AUDIO})
        if text is None:
            return batch
        texts = [text] if isinstance(text, str) else list(text)
        init_kwargs = self.tokenizer.init_kwargs
        options = self._merge_kwargs(self.valid_processor_kwargs, tokenizer_init_kwargs=init_kwargs, **kwargs)
        options = {name: value for name, value in options["text_kwargs"].items() if name in _TEXT}
        return_tensors = options.pop("return_tensors", None)
        labels = self._labels(texts, **{"padding": return_tensors is not None, **options})
        if isinstance(text, str) and audio is None and return_tensors is None:
            batch["labels"] = labels[0]
        else:
            batch.update(BatchFeature({"labels": labels}, tensor_type=return_tensors))
        return batch

    def _labels(self, texts: list[str], **options: Any) -> list[list[int]]:
        """Return the token ids of each text, padded with -100."""
        for row, text in enumerate(texts):
            if unknown := unknown_symbols(self.tokenizer, text):
                raise ValueError(f"text {row} must have known characters, got {unknown}. Replace or drop it.")
        # A decoder needs its labels padded on the right, whatever the padding side of the tokenizer.
        encoded = self.tokenizer(texts, **{**options, "return_attention_mask": True, "padding_side": "right"})
        for row, (text, seen) in enumerate(zip(texts, encoded["attention_mask"], strict=True)):
            if not any(seen) or not text.strip():
                raise ValueError(f"text {row} must have at least one token, got {text!r}. Drop the clip.")
        rows = zip(encoded["input_ids"], encoded["attention_mask"], strict=True)
        return [[i if seen else -100 for i, seen in zip(*row, strict=True)] for row in rows]

    def pad(self, features: Sequence[Mapping[str, Any]], **kwargs: Any) -> BatchFeature:
        """Collate examples into a batch of tensors.

        Args:
            features: one mapping per clip with ``input_features [T, feature_size]`` and optionally ``labels``.
            kwargs: see ``SequenceFeatureExtractor.pad``.
        """
        clips = [{"input_features": each["input_features"]} for each in features]
        batch = self.feature_extractor.pad(clips, **{"return_tensors": "pt", **kwargs})
        if "labels" in features[0]:
            labels = [torch.tensor(list(each["labels"]), dtype=torch.long) for each in features]
            batch["labels"] = torch.nn.utils.rnn.pad_sequence(labels, batch_first=True, padding_value=-100)
        return batch


def unknown_symbols(tokenizer: PreTrainedTokenizerBase, text: str) -> list[str]:
    """Return the parts of a text that a tokenizer cannot encode.

    These are unknown characters and, for a CTC tokenizer, special tokens spelled out in the text.
    """
    unknown_id, special = tokenizer.unk_token_id, set()
    if hasattr(tokenizer, "word_delimiter_token"):  # a CTC tokenizer: it would encode them as blanks and spaces
        special = {*tokenizer.all_special_tokens, tokenizer.word_delimiter_token}
    unknown = {token for token in special if token in text}
    if unknown_id in tokenizer(text)["input_ids"]:
        unknown |= {c for c in text if c != " " and unknown_id in tokenizer(c)["input_ids"]} or {text}
    return sorted(unknown)
