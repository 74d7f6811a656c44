# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a model that transcribes speech: by CTC, or with a decoder (``--decoder_layers``).

The symbols are the characters of the transcripts. The epoch with the lowest label error rate on validation is kept;
the test part, where there is one, is transcribed once.

    python examples/speech/run_ctc.py --train_file train.csv --validation_file dev.csv --test_file test.csv
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from datasets import DatasetDict
from transformers import HfArgumentParser, PreTrainedModel

from complex_transformers import (
    ClipDataset,
    ConcatenatedClips,
    SpectralTransformerForConditionalGeneration,
    SpectralTransformerForCTC,
    SpectralTransformerProcessor,
    SpeechDataArguments,
    SpeechModelArguments,
    SpeechTrainingArguments,
    TranscriptionRun,
    build_ctc_tokenizer,
    build_tokenizer,
    prepare_run,
)

# What suits translation (docs/decisions/0006-translation.md): waves with phases of their own, and the positions of
# Vaswani et al. (2017) in a real decoder.
COMPLEX_SYMBOLS = {"embedding_type": "complex_order", "phase": "learned", "initializer_range": 0.3}
REAL_SYMBOLS = {"embedding_type": "sinusoidal_position", "initializer_range": 1.0}


@dataclass
class DataArguments(SpeechDataArguments):
    """The data, and strings of several clips in place of single ones."""

    concatenate: list[int] | None = field(
        default=None,
        metadata={"help": "shortest longest: strings of so many clips, drawn anew for training and fixed elsewhere"},
    )
    string_counts: list[int] = field(
        default_factory=lambda: [2000, 500, 500],
        metadata={"help": "with --concatenate: strings of an epoch, of validation and of test"},
    )

    def __post_init__(self) -> None:
        if self.concatenate is not None and len(self.concatenate) != 2:
            raise ValueError(f"--concatenate takes two numbers, shortest and longest, got {self.concatenate}")
        if len(self.string_counts) != 3:
            raise ValueError(f"--string_counts takes three numbers, one for each part, got {self.string_counts}")


@dataclass
class DecoderArguments:
    """The form of the model."""

    decoder_layers: int = field(default=0, metadata={"help": "0: CTC; more: a decoder that writes symbol by symbol"})
    label_smoothing: float = field(default=0.0, metadata={"help": "of a decoder's training loss"})


def build(
    network: SpeechModelArguments, decoder: DecoderArguments, sampling_rate: int | None, texts: list[str]
) -> tuple[PreTrainedModel, SpectralTransformerProcessor]:
    """A new model with its processor, whose symbols are those of the texts."""
    extractor = network.extractor(sampling_rate)
    if decoder.decoder_layers == 0:
        tokenizer = build_ctc_tokenizer(texts)
        head: dict[str, Any] = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        model = SpectralTransformerForCTC(network.config(extractor, ctc_loss_reduction="mean", **head))
        return model, SpectralTransformerProcessor(extractor, tokenizer)
    tokenizer = build_tokenizer(texts, kind="character", lowercase=False, append_eos=True)
    head = {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "decoder_start_token_id": tokenizer.bos_token_id,
        "decoder_layers": decoder.decoder_layers,
        "label_smoothing": decoder.label_smoothing,
        **(REAL_SYMBOLS if network.is_real else COMPLEX_SYMBOLS),
    }
    model = SpectralTransformerForConditionalGeneration(network.config(extractor, decoder=head))
    return model, SpectralTransformerProcessor(extractor, tokenizer)


def clips(args: DataArguments, parts: DatasetDict, processor: SpectralTransformerProcessor) -> dict[str, ClipDataset]:
    """What the model reads and has to say, part by part; bad clips are named before the training, not in it."""
    rate = processor.feature_extractor.sampling_rate

    def prepare(wave: Any, text: str) -> dict[str, Any]:
        item = processor(audio=wave, text=text, sampling_rate=rate)
        return {"input_features": item["input_features"][0], "labels": item["labels"][0]}

    datasets: dict[str, ClipDataset] = {}
    for (name, part), size in zip(parts.items(), args.string_counts, strict=False):
        common = (part["audio"], part["text"], prepare, rate, args.mix_channels)
        if args.concatenate is None:
            datasets[name] = ClipDataset(*common, keep_items=args.keep_features)
        else:
            shortest, longest = args.concatenate
            seed = None if name == "train" else args.split_seed
            datasets[name] = ConcatenatedClips(*common, shortest=shortest, longest=longest, size=size, seed=seed)
        datasets[name].check()
    return datasets


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line, train and report."""
    parser = HfArgumentParser((DataArguments, SpeechModelArguments, DecoderArguments, SpeechTrainingArguments))
    data, network, decoder, args = parser.parse_args_into_dataclasses(args=arguments)
    checkpoint = prepare_run(args)
    parts = data.load("text")
    texts = [text for part in parts.values() for text in part["text"]]
    model, processor = build(network, decoder, data.sampling_rate, texts)
    print("clips: " + ", ".join(f"{name} {len(part):,}" for name, part in parts.items()))
    run = TranscriptionRun(model, processor, clips(data, parts, processor), args)
    results = run.run(checkpoint)
    run.save({**results, "network": network.network}, data.train_file or data.dataset_name)


if __name__ == "__main__":
    main()
