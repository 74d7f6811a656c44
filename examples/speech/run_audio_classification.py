# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train an audio classifier from scratch, or fine-tune one, on tables, a folder of classes or a data set of the Hub.

The best epoch is chosen on the validation part, by accuracy; the test part, where there is one, is scored once at the
end.

    python examples/speech/run_audio_classification.py --train_file train.csv --validation_file validation.csv \
        --test_file test.csv --network fully_spectral --compression log
"""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import DatasetDict
from transformers import (
    AutoFeatureExtractor,
    AutoModelForAudioClassification,
    EvalPrediction,
    HfArgumentParser,
    PreTrainedModel,
)

from complex_transformers import (
    ClipDataset,
    ComplexTrainer,
    SpectralTransformerForAudioClassification,
    SpeechDataArguments,
    SpeechModelArguments,
    SpeechTrainingArguments,
    portable,
    prepare_run,
    rounded,
    run_record,
    save_model,
    top_k_accuracy,
    write_results,
)


@dataclass
class DataArguments(SpeechDataArguments):
    """The data, and a model to begin with."""

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "fine-tune this model, with its feature extractor"}
    )


def make_extractor(model_args: SpeechModelArguments, data_args: DataArguments) -> Any:
    """A new feature extractor, or that of the model to fine-tune; raises for options that would have no effect."""
    if data_args.model_name_or_path is None:
        return model_args.extractor(data_args.sampling_rate)
    default = asdict(SpeechModelArguments())
    if idle := [name for name, value in asdict(model_args).items() if value != default[name]]:
        raise ValueError(f"--{idle[0]} has no effect with --model_name_or_path: leave it out")
    extractor = AutoFeatureExtractor.from_pretrained(data_args.model_name_or_path)
    if data_args.sampling_rate not in (None, extractor.sampling_rate):
        raise ValueError(
            f"--sampling_rate {data_args.sampling_rate} does not fit {data_args.model_name_or_path}, which reads "
            f"{extractor.sampling_rate} Hz: leave it out, audio is resampled"
        )
    return extractor


def make_model(
    model_args: SpeechModelArguments, name_or_path: str | None, extractor: Any, labels: Sequence[str]
) -> PreTrainedModel:
    """A new model with random weights, or the one to fine-tune; for labels it does not know, with a new head."""
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: index for index, label in enumerate(labels)}}
    if name_or_path is None:
        return SpectralTransformerForAudioClassification(model_args.config(extractor, **names))
    model = AutoModelForAudioClassification.from_pretrained(name_or_path)
    if set(model.config.label2id) == set(labels):
        return model
    print(f"{name_or_path} has the labels {sorted(model.config.label2id)}: the head for {list(labels)} is new")
    model = AutoModelForAudioClassification.from_pretrained(name_or_path, **names, ignore_mismatched_sizes=True)
    model.classifier = type(model)(model.config).classifier  # also where the numbers of labels are equal
    return model


def make_parts(
    parts: DatasetDict, extractor: Any, label2id: dict[str, int], data_args: DataArguments
) -> dict[str, ClipDataset]:
    """Features and label ids of every part; every clip is read once, so that no bad file stops the training."""

    def prepare(waveform: np.ndarray, label: str) -> dict[str, Any]:
        features = extractor(waveform, sampling_rate=extractor.sampling_rate)
        return {**{name: values[0] for name, values in features.items()}, "labels": label2id[label]}

    clips = {
        name: ClipDataset(
            part["audio"],
            part["label"],
            prepare,
            extractor.sampling_rate,
            mix_channels=data_args.mix_channels,
            keep_items=data_args.keep_features,
        )
        for name, part in parts.items()
    }
    for part in clips.values():
        part.check()
    return clips


def scores(prediction: EvalPrediction) -> dict[str, float]:
    """Accuracy, and accuracy among the three likeliest of more than three classes."""
    logits, labels = torch.as_tensor(prediction.predictions), torch.as_tensor(prediction.label_ids)
    figures = {"accuracy": top_k_accuracy(logits, labels)}
    if logits.shape[1] > 3:
        figures["top_3_accuracy"] = top_k_accuracy(logits, labels, k=3)
    return figures


def evaluate(trainer: ComplexTrainer, part: ClipDataset) -> tuple[dict[str, float], np.ndarray]:
    """Loss and accuracies of a part, and its logits."""
    output = trainer.predict(part, metric_key_prefix="part")
    names = ("accuracy", "top_3_accuracy", "loss")
    return rounded(
        {n: output.metrics[f"part_{n}"] for n in names if f"part_{n}" in output.metrics}
    ), output.predictions


def write_predictions(path: Path, part: ClipDataset, logits: np.ndarray, labels: dict[int, str]) -> None:
    """A table of the clips of a part with label, predicted label and its probability."""
    probabilities = torch.as_tensor(logits).float().softmax(-1)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["audio", "label", "prediction", "probability"])
        for index, (label, row) in enumerate(zip(part.targets, probabilities, strict=True)):
            best = int(row.argmax())
            table.writerow([Path(part.name(index)).name, label, labels[best], f"{row[best]:.4f}"])


def main() -> dict[str, Any]:
    """Parse the command line, train, score the parts, write model, predictions and results."""
    parser = HfArgumentParser((DataArguments, SpeechModelArguments, SpeechTrainingArguments), description=__doc__)
    parser.set_defaults(metric_for_best_model="accuracy", output_dir="outputs/audio-classification")
    data_args, model_args, args = parser.parse_args_into_dataclasses()
    checkpoint = prepare_run(args)
    extractor = make_extractor(model_args, data_args)
    loaded = data_args.load("label")
    model = make_model(model_args, data_args.model_name_or_path, extractor, sorted(set(loaded["train"]["label"])))
    parts = make_parts(loaded, extractor, model.config.label2id, data_args)
    trainer = ComplexTrainer(
        model,
        args,
        train_dataset=parts["train"],
        eval_dataset=parts["validation"],
        processing_class=extractor,  # pads each batch to its longest clip
        compute_metrics=scores,
    )
    start = time.perf_counter()
    trainer.train(resume_from_checkpoint=checkpoint)
    results = run_record(trainer, time.perf_counter() - start, checkpoint is not None)
    results["rows"] = {name: len(part) for name, part in parts.items()}
    results["features"] = portable(extractor.to_dict())
    results["data"] = portable(asdict(data_args))
    folder = Path(str(args.output_dir))
    for name in ("validation", "test"):
        if name in parts:
            results[name], logits = evaluate(trainer, parts[name])
            print(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in results[name].items()))
            if name == "test" and trainer.is_world_process_zero():
                write_predictions(folder / "predictions.csv", parts[name], logits, model.config.id2label)
    print(f"parameters: {results['parameters']:,}; training: {results['seconds']:.0f} s, {results['steps']} steps")
    if trainer.is_world_process_zero():
        source = portable(data_args.dataset_name or data_args.data_dir or data_args.train_file)
        metrics = {key: results.get("test", results["validation"])[key] for key in ("accuracy",)}
        save_model(folder, model, extractor, training_data=f"`{source}`, {results['rows']}", metrics=metrics)
        write_results(args.output_json or folder / "results.json", results)
    return results


if __name__ == "__main__":
    main()
