# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A run of a model that transcribes: train, choose the epoch by label error rate, score the test part once."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset
from transformers import AutoConfig, EvalPrediction, PreTrainedModel, PreTrainedTokenizerBase

from ..data.tokenization import build_ctc_tokenizer, build_tokenizer
from ..metrics.transcription import TranscriptionMetric
from ..models.spectral_transformer.configuration_spectral_transformer import SpectralTransformerConfig
from ..models.spectral_transformer.modeling_spectral_transformer import (
    SpectralTransformerForConditionalGeneration,
    SpectralTransformerForCTC,
    SpectralTransformerModel,
)
from ..models.spectral_transformer.processing_spectral_transformer import (
    SpectralTransformerProcessor,
    unknown_symbols,
)
from .run import portable, rounded, run_record, save_model, write_results
from .speech import SpeechModelArguments, SpeechTrainingArguments
from .trainer import ComplexSeq2SeqTrainer

__all__ = ["DecoderArguments", "TranscriptionRun", "build_transcriber", "transcription_items"]

_MODELS = {each.__name__: each for each in (SpectralTransformerForCTC, SpectralTransformerForConditionalGeneration)}
# What suits translation (docs/decisions/0006-translation.md): waves with phases of their own, and the positions of
# Vaswani et al. (2017) in a real decoder.
_COMPLEX_SYMBOLS = {"embedding_type": "complex_order", "phase": "learned", "initializer_range": 0.3}
_REAL_SYMBOLS = {"embedding_type": "sinusoidal_position", "initializer_range": 1.0}


@dataclass
class DecoderArguments:
    """The form of a model that transcribes.

    Args:
        decoder_layers: 0 for CTC (Graves et al. 2006); more: a decoder that writes symbol by symbol.
        label_smoothing: of a decoder's training loss.
    """

    decoder_layers: int = field(default=0, metadata={"help": "0: CTC; more: a decoder that writes symbol by symbol"})
    label_smoothing: float = field(default=0.0, metadata={"help": "of a decoder's training loss"})


