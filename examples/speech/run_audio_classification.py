# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train an audio classifier from scratch, or fine-tune one, on tables, a folder of classes or a data set of the Hub.

The best epoch is chosen on the validation part, by accuracy; the test part, where there is one, is scored once at the
end.

    python examples/speech/run_audio_classification.py --train_file train.csv --validation_file validation.csv \
        --test_file test.csv --network fully_spectral --compression log
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from datasets import DatasetDict
from transformers import AutoFeatureExtractor, AutoModelForAudioClassification, HfArgumentParser, PreTrainedModel

from complex_transformers import (
    AudioClassificationRun,
    ClipDataset,
    SpectralTransformerForAudioClassification,
    SpeechDataArguments,
    SpeechModelArguments,
    SpeechTrainingArguments,
    check_clips,
    classification_items,
    portable,
    prepare_run,
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


def make_parts(parts: DatasetDict, extractor: Any, label2id: dict[str, int], args: DataArguments) -> dict[str, Any]:
    """Features and label ids of every part; bad clips are named before the training, not in it."""
    prepare = classification_items(extractor, label2id)
    rate = extractor.sampling_rate
    clips = {
        name: ClipDataset(part["audio"], part["label"], prepare, rate, args.mix_channels, args.keep_features)
        for name, part in parts.items()
    }
    check_clips(clips)
    return clips


def main() -> dict[str, Any]:
    """Parse the command line, train, score the parts, write model, predictions and results."""
    parser = HfArgumentParser((DataArguments, SpeechModelArguments, SpeechTrainingArguments), description=__doc__)
    parser.set_defaults(output_dir="outputs/audio-classification")
    data_args, model_args, args = parser.parse_args_into_dataclasses()
    checkpoint = prepare_run(args)
    extractor = make_extractor(model_args, data_args)
    loaded = data_args.load("label")
    model = make_model(model_args, data_args.model_name_or_path, extractor, sorted(set(loaded["train"]["label"])))
    run = AudioClassificationRun(
        model, extractor, make_parts(loaded, extractor, model.config.label2id, data_args), args
    )
    results = {**run.run(checkpoint), "data": portable(asdict(data_args))}
    run.save(results, data_args.dataset_name or data_args.data_dir or data_args.train_file)
    return results


if __name__ == "__main__":
    main()
