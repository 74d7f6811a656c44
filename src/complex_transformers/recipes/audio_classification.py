# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of an audio classifier: the epoch is chosen by accuracy, the test split scored once."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import EvalPrediction, PreTrainedModel

from ..data.audio import ClipDataset
from ..metrics.transcription import top_k_accuracy
from .arguments import RunArguments
from .records import portable, rounded
from .run import Run

__all__ = ["AudioClassificationRun"]


class AudioClassificationRun(Run):
    """A run of an audio classifier.

    Args:
        model: a classifier with ``config.id2label``.
        extractor: the feature extractor, which pads each batch to its longest clip; saved with the model.
        parts: the splits ``train``, ``validation`` and, if there is one, ``test``, with ``classification_items``.
        args: the training arguments; ``metric_for_best_model`` is the accuracy by default.
    """

    figures = ("accuracy", "top_3_accuracy", "loss")

    def __init__(
        self, model: PreTrainedModel, extractor: Any, parts: Mapping[str, ClipDataset], args: RunArguments
    ) -> None:
        if args.chosen_metric is None:
            args.metric_for_best_model, args.greater_is_better = "accuracy", True
        super().__init__(model, parts, args, processing=extractor, compute_metrics=self.scores)

    def score(self) -> dict[str, Any]:
        """Return ``features``, and the metrics of ``validation`` and ``test``.

        The predictions for the test split are written to ``predictions.csv`` in the output folder: ``audio``,
        ``label``, ``prediction`` and its ``probability``.
        """
        return {"features": portable(self.processing.to_dict()), **super().score()}

    @staticmethod
    def scores(prediction: EvalPrediction) -> dict[str, float]:
        """Compute the accuracy, and with more than three classes the top-3 accuracy."""
        logits, labels = torch.as_tensor(prediction.predictions), torch.as_tensor(prediction.label_ids)
        figures = {"accuracy": top_k_accuracy(logits, labels)}
        if logits.shape[1] > 3:
            figures["top_3_accuracy"] = top_k_accuracy(logits, labels, k=3)
        return figures

    def evaluate(self, name: str) -> dict[str, float]:
        """Return accuracies and loss of a split; write the predictions for the test split."""
        output = self.trainer.predict(self.parts[name], metric_key_prefix="part")
        if name == "test" and self.trainer.is_world_process_zero():
            self._write_predictions(np.asarray(output.predictions))
        metrics = output.metrics
        return rounded({key: metrics[f"part_{key}"] for key in self.figures if f"part_{key}" in metrics})

    def _write_predictions(self, logits: np.ndarray) -> None:
        split, labels = self.parts["test"], self.model.config.id2label
        probabilities = torch.as_tensor(logits).float().softmax(-1)
        with (self.folder / "predictions.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["audio", "label", "prediction", "probability"])
            for index, (label, row) in enumerate(zip(split.targets, probabilities, strict=True)):
                best = int(row.argmax())
                name = Path(split.name(index)).name
                table.writerow([name, labels.get(label, label), labels[best], f"{row[best]:.4f}"])
