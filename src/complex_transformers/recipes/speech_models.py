# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Speech models from a command line: classifiers and speech recognizers, new or saved, and their items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from transformers import (
    AutoConfig,
    AutoFeatureExtractor,
    AutoModelForAudioClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from ..data.tokenization import build_ctc_tokenizer, build_tokenizer
from ..models.spectral_transformer.configuration_spectral_transformer import SpectralTransformerConfig
from ..models.spectral_transformer.feature_extraction_spectral_transformer import SpectralFeatureExtractor
from ..models.spectral_transformer.modeling_spectral_transformer import (
    SpectralTransformerForAudioClassification,
    SpectralTransformerForConditionalGeneration,
    SpectralTransformerForCTC,
    SpectralTransformerModel,
)
from ..models.spectral_transformer.processing_spectral_transformer import SpectralTransformerProcessor, unknown_symbols
from ..nn.checks import check_choice
from .arguments import arguments_of

__all__ = [
    "SPEECH_NETWORKS",
    "DecoderArguments",
    "SpeechModelArguments",
    "build_classifier",
    "build_transcriber",
    "classification_items",
    "transcription_items",
]

DEFAULT_RATE = 16000
# network -> default features, and fields of its configuration
SPEECH_NETWORKS: dict[str, tuple[str, dict[str, str]]] = {
    "fully_spectral": ("spectrum", {"variant": "fully_spectral"}),
    "spectral_scaled": ("frames", {"variant": "spectral_scaled"}),
    "real": ("log_mel", {"number_field": "real"}),
}
_MODELS = {each.__name__: each for each in (SpectralTransformerForCTC, SpectralTransformerForConditionalGeneration)}
# The best embeddings for translation (docs/decisions/0006-translation.md): learned phases, and in a real decoder the
# positions of Vaswani et al. (2017).
_COMPLEX_SYMBOLS = {"embedding_type": "complex_order", "phase": "learned", "initializer_range": 0.3}
_REAL_SYMBOLS = {"embedding_type": "sinusoidal_position", "initializer_range": 1.0}


_NetworkArguments: Any = arguments_of(
    SpectralTransformerConfig,
    without=("variant", "number_field", "feature_size", "hop_length"),  # set by `network` and the features
    hidden_size=128,
    num_hidden_layers=4,
    num_attention_heads=4,
    intermediate_size=256,
    time_pool_size=2,
)


@dataclass
class SpeechModelArguments(_NetworkArguments):
    """Features and network of a run on speech, and the fields of ``SpectralTransformerConfig``.

    Args:
        model_name_or_path: a saved model to fine-tune; it brings its own features and network.
        network: ``fully_spectral``, ``spectral_scaled`` or ``real``, the real twin of the same widths.
        feature_type: see ``SpectralFeatureExtractor``; default ``spectrum``, ``frames`` or ``log_mel``.
        compression, num_mel_bins, normalize: see ``SpectralFeatureExtractor``.
        window_ms, hop_ms: window and hop length in milliseconds.
    """

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "fine-tune this model, with its feature extractor"}
    )
    network: str = field(default="fully_spectral", metadata={"help": "fully_spectral, spectral_scaled or real"})
    feature_type: str | None = field(
        default=None,
        metadata={"help": "spectrum, modulus, phase, frames, log_mel or mfcc; default: depends on the network"},
    )
    compression: str = field(default="none", metadata={"help": "compression of the moduli of a spectrum: none or log"})
    num_mel_bins: int = 80
    normalize: bool = True
    window_ms: float = 25.0
    hop_ms: float = 10.0

    @property
    def is_real(self) -> bool:
        """Whether all weights are real."""
        return self.network != "fully_spectral"

    def extractor(self, sampling_rate: int | None = None) -> SpectralFeatureExtractor:
        """Return the feature extractor for ``sampling_rate`` Hz (default 16,000), or of the saved model.

        Raises:
            ValueError: an unknown network, options without effect on a saved model, another sampling rate than its
                own.
        """
        if self.model_name_or_path is not None:
            return self._saved_extractor(sampling_rate)
        check_choice("network", self.network, tuple(SPEECH_NETWORKS))
        sampling_rate = DEFAULT_RATE if sampling_rate is None else sampling_rate
        return SpectralFeatureExtractor(
            sampling_rate=sampling_rate,
            feature_type=self.feature_type or SPEECH_NETWORKS[self.network][0],
            compression=self.compression,
            num_mel_bins=self.num_mel_bins,
            normalize=self.normalize,
            window_length=round(self.window_ms * sampling_rate / 1000),
            hop_length=round(self.hop_ms * sampling_rate / 1000),
        )

    def _saved_extractor(self, sampling_rate: int | None) -> Any:
        default = type(self)(model_name_or_path=self.model_name_or_path)
        if idle := [name for name, value in vars(self).items() if value != getattr(default, name)]:
            raise ValueError(f"{idle[0]} must be left out with model_name_or_path, got {getattr(self, idle[0])!r}.")
        extractor = AutoFeatureExtractor.from_pretrained(self.model_name_or_path)
        if sampling_rate not in (None, extractor.sampling_rate):
            raise ValueError(
                f"sampling_rate must be {extractor.sampling_rate} with {self.model_name_or_path}, got "
                f"{sampling_rate}. Leave it out, audio is resampled."
            )
        return extractor

    def config(self, extractor: SpectralFeatureExtractor, **fields: Any) -> SpectralTransformerConfig:
        """Return the configuration of the network for an extractor; ``fields`` belong to the head."""
        given = self.given()
        if self.network == "real":  # as in `real_twin`
            given = {"attention_normalization": "softmax", **given}
        network = SPEECH_NETWORKS[self.network][1]
        return SpectralTransformerConfig.from_extractor(extractor, **{**given, **network, **fields})


