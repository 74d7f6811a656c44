# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train an audio classifier from scratch, or fine-tune one, on tables, a folder of classes or a data set of the Hub.

The best epoch is chosen on the validation split, by accuracy; the test split, if there is one, is scored once at the
end.

    complex-transformers run audio-classification --train_file train.csv --validation_file validation.csv \
        --test_file test.csv --network fully_spectral --compression log
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from transformers import HfArgumentParser

from ...data.audio import ClipDataset, check_clips
from ..audio_classification import AudioClassificationRun
from ..records import portable
from ..run import prepare_run
from ..speech_arguments import SpeechDataArguments, SpeechTrainingArguments
from ..speech_models import SpeechModelArguments, build_classifier, classification_items

if TYPE_CHECKING:
    from datasets import DatasetDict


def make_parts(
    parts: DatasetDict, extractor: Any, label2id: dict[str, int], args: SpeechDataArguments
) -> dict[str, Any]:
    """Return features and label ids of every split; bad clips are reported before training."""
    prepare = classification_items(extractor, label2id)
    rate = extractor.sampling_rate
    clips = {
        name: ClipDataset(part["audio"], part["label"], prepare, rate, args.mix_channels, args.keep_features)
        for name, part in parts.items()
    }
    check_clips(clips)
    return clips


def main() -> dict[str, Any]:
    """Parse the command line, train, evaluate, save model, predictions and results."""
    parser = HfArgumentParser(
        (SpeechDataArguments, SpeechModelArguments, SpeechTrainingArguments), description=__doc__
    )
    parser.set_defaults(output_dir="outputs/audio-classification")
    data_args, model_args, args = parser.parse_args_into_dataclasses()
    checkpoint = prepare_run(args)
    loaded = data_args.load("label")
    labels = sorted(set(loaded["train"]["label"]))
    model, extractor = build_classifier(model_args, data_args.sampling_rate, labels)
    run = AudioClassificationRun(
        model, extractor, make_parts(loaded, extractor, model.config.label2id, data_args), args
    )
    results = {**run.run(checkpoint), "data": portable(asdict(data_args))}
    run.save(results, data_args.dataset_name or data_args.data_dir or data_args.train_file)
    return results
