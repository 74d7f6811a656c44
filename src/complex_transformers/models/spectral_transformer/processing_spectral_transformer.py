# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Feature extractor and tokenizer in one: what a model of speech reads and what it learns to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import BatchFeature, PreTrainedTokenizerBase, ProcessorMixin

from ...hub import HubMixin
from .feature_extraction_spectral_transformer import SpectralFeatureExtractor

__all__ = ["SpectralTransformerProcessor", "unknown_symbols"]


class SpectralTransformerProcessor(HubMixin, ProcessorMixin):
    """Audio to ``input_features`` and text to ``labels``; ``pad`` makes a batch of both, -100 where a text has ended.

    Args:
        feature_extractor: ``SpectralFeatureExtractor``.
        tokenizer: of the symbols: ``Wav2Vec2CTCTokenizer`` for CTC, any other for a decoder.

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

    @property
    def model_input_names(self) -> list[str]:
        """What a model with a head for text takes."""
        return [*self.feature_extractor.model_input_names, "labels"]

    def __call__(
        self,
        audio: Any = None,
        text: str | Sequence[str] | None = None,
        sampling_rate: int | None = None,
        padding: bool | str = True,
        return_attention_mask: bool | None = None,
        return_tensors: str | None = None,
    ) -> BatchFeature:
        """``input_features`` and ``attention_mask`` of audio, ``labels`` of text.

        Args:
            audio: one waveform or a list of them, as in ``SpectralFeatureExtractor``.
            text: one string for each waveform.
            sampling_rate: of the audio.
            padding, return_attention_mask, return_tensors: as in ``SpectralFeatureExtractor``.

        Raises:
            ValueError: nothing given, unequal numbers, a text without symbols or with some that the tokenizer does not
                know; and what the feature extractor raises.
        """
        if audio is None and text is None:
            raise ValueError("give audio, text or both")
        batch = BatchFeature()
        if audio is not None:
            batch = self.feature_extractor(
                audio,
                sampling_rate=sampling_rate,
                padding=padding,
                return_attention_mask=return_attention_mask,
                return_tensors=return_tensors,
            )
        if text is None:
            return batch
        texts = [text] if isinstance(text, str) else list(text)
        if audio is not None and len(texts) != len(batch["input_features"]):
            raise ValueError(
                f"each waveform needs one text, got {len(batch['input_features'])} waveforms and {len(texts)} texts"
            )
        labels = [self._labels(each, "text" if isinstance(text, str) else f"text {i}") for i, each in enumerate(texts)]
        if return_tensors is not None:
            batch["labels"] = _pad_labels(labels)
        else:
            batch["labels"] = labels[0] if isinstance(text, str) and audio is None else labels
        return batch

    def _labels(self, text: str, which: str) -> list[int]:
        """Ids of the symbols of a text."""
        ids: list[int] = self.tokenizer(text)["input_ids"]
        if not ids or not text.strip():
            raise ValueError(f"{which} has no symbol to learn: {text!r}; leave out the clip")
        if unknown := unknown_symbols(self.tokenizer, text):
            raise ValueError(
                f"{which} has symbols the tokenizer does not know: {unknown}; build the tokenizer on all transcripts, "
                "replace what stands for a blank or a space in it, or leave out the clip"
            )
        return ids

    def pad(self, features: Sequence[Mapping[str, Any]], **kwargs: Any) -> BatchFeature:
        """A batch of tensors of what calls for single clips gave: the collator of training.

        Args:
            features: ``input_features [T, feature_size]`` of each clip, and ``labels`` of all or of none.
            kwargs: of ``SequenceFeatureExtractor.pad``.
        """
        clips = [{"input_features": each["input_features"]} for each in features]
        batch = self.feature_extractor.pad(clips, **{"return_tensors": "pt", **kwargs})
        if "labels" in features[0]:
            batch["labels"] = _pad_labels([list(each["labels"]) for each in features])
        return batch


def unknown_symbols(tokenizer: PreTrainedTokenizerBase, text: str) -> list[str]:
    """What of a text a tokenizer cannot write: characters, and special tokens of CTC that are spelled out in it."""
    unknown_id, special = tokenizer.unk_token_id, set()
    if hasattr(tokenizer, "word_delimiter_token"):  # of CTC: it would read them as blanks and spaces
        special = {*tokenizer.all_special_tokens, tokenizer.word_delimiter_token}
    unknown = {token for token in special if token in text}
    if unknown_id in tokenizer(text)["input_ids"]:
        unknown |= {c for c in text if c != " " and unknown_id in tokenizer(c)["input_ids"]} or {text}
    return sorted(unknown)


def _pad_labels(labels: list[list[int]]) -> torch.Tensor:
    """``[B, longest]`` with -100, which losses leave out, after the end of each."""
    rows = [torch.tensor(row, dtype=torch.long) for row in labels]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
