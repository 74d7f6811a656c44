# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Feature extractor and tokenizer in one: what a model of speech reads and what it learns to write."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import BatchFeature, PreTrainedTokenizerBase, ProcessorMixin
from transformers.processing_utils import ProcessingKwargs, Unpack
from transformers.utils import cached_file

from ..base.hub import ReaderHubMixin
from .feature_extraction_spectral_transformer import SpectralFeatureExtractor

__all__ = ["SpectralTransformerProcessor", "unknown_symbols"]

# Transformers would warn of others, and go on without them.
_LENGTHS = {"padding", "truncation", "max_length", "pad_to_multiple_of", "return_tensors"}
_AUDIO = {*_LENGTHS, "sampling_rate", "return_attention_mask"}
_TEXT = {*_LENGTHS, "add_special_tokens"}
_ACCESS = ("cache_dir", "force_download", "local_files_only", "token", "revision", "subfolder")
_GROUPS = {"audio_kwargs": _AUDIO, "text_kwargs": _TEXT, "common_kwargs": _AUDIO | _TEXT}


class SpectralTransformerProcessor(ReaderHubMixin, ProcessorMixin):
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

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike[str], **kwargs: Any) -> Any:
        """As in Transformers; ``AutoProcessor`` gets the feature extractor where it stands alone, without a tokenizer.

        Raises:
            OSError: no tokenizer, asked for by the name of this class.
        """
        access = {name: kwargs[name] for name in _ACCESS if name in kwargs}
        options = {**access, "_raise_exceptions_for_missing_entries": False}
        if cached_file(pretrained_model_name_or_path, "tokenizer_config.json", **options) is not None:
            return super().from_pretrained(pretrained_model_name_or_path, **kwargs)
        if kwargs.pop("_from_auto", False):
            return SpectralFeatureExtractor.from_pretrained(pretrained_model_name_or_path, **kwargs)
        raise OSError(
            f"{pretrained_model_name_or_path} has no tokenizer, which a model without a head for text does not need: "
            "load SpectralFeatureExtractor, or save a processor there"
        )

    @property
    def model_input_names(self) -> list[str]:
        """What a model with a head for text takes."""
        return [*self.feature_extractor.model_input_names, "labels"]

    def __call__(
        self, audio: Any = None, text: str | Sequence[str] | None = None, **kwargs: Unpack[ProcessingKwargs]
    ) -> BatchFeature:
        """``input_features`` and ``attention_mask`` of audio, ``labels`` of text.

        Args:
            audio: one waveform or a list of them, as in ``SpectralFeatureExtractor``.
            text: one string for each waveform.
            kwargs: ``sampling_rate`` and ``return_attention_mask`` of audio, ``add_special_tokens`` of text, and
                ``padding``, ``truncation``, ``max_length``, ``pad_to_multiple_of``, ``return_tensors`` of both, in
                frames and in symbols; ``audio_kwargs`` and ``text_kwargs`` hold those of one. Tensors are padded
                unless ``padding`` says otherwise, labels with -100 at their end.

        Raises:
            ValueError: nothing given, unequal numbers, a text without symbols or with some that the tokenizer does not
                know; and what the feature extractor raises.
            TypeError: another keyword, a text that is no string.
        """
        if audio is None and text is None:
            raise ValueError("give audio, text or both")
        for group, known in {"the call": _AUDIO | _TEXT | _GROUPS.keys(), **_GROUPS}.items():
            given = kwargs if group == "the call" else kwargs.get(group, {})
            if foreign := sorted(given.keys() - known):
                raise TypeError(f"{group} takes no {', '.join(foreign)}; there are {', '.join(sorted(known))}")
        batch = BatchFeature()
        if audio is not None:  # Transformers would cut and pad audio by the settings of a tokenizer
            options = self._merge_kwargs(self.valid_processor_kwargs, **kwargs)["audio_kwargs"]
            batch = self.feature_extractor(audio, **{name: options[name] for name in options.keys() & _AUDIO})
        if text is None:
            return batch
        texts = [text] if isinstance(text, str) else list(text)
        if audio is not None and len(texts) != len(batch["input_features"]):
            raise ValueError(
                f"each waveform needs one text, got {len(batch['input_features'])} waveforms and {len(texts)} texts"
            )
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
        """Ids of the symbols of each text, -100 where it is padded."""
        if not texts:
            raise ValueError("there is no text: the list is empty")
        names = [f"text {i}" if len(texts) > 1 else "the text" for i in range(len(texts))]
        for which, text in zip(names, texts, strict=True):
            if not isinstance(text, str):
                raise TypeError(f"{which} is not a string but {type(text).__name__}: {text!r}")
            if unknown := unknown_symbols(self.tokenizer, text):
                raise ValueError(
                    f"{which} has symbols the tokenizer does not know: {unknown}; build the tokenizer on all "
                    "transcripts, replace what stands for a blank or a space in it, or leave out the clip"
                )
        # A decoder begins at the left, whatever the padding side of its tokenizer.
        encoded = self.tokenizer(texts, **{**options, "return_attention_mask": True, "padding_side": "right"})
        for which, text, seen in zip(names, texts, encoded["attention_mask"], strict=True):
            if not any(seen) or not text.strip():
                raise ValueError(f"{which} has no symbol to learn: {text!r}; leave out the clip")
        rows = zip(encoded["input_ids"], encoded["attention_mask"], strict=True)
        return [[i if seen else -100 for i, seen in zip(*row, strict=True)] for row in rows]

    def pad(self, features: Sequence[Mapping[str, Any]], **kwargs: Any) -> BatchFeature:
        """A batch of tensors of what calls for single clips gave: the collator of training.

        Args:
            features: ``input_features [T, feature_size]`` of each clip, and ``labels`` of all or of none.
            kwargs: of ``SequenceFeatureExtractor.pad``.
        """
        clips = [{"input_features": each["input_features"]} for each in features]
        batch = self.feature_extractor.pad(clips, **{"return_tensors": "pt", **kwargs})
        if "labels" in features[0]:
            labels = [torch.tensor(list(each["labels"]), dtype=torch.long) for each in features]
            # Losses leave out what comes after the end of each.
            batch["labels"] = torch.nn.utils.rnn.pad_sequence(labels, batch_first=True, padding_value=-100)
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
