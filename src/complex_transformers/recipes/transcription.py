# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of a speech recognizer: the epoch is chosen by label error rate, the test split transcribed once."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils.data import Dataset
from transformers import EvalPrediction, PreTrainedModel

from ..data.extras import check_option
from ..metrics.transcription import TranscriptionMetric
from ..models.spectral_transformer.processing_spectral_transformer import SpectralTransformerProcessor
from ..training.trainer import ComplexSeq2SeqTrainer
from .arguments import RunArguments
from .records import rounded
from .run import Run

__all__ = ["TranscriptionRun"]


def _best_symbols(logits: Any, labels: Any) -> Tensor:
    """Reduce the logits of an evaluation to the best symbol of each frame, enough for greedy CTC decoding."""
    logits = logits[0] if isinstance(logits, tuple) else logits
    return logits.argmax(-1)


class TranscriptionRun(Run):
    """A run of a speech recognizer with CTC or a decoder.

    Args:
        model: a model with a CTC head or ``generate``.
        processor: pads batches; its tokenizer decodes.
        parts: the splits ``train``, ``validation`` and, if there is one, ``test``, with ``input_features`` and
            ``labels``.
        args: the training arguments. ``metric_for_best_model`` is ``label_error_rate`` (default),
            ``sequence_accuracy`` or ``loss``; a decoder generates up to ``generation_max_length`` symbols, by default
            256.

    Raises:
        ValueError: another ``metric_for_best_model``.
    """

    trainer_class = ComplexSeq2SeqTrainer
    figures = ("label_error_rate", "sequence_accuracy")

    def __init__(
        self,
        model: PreTrainedModel,
        processor: SpectralTransformerProcessor,
        parts: Mapping[str, Dataset[Any]],
        args: RunArguments,
    ) -> None:
        self.generates = model.can_generate()
        chosen = (args.chosen_metric or "label_error_rate").removeprefix("eval_")
        check_option("metric_for_best_model", chosen, ("label_error_rate", "sequence_accuracy", "loss"))
        args.metric_for_best_model, args.greater_is_better = chosen, chosen == "sequence_accuracy"
        args.predict_with_generate = self.generates
        args.remove_unused_columns = False  # the data sets have no others
        if self.generates:
            args.generation_max_length = args.generation_max_length or 256
            model.generation_config.max_length = args.generation_max_length
        super().__init__(
            model,
            parts,
            args,
            processing=processor,
            data_collator=processor.pad,
            compute_metrics=self.scores,
            preprocess_logits_for_metrics=None if self.generates else _best_symbols,
        )

    def evaluate(self, name: str) -> dict[str, Any]:
        """Return the scores of a split with ``loss`` and ``seconds``.

        ``reference`` and ``prediction`` of each clip are written to ``predictions.csv`` in the output folder; the
        split scored last stays, which is the test split if there is one.
        """
        output = self.trainer.predict(self.parts[name])
        references, predictions = self.texts(output.label_ids, output.predictions)
        if self.trainer.is_world_process_zero():
            with (self.folder / "predictions.csv").open("w", encoding="utf-8", newline="") as file:
                table = csv.writer(file)
                table.writerow(("reference", "prediction"))
                table.writerows(zip(references, predictions, strict=True))
        figures = TranscriptionMetric().compute(predictions=predictions, references=references)
        seconds = round(output.metrics["test_runtime"], 1)
        return rounded({**figures, "loss": output.metrics["test_loss"], "seconds": seconds})

    def texts(self, labels: np.ndarray, predictions: np.ndarray) -> tuple[list[str], list[str]]:
        """Decode references and predictions; -100 is padding."""
        tokenizer = self.processing.tokenizer
        blank = tokenizer.pad_token_id
        labels, predictions = (np.where(ids < 0, blank, ids) for ids in (labels, predictions))
        # CTC merges repeated symbols in a prediction, but not in a reference.
        as_written = {} if self.generates else {"group_tokens": False}
        references = tokenizer.batch_decode(labels, skip_special_tokens=True, **as_written)
        return references, tokenizer.batch_decode(predictions, skip_special_tokens=self.generates)

    def scores(self, prediction: EvalPrediction) -> dict[str, Any]:
        """Compute the metrics of an evaluation for the ``Trainer``."""
        references, predictions = self.texts(np.asarray(prediction.label_ids), np.asarray(prediction.predictions))
        return TranscriptionMetric().compute(predictions=predictions, references=references)
