# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train or fine-tune a speech recognizer with CTC or a decoder (``--decoder_layers``).

The symbols are the characters of the transcripts. The epoch with the lowest label error rate on validation is kept;
the test split, if there is one, is transcribed once.

    complex-transformers run ctc --train_file train.csv --validation_file dev.csv --test_file test.csv
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from transformers import HfArgumentParser, PreTrainedModel

from ...data.audio import ClipDataset, ConcatenatedClips, check_clips
from ...models.spectral_transformer.processing_spectral_transformer import SpectralTransformerProcessor
from ..records import portable
from ..run import prepare_run
from ..speech_arguments import SpeechDataArguments, SpeechTrainingArguments
from ..speech_models import DecoderArguments, SpeechModelArguments, build_transcriber, transcription_items
from ..transcription import TranscriptionRun

if TYPE_CHECKING:
    from datasets import DatasetDict


@dataclass
class DataArguments(SpeechDataArguments):
    """The data, and concatenation of several clips."""

    concatenate: list[int] | None = field(
        default=None,
        metadata={"help": "shortest longest: concatenate so many clips, at random in training and fixed otherwise"},
    )
    string_counts: list[int] = field(
        default_factory=lambda: [2000, 500, 500],
        metadata={"help": "with --concatenate: strings per epoch, of validation and of test"},
    )

    def __post_init__(self) -> None:
        if self.concatenate is not None and len(self.concatenate) != 2:
            raise ValueError(f"--concatenate must be two numbers, shortest and longest, got {self.concatenate}.")
        if self.concatenate is not None and self.keep_features:
            raise ValueError("--keep_features must be left out with --concatenate, got True.")
        if len(self.string_counts) != 3:
            raise ValueError(f"--string_counts must be three numbers, one per split, got {self.string_counts}.")


def clips(
    args: DataArguments, parts: DatasetDict, model: PreTrainedModel, processor: SpectralTransformerProcessor
) -> dict[str, ClipDataset]:
    """Return a data set of clips per split; bad clips are reported before training."""
    rate, prepare = processor.feature_extractor.sampling_rate, transcription_items(model, processor)
    datasets: dict[str, ClipDataset] = {}
    for (name, part), size in zip(parts.items(), args.string_counts, strict=False):
        common = (part["audio"], part["text"], prepare, rate, args.mix_channels)
        if args.concatenate is None:
            datasets[name] = ClipDataset(*common, keep_items=args.keep_features)
        else:
            shortest, longest = args.concatenate
            seed = None if name == "train" else args.split_seed
            datasets[name] = ConcatenatedClips(*common, shortest=shortest, longest=longest, size=size, seed=seed)
    check_clips(datasets)
    return datasets


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line, train and report."""
    parser = HfArgumentParser((DataArguments, SpeechModelArguments, DecoderArguments, SpeechTrainingArguments))
    data, network, decoder, args = parser.parse_args_into_dataclasses(args=arguments)
    checkpoint = prepare_run(args)
    parts = data.load("text")
    texts = [text for part in parts.values() for text in part["text"]]
    model, processor = build_transcriber(network, decoder, data.sampling_rate, texts)
    print("clips: " + ", ".join(f"{name} {len(part):,}" for name, part in parts.items()))
    run = TranscriptionRun(model, processor, clips(data, parts, model, processor), args)
    results = run.run(checkpoint)
    results["network"] = portable(network.model_name_or_path or network.network)
    run.save(results, data.train_file or data.dataset_name)
