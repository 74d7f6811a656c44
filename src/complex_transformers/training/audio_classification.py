# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A run of an audio classifier: build or load it, train, choose the epoch by accuracy, score the test part once."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForAudioClassification, EvalPrediction, PreTrainedModel

from ..data.audio import ClipDataset
from ..metrics.transcription import top_k_accuracy
from ..models.spectral_transformer.modeling_spectral_transformer import SpectralTransformerForAudioClassification
from .run import portable, rounded, run_record, save_model, write_results
from .speech import SpeechModelArguments, SpeechTrainingArguments
from .trainer import ComplexTrainer

__all__ = ["AudioClassificationRun", "build_classifier", "classification_items"]

_SCORES = ("accuracy", "top_3_accuracy", "loss")


def build_classifier(
    network: SpeechModelArguments, sampling_rate: int | None, labels: Sequence[str]
) -> tuple[PreTrainedModel, Any]:
    """A new classifier and its feature extractor, or a saved one to fine-tune; for other labels its head is new.

    Args:
        network: features and network, or the saved model: any classifier of audio.
        sampling_rate: Hz; where not given 16,000, or that of the saved model.
        labels: the names of the classes.

    Raises:
        ValueError: what ``SpeechModelArguments.extractor`` and the configuration raise.
    """
    extractor = network.extractor(sampling_rate)
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: index for index, label in enumerate(labels)}}
    saved = network.model_name_or_path
    if saved is None:
        return SpectralTransformerForAudioClassification(network.config(extractor, **names)), extractor
    model = AutoModelForAudioClassification.from_pretrained(saved)
    if set(model.config.label2id) == set(labels):
        return model, extractor
    print(f"{saved} has the labels {sorted(model.config.label2id)}: the head for {list(labels)} is new")
    model = AutoModelForAudioClassification.from_pretrained(saved, **names, ignore_mismatched_sizes=True)
    model.classifier = type(model)(model.config).classifier  # also where the numbers of labels are equal
    return model, extractor


def classification_items(extractor: Any, label2id: Mapping[str, int]) -> Callable[[np.ndarray, str], dict[str, Any]]:
    """For ``ClipDataset``: from a waveform and its label to features and ``labels``, its id."""

    def prepare(waveform: np.ndarray, label: str) -> dict[str, Any]:
        features = extractor(waveform, sampling_rate=extractor.sampling_rate)
        return {**{name: values[0] for name, values in features.items()}, "labels": label2id[label]}

    return prepare


class AudioClassificationRun:
    """An audio classifier with its data, its ``trainer`` and its scores.

    Args:
        model: with ``config.id2label``.
        extractor: pads batches, and is saved beside the model.
        parts: ``train``, ``validation`` and, if there is one, ``test``, of ``classification_items``.
        args: of the training. ``metric_for_best_model`` is the accuracy where nothing else is named.
    """

    def __init__(
        self, model: PreTrainedModel, extractor: Any, parts: Mapping[str, ClipDataset], args: SpeechTrainingArguments
    ) -> None:
        self.model, self.extractor, self.parts, self.args = model, extractor, parts, args
        if args.metric_for_best_model in (None, "loss"):
            args.metric_for_best_model, args.greater_is_better = "accuracy", True
        self.trainer = ComplexTrainer(
            model,
            args,
            train_dataset=parts["train"],
            eval_dataset=parts["validation"],
            processing_class=extractor,  # pads each batch to its longest clip
            compute_metrics=self.scores,
        )

    def run(self, checkpoint: str | None = None) -> dict[str, Any]:
        """Train, and score the best epoch on the validation and on the test part.

        The predictions for the test part are ``predictions.csv`` in the output folder: ``audio``, ``label``,
        ``prediction`` and its ``probability``.

        Returns:
            The record of the run (``run_record``), ``rows``, ``features``, ``validation`` and ``test``.
        """
        start = time.perf_counter()
        self.trainer.train(resume_from_checkpoint=checkpoint)
        results = run_record(self.trainer, time.perf_counter() - start, checkpoint is not None)
        results["rows"] = {name: len(part) for name, part in self.parts.items()}
        results["features"] = portable(self.extractor.to_dict())
        for name in ("validation", "test"):
            if name in self.parts:
                results[name], logits = self.evaluate(name)
                print(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in results[name].items()))
                if name == "test" and self.trainer.is_world_process_zero():
                    self.write_predictions(logits)
        print(f"parameters: {results['parameters']:,}; training: {results['seconds']:.0f} s, {results['steps']} steps")
        return results

    @staticmethod
    def scores(prediction: EvalPrediction) -> dict[str, float]:
        """Accuracy, and accuracy among the three likeliest of more than three classes."""
        logits, labels = torch.as_tensor(prediction.predictions), torch.as_tensor(prediction.label_ids)
        figures = {"accuracy": top_k_accuracy(logits, labels)}
        if logits.shape[1] > 3:
            figures["top_3_accuracy"] = top_k_accuracy(logits, labels, k=3)
        return figures

    def evaluate(self, name: str) -> tuple[dict[str, float], np.ndarray]:
        """Accuracies and loss of a part, and its logits."""
        output = self.trainer.predict(self.parts[name], metric_key_prefix="part")
        figures = {score: output.metrics[f"part_{score}"] for score in _SCORES if f"part_{score}" in output.metrics}
        return rounded(figures), np.asarray(output.predictions)

    def write_predictions(self, logits: np.ndarray) -> None:
        """A table of the clips of the test part with label, predicted label and its probability."""
        part, labels = self.parts["test"], self.model.config.id2label
        probabilities = torch.as_tensor(logits).float().softmax(-1)
        path = Path(str(self.args.output_dir)) / "predictions.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["audio", "label", "prediction", "probability"])
            for index, (label, row) in enumerate(zip(part.targets, probabilities, strict=True)):
                best = int(row.argmax())
                table.writerow(
                    [Path(part.name(index)).name, labels.get(label, label), labels[best], f"{row[best]:.4f}"]
                )

    def save(self, results: dict[str, Any], training_data: str) -> None:
        """Save model, card, feature extractor and the results; the first process alone writes."""
        if self.trainer.is_world_process_zero():
            folder = Path(str(self.args.output_dir))
            metrics = {"accuracy": results.get("test", results["validation"])["accuracy"]}
            source = f"`{portable(training_data)}`, {results['rows']}"
            save_model(folder, self.model, self.extractor, training_data=source, metrics=metrics)
            write_results(self.args.output_json or folder / "results.json", results)