def build_transcriber(
    network: SpeechModelArguments, decoder: DecoderArguments, sampling_rate: int | None, texts: list[str]
) -> tuple[PreTrainedModel, SpectralTransformerProcessor]:
    """A model and its processor: new, with the characters of the texts for symbols, or a saved one to fine-tune.

    A saved model goes on as it is where it writes the texts already. For other symbols, after a classifier, and where
    ``decoder_layers`` are given, only the encoder is that of the saved model.

    Args:
        network: features and encoder, or the saved model.
        decoder: the form; without ``decoder_layers`` CTC, or that of the saved model.
        sampling_rate: Hz; where not given 16,000, or that of the saved model.
        texts: all transcripts, those of validation and test too.

    Raises:
        ValueError, TypeError: a saved model of another family, label smoothing of CTC; what
            ``SpeechModelArguments.extractor``, ``build_ctc_tokenizer``, ``build_tokenizer`` and the configurations
            raise.
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
            raise ValueError(f"--label_smoothing {decoder.label_smoothing} is of a decoder's loss, and this is CTC")
        model.config.decoder.label_smoothing = decoder.label_smoothing  # a saved model has its own
    return model, processor


def _fine_tuned(
    name_or_path: str, extractor: Any, decoder: DecoderArguments, texts: list[str]
) -> tuple[PreTrainedModel, SpectralTransformerProcessor]:
    """The saved model, or a new one with its encoder."""
    config = AutoConfig.from_pretrained(name_or_path)
    if not isinstance(config, SpectralTransformerConfig):
        raise ValueError(
            f"{name_or_path} is a {config.model_type}: fine-tune a spectral_transformer, or train a new model"
        )
    saved = _MODELS.get((config.architectures or [""])[0])
    if saved is not None and decoder.decoder_layers == 0:
        processor = SpectralTransformerProcessor.from_pretrained(name_or_path)
        unknown = sorted({symbol for text in texts for symbol in unknown_symbols(processor.tokenizer, text)})
        if not unknown:
            return saved.from_pretrained(name_or_path), processor
        print(f"{name_or_path} does not know the symbols {unknown}: what writes them is new")
        decoder = replace(decoder, decoder_layers=config.decoder.decoder_layers if config.is_encoder_decoder else 0)
    tokenizer, fields = _head(decoder, texts, config.number_field == "real")
    model = _model(SpectralTransformerConfig.from_dict({**config.to_dict(), "decoder": None, **fields}))
    model.model.load_state_dict(SpectralTransformerModel.from_pretrained(name_or_path).state_dict())
    return model, SpectralTransformerProcessor(extractor, tokenizer)


def _head(
    decoder: DecoderArguments, texts: list[str], is_real: bool
) -> tuple[PreTrainedTokenizerBase, dict[str, Any]]:
    """A tokenizer of the characters of the texts, and the fields of a configuration whose head writes them."""
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
    """A new model that transcribes, of the form of its configuration."""
    return (SpectralTransformerForConditionalGeneration if config.is_encoder_decoder else SpectralTransformerForCTC)(
        config
    )


def transcription_items(
    model: PreTrainedModel, processor: SpectralTransformerProcessor
) -> Callable[[np.ndarray, str], dict[str, Any]]:
    """For ``ClipDataset``: from a waveform and its text to ``input_features [T, feature_size]`` and ``labels``.

    Raises:
        ValueError: when it is called, for a text that CTC cannot write in the frames of its clip, unless the model has
            ``ctc_zero_infinity``.
    """
    rate = processor.feature_extractor.sampling_rate

    def prepare(waveform: np.ndarray, text: str) -> dict[str, Any]:
        """Features and labels of one clip."""
        item = processor(audio=waveform, text=text, sampling_rate=rate)
        features, labels = item["input_features"][0], item["labels"][0]
        if isinstance(model, SpectralTransformerForCTC):
            model.check_labels(torch.tensor([labels]), model.output_lengths(torch.tensor([len(features)])))
        return {"input_features": features, "labels": labels}

    return prepare


def _best_symbols(logits: Any, labels: Any) -> Tensor:
    """What CTC decoding needs of the logits of an evaluation: the best symbol of each frame."""
    logits = logits[0] if isinstance(logits, tuple) else logits
    return logits.argmax(-1)


class TranscriptionRun:
    """A model that transcribes, by CTC or by a decoder, with its data, its ``trainer`` and its scores.

    Args:
        model: has a CTC head, or can ``generate``.
        processor: makes batches, and its tokenizer decodes.
        parts: ``train``, ``validation`` and, if there is one, ``test``: data sets of ``input_features`` and
            ``labels``.
        args: of the training. ``metric_for_best_model`` is the label error rate; a decoder writes up to
            ``generation_max_length`` symbols, 256 where not given.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        processor: SpectralTransformerProcessor,
        parts: Mapping[str, Dataset[Any]],
        args: SpeechTrainingArguments,
    ) -> None:
        self.model, self.processor, self.parts, self.args = model, processor, parts, args
        self.generates = model.can_generate()
        args.metric_for_best_model, args.greater_is_better = "label_error_rate", False
        args.predict_with_generate = self.generates
        args.remove_unused_columns = False  # the data sets make what the model takes
        if self.generates:
            args.generation_max_length = args.generation_max_length or 256
            model.generation_config.max_length = args.generation_max_length
        self.trainer = ComplexSeq2SeqTrainer(
            model,
            args,
            train_dataset=parts["train"],
            eval_dataset=parts["validation"],
            data_collator=processor.pad,
            processing_class=processor,
            compute_metrics=self.scores,
            preprocess_logits_for_metrics=None if self.generates else _best_symbols,
        )

    def run(self, checkpoint: str | None = None) -> dict[str, Any]:
        """Train, and score the best epoch on the validation and on the test part.

        The transcriptions are ``predictions.csv`` in the output folder: ``reference`` and ``prediction`` of each clip
        of the test part, or of validation where there is none.

        Returns:
            The record of the run (``run_record``), ``rows``, ``validation`` and ``test``.
        """
        start = time.perf_counter()
        self.trainer.train(resume_from_checkpoint=checkpoint)
        results = run_record(self.trainer, time.perf_counter() - start, checkpoint is not None)
        results["rows"] = {name: len(part) for name, part in self.parts.items()}  # type: ignore[arg-type]
        for name in ("validation", "test"):
            if name in self.parts:
                results[name], texts = self.transcribe(name)
                print(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in results[name].items()))
        if self.trainer.is_world_process_zero():
            path = Path(str(self.args.output_dir)) / "predictions.csv"
            with path.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([("reference", "prediction"), *texts])
        seconds, steps = results["seconds"], results["steps"]
        print(f"parameters: {results['parameters']:,}; training: {seconds:.0f} s, {steps} steps")
        return results

    def transcribe(self, name: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Scores of a part with ``loss`` and ``seconds``, and the pairs of reference and prediction."""
        start = time.perf_counter()
        output = self.trainer.predict(self.parts[name])
        seconds = round(time.perf_counter() - start, 1)
        references, predictions = self.texts(output.label_ids, output.predictions)
        figures = self.score(references, predictions)
        pairs = list(zip(references, predictions, strict=True))
        return rounded({**figures, "loss": output.metrics["test_loss"], "seconds": seconds}), pairs

    def texts(self, labels: np.ndarray, predictions: np.ndarray) -> tuple[list[str], list[str]]:
        """References and predictions of ids, where -100 is padding."""
        tokenizer = self.processor.tokenizer
        blank = tokenizer.pad_token_id
        labels, predictions = (np.where(ids < 0, blank, ids) for ids in (labels, predictions))
        # CTC merges equal symbols that follow one another in a prediction, and never in a reference.
        as_written = {} if self.generates else {"group_tokens": False}
        references = tokenizer.batch_decode(labels, skip_special_tokens=True, **as_written)
        return references, tokenizer.batch_decode(predictions, skip_special_tokens=self.generates)

    @staticmethod
    def score(references: list[str], predictions: list[str]) -> dict[str, Any]:
        """Scores of ``TranscriptionMetric``."""
        return TranscriptionMetric().compute(predictions=predictions, references=references)

    def scores(self, prediction: EvalPrediction) -> dict[str, Any]:
        """Scores of an evaluation, for the ``Trainer``."""
        references, predictions = self.texts(np.asarray(prediction.label_ids), np.asarray(prediction.predictions))
        return self.score(references, predictions)

    def save(self, results: dict[str, Any], training_data: str) -> None:
        """Save model, card, processor and the results; the first process alone writes."""
        if self.trainer.is_world_process_zero():
            folder = Path(str(self.args.output_dir))
            scores = results.get("test", results["validation"])
            metrics = {name: scores[name] for name in ("label_error_rate", "sequence_accuracy")}
            save_model(
                folder, self.model, self.processor, training_data=f"`{portable(training_data)}`", metrics=metrics
            )
            write_results(self.args.output_json or folder / "results.json", results)