@dataclass
class DecoderArguments:
    """The choice between CTC and a decoder for a speech recognizer.

    Args:
        decoder_layers: 0 for CTC (Graves et al. 2006), more for an autoregressive decoder.
        label_smoothing: label smoothing of a decoder.
    """

    decoder_layers: int = field(default=0, metadata={"help": "0: CTC; more: an autoregressive decoder"})
    label_smoothing: float = field(default=0.0, metadata={"help": "label smoothing of a decoder"})


def build_classifier(
    network: SpeechModelArguments, sampling_rate: int | None, labels: Sequence[str]
) -> tuple[PreTrainedModel, Any]:
    """Build a classifier and its feature extractor, or load a saved one; for other labels it gets a new head.

    Args:
        network: features and network, or the saved model, which may be any audio classifier.
        sampling_rate: Hz; default 16,000, or the rate of the saved model.
        labels: the names of the classes.
    """
    extractor = network.extractor(sampling_rate)
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: index for index, label in enumerate(labels)}}
    saved = network.model_name_or_path
    if saved is None:
        return SpectralTransformerForAudioClassification(network.config(extractor, **names)), extractor
    model = AutoModelForAudioClassification.from_pretrained(saved)
    if set(model.config.label2id) == set(labels):
        return model, extractor
    print(f"{saved} has the labels {sorted(model.config.label2id)}: new head for {list(labels)}")
    model = AutoModelForAudioClassification.from_pretrained(saved, **names, ignore_mismatched_sizes=True)
    model.classifier = type(model)(model.config).classifier  # also if the numbers of labels are equal
    return model, extractor


def classification_items(extractor: Any, label2id: Mapping[str, int]) -> Callable[[np.ndarray, str], dict[str, Any]]:
    """Return ``prepare`` of ``ClipDataset``: from a waveform and its label to features and ``labels``, its id."""

    def prepare(waveform: np.ndarray, label: str) -> dict[str, Any]:
        features = extractor(waveform, sampling_rate=extractor.sampling_rate)
        return {**{name: values[0] for name, values in features.items()}, "labels": label2id[label]}

    return prepare


