# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train on a task of Babble (thesis, section 5.5): tasks 1 to 6 transcribe, task 7 tells babble from other sounds.

The folder has the layout of the data set: ``babble.csv``, the recordings, and ``tasks/``, which ``--make_tasks``
writes from the full transcriptions where it is missing. Transcription is by CTC, or by a decoder with
``--decoder_layers``.

    complex-transformers run babble --folder babble --task 4 --network fully_spectral
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import HfArgumentParser

from ...data.audio import ClipDataset, check_clips
from ...models.spectral_transformer.feature_extraction_spectral_transformer import SpectralFeatureExtractor
from ..audio_classification import AudioClassificationRun
from ..datasets.babble import BABBLE_TASKS, load_babble, write_babble_tasks
from ..records import portable
from ..run import prepare_run
from ..speech_arguments import SpeechTrainingArguments
from ..speech_models import (
    DecoderArguments,
    SpeechModelArguments,
    build_classifier,
    build_transcriber,
    classification_items,
    transcription_items,
)
from ..transcription import TranscriptionRun

if TYPE_CHECKING:
    from datasets import DatasetDict


@dataclass
class DataArguments:
    """The data: the folder of the Babble corpus, and one of its tasks."""

    folder: str = field(metadata={"help": "folder of the data set"})
    task: int = field(default=1, metadata={"help": "; ".join(f"{n}: {name}" for n, name in BABBLE_TASKS.items())})
    make_tasks: bool = field(default=False, metadata={"help": "write missing files of this task from babble.csv"})
    min_count: int = field(
        default=10, metadata={"help": "leave out transcriptions with rarer symbols, for make_tasks"}
    )
    sampling_rate: int | None = field(default=None, metadata={"help": "Hz, default 16000; audio is resampled"})
    mix_channels: bool = field(default=False, metadata={"help": "average the channels of audio with several"})
    pad_short: bool = field(
        default=False, metadata={"help": "pad clips shorter than a window with zeros (T 5.5.1: some have 8 ms)"}
    )
    keep_features: bool = field(
        default=False, metadata={"help": "keep features in memory instead of computing them in every epoch"}
    )


def load(args: DataArguments) -> DatasetDict:
    """Load the splits of the task."""
    folder = Path(args.folder)
    if args.make_tasks and not (folder / "tasks" / f"babble.task{args.task}.train.csv").exists():
        print(f"task {args.task}: {write_babble_tasks(folder, [args.task], args.min_count)[args.task]}")
    return load_babble(folder, args.task)


def clips(
    args: DataArguments, parts: DatasetDict, prepare: Callable[..., Any], extractor: SpectralFeatureExtractor
) -> dict[str, ClipDataset]:
    """Return features and targets of every split; bad clips are reported before training."""

    def filled(waveform: np.ndarray, target: Any) -> Any:
        return prepare(np.pad(waveform, (0, max(extractor.window_length - len(waveform), 0))), target)

    column = "label" if args.task == 7 else "text"
    item = filled if args.pad_short else prepare
    rate = extractor.sampling_rate
    datasets = {
        name: ClipDataset(part["audio_path"], part[column], item, rate, args.mix_channels, args.keep_features)
        for name, part in parts.items()
    }
    check_clips(datasets)
    return datasets


def main() -> dict[str, Any]:
    """Parse the command line, train, evaluate, save model, predictions and results."""
    parser = HfArgumentParser((DataArguments, SpeechModelArguments, DecoderArguments, SpeechTrainingArguments))
    parser.set_defaults(output_dir="outputs/babble")
    data, network, decoder, args = parser.parse_args_into_dataclasses()
    checkpoint = prepare_run(args)
    parts = load(data)
    run: AudioClassificationRun | TranscriptionRun
    if data.task == 7:
        if decoder.decoder_layers:
            raise ValueError(f"--decoder_layers must be 0 for task 7, a classification, got {decoder.decoder_layers}.")
        labels = ["other", "babble"]
        classifier, extractor = build_classifier(network, data.sampling_rate, labels)
        ids: dict[Any, int] = {number: classifier.config.label2id[label] for number, label in enumerate(labels)}
        prepare = classification_items(extractor, ids)
        run = AudioClassificationRun(classifier, extractor, clips(data, parts, prepare, extractor), args)
    else:
        texts = [text for part in parts.values() for text in part["text"]]
        model, processor = build_transcriber(network, decoder, data.sampling_rate, texts)
        prepare = transcription_items(model, processor)
        datasets = clips(data, parts, prepare, processor.feature_extractor)
        run = TranscriptionRun(model, processor, datasets, args)
    results = {
        **run.run(checkpoint),
        "task": data.task,
        "network": portable(network.model_name_or_path or network.network),
    }
    run.save(results, f"Babble, task {data.task}")
    return results