def build_transcriber(
    network: SpeechModelArguments, decoder: DecoderArguments, sampling_rate: int | None, texts: list[str]
) -> tuple[PreTrainedModel, SpectralTransformerProcessor]:
    """Build a speech recognizer and its processor, with the characters of the texts as symbols, or load a saved one.

    A saved model is used unchanged if it knows all symbols of the texts. For other symbols, for a saved classifier, or
    with ``decoder_layers``, only its encoder is used.

    Args:
        network: features and encoder, or the saved model.
        decoder: CTC or decoder; by default CTC, or as in the saved model.
        sampling_rate: Hz; default 16,000, or the rate of the saved model.
        texts: all transcripts, including validation and test.

    Raises:
        ValueError: a saved model of another family, label smoothing with CTC.
    """
    extractor = network.extractor(sampling_rate)
    if network.model_name_or_path is not None:
        model, processor = _fine_tuned(network.model_name_or_path, extractor, decoder, texts)
    else:
        tokenizer, fields = _head(decoder, texts, network.is_real)
        model = _model(network.config(extractor, **fields))
        processor = SpectralTransformerProcessor(extractor, tokenizer)
    if decoder.label_smoothing:
        if not model.config.is_encoder_decoder:
            raise ValueError(f"label_smoothing must be 0 with CTC, got {decoder.label_smoothing}.")
        model.config.decoder.label_smoothing = decoder.label_smoothing  # a saved model has its own
    return model, processor


def _fine_tuned(
    name_or_path: str, extractor: Any, decoder: DecoderArguments, texts: list[str]
) -> tuple[PreTrainedModel, SpectralTransformerProcessor]:
    """Return the saved model, or a new one with its encoder."""
    config = AutoConfig.from_pretrained(name_or_path)
    if not isinstance(config, SpectralTransformerConfig):
        raise ValueError(f"model_name_or_path must be a spectral_transformer, got a {config.model_type}.")
    saved = _MODELS.get((config.architectures or [""])[0])
    if saved is not None and decoder.decoder_layers == 0:
        processor = SpectralTransformerProcessor.from_pretrained(name_or_path)
        unknown = sorted({symbol for text in texts for symbol in unknown_symbols(processor.tokenizer, text)})
        if not unknown:
            return saved.from_pretrained(name_or_path), processor
        print(f"{name_or_path} does not know the symbols {unknown}: new head")
        decoder = replace(decoder, decoder_layers=config.decoder.decoder_layers if config.is_encoder_decoder else 0)
    tokenizer, fields = _head(decoder, texts, config.number_field == "real")
    model = _model(SpectralTransformerConfig.from_dict({**config.to_dict(), "decoder": None, **fields}))
    model.model.load_state_dict(SpectralTransformerModel.from_pretrained(name_or_path).state_dict())
    return model, SpectralTransformerProcessor(extractor, tokenizer)


def _head(
    decoder: DecoderArguments, texts: list[str], is_real: bool
) -> tuple[PreTrainedTokenizerBase, dict[str, Any]]:
    """Return a tokenizer of the characters of the texts, and the configuration fields of its head."""
    if decoder.decoder_layers == 0:
        tokenizer = build_ctc_tokenizer(texts)
        symbols = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        return tokenizer, {**symbols, "ctc_loss_reduction": "mean"}
    tokenizer = build_tokenizer(texts, kind="character", lowercase=False, append_eos=True)
    return tokenizer, {
        "decoder": {
            "vocab_size": len(tokenizer),
            "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "decoder_start_token_id": tokenizer.bos_token_id,
            "decoder_layers": decoder.decoder_layers,
            "label_smoothing": decoder.label_smoothing,
            **(_REAL_SYMBOLS if is_real else _COMPLEX_SYMBOLS),
        }
    }


def _model(config: SpectralTransformerConfig) -> PreTrainedModel:
    return (SpectralTransformerForConditionalGeneration if config.is_encoder_decoder else SpectralTransformerForCTC)(
        config
    )


def transcription_items(
    model: PreTrainedModel, processor: SpectralTransformerProcessor
) -> Callable[[np.ndarray, str], dict[str, Any]]:
    """Return ``prepare`` of ``ClipDataset``: from waveform and text to ``input_features [T, F]`` and ``labels``.

    It raises ``ValueError`` for a text that is too long for CTC on the frames of its clip, unless the model has
    ``ctc_zero_infinity``.
    """
    rate = processor.feature_extractor.sampling_rate

    def prepare(waveform: np.ndarray, text: str) -> dict[str, Any]:
        item = processor(audio=waveform, text=text, sampling_rate=rate)
        features, labels = item["input_features"][0], item["labels"][0]
        if isinstance(model, SpectralTransformerForCTC):
            model.check_labels(torch.tensor([labels]), model.output_lengths(torch.tensor([len(features)])))
        return {"input_features": features, "labels": labels}

    return prepare
