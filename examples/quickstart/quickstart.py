#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Can a network tell a sentence from its shuffled words? Train one that can and one that cannot, and use the first.

    make quickstart                                                          # the embedded data set, about 3 minutes
    python examples/quickstart/quickstart.py --train_file reviews.csv        # your own texts

Trains a ComplexOrder classifier and, beside it, the same network without positions; prints both accuracies on held-out
texts; saves the first one (safetensors, tokenizer, model card); loads it again in a new process and classifies
sentences with it; draws the waves of a few learned words.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from transformers import EvalPrediction, HfArgumentParser, PreTrainedTokenizerFast, set_seed

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForSequenceClassification,
    ComplexTrainer,
    build_tokenizer,
    write_model_card,
)
from complex_transformers.analysis import (
    plot_waves,
)
from complex_transformers.recipes import (
    RunArguments,
    arguments_of,
    limit_progress_bars,
    load_text_dataset,
    word_order_dataset,
)

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict


@dataclass
class Arguments(arguments_of(load_text_dataset, overlap="drop")):
    """Data, network, training and output folder."""

    sentences: list[str] = field(
        default_factory=lambda: [
            "return the number of bytes in the file",
            "bytes the in file number return of the",
        ],
        metadata={"help": "texts for the trained model to classify"},
    )
    hidden_size: int = field(default=128, metadata={"help": "stored width, twice the complex features"})
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    num_train_epochs: float = 4
    learning_rate: float = 1e-3
    batch_size: int = 64
    seed: int = 0
    output_dir: str = "outputs/quickstart"


def load_data(args: Arguments) -> DatasetDict:
    """Return disjoint splits with the columns ``text`` and ``label``."""
    if args.train_file is None and args.dataset_name is None:
        return word_order_dataset(seed=args.seed)
    data = load_text_dataset(**args.given())
    return data.class_encode_column("label").align_labels_with_mapping(
        {label: index for index, label in enumerate(sorted(set(data["train"]["label"])))}, "label"
    )


def train(
    embedding_type: str, data: DatasetDict, tokenizer: PreTrainedTokenizerFast, args: Arguments
) -> tuple[ComplexOrderForSequenceClassification, float, float]:
    """Train one network; return it, its accuracy on the held-out split and the training time in seconds."""
    set_seed(args.seed)  # the same seed for both networks
    names = data["train"].features["label"].names
    config = ComplexOrderConfig(
        vocab_size=len(tokenizer),
        hidden_size=args.hidden_size,
        num_hidden_layers=args.num_hidden_layers,
        num_attention_heads=args.num_attention_heads,
        intermediate_size=2 * args.hidden_size,
        embedding_type=embedding_type,
        initializer_range=0.1,
        pad_token_id=tokenizer.pad_token_id,
        id2label=dict(enumerate(names)),
        label2id={name: index for index, name in enumerate(names)},
    )
    training_args = RunArguments(
        output_dir=f"{args.output_dir}/checkpoints-{embedding_type}",
        num_train_epochs=args.num_train_epochs,
        learning_rate=args.learning_rate,
        warmup_steps=0.05,
        logging_strategy="steps",
        logging_first_step=True,
        logging_steps=40,  # a few seconds on one core
        per_device_train_batch_size=args.batch_size,
        per_device_eval_batch_size=256,
        train_sampling_strategy="group_by_length",  # otherwise nearly half of a batch is padding
        save_strategy="no",
        load_best_model_at_end=False,
        seed=args.seed,
    )
    trainer = ComplexTrainer(
        ComplexOrderForSequenceClassification(config),
        training_args,
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        processing_class=tokenizer,  # pads each batch to its longest text
        compute_metrics=accuracy,
    )
    start = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - start
    return trainer.model, trainer.evaluate(held_out(data))["eval_accuracy"], seconds


def accuracy(prediction: EvalPrediction) -> dict[str, float]:
    """Compute the accuracy."""
    return {"accuracy": float(np.mean(prediction.predictions.argmax(-1) == prediction.label_ids))}


def held_out(data: DatasetDict) -> Dataset:
    """Return the split for the printed accuracy, which is never used for choices."""
    return data["test"] if "test" in data else data["validation"]


def common_words(data: DatasetDict, tokenizer: PreTrainedTokenizerFast, count: int = 4) -> list[str]:
    """Return a few frequent words that are single tokens."""
    words = Counter(word for text in data["train"]["text"] for word in text.lower().split())
    vocabulary = tokenizer.get_vocab()
    return [word for word, _ in words.most_common() if word in vocabulary and len(word) > 2][:count]


def main() -> None:
    """Train a classifier, save it, and use it from another process."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars()
    print("reading and tokenizing the texts ...", flush=True)
    data = load_data(args)
    # The tokenizer is trained on the training split only.
    tokenizer = build_tokenizer(data["train"]["text"], vocab_size=8000, min_frequency=2)
    encoded = data.map(lambda batch: tokenizer(batch["text"]), batched=True, desc="Tokenizing")
    sizes = ", ".join(f"{name} {len(part)}" for name, part in data.items())
    print(f"texts: {sizes}; for example: {data['train'][0]['text']!r}")

    results = {}
    for name, embedding_type in {"complex-order": "complex_order", "without positions": "word"}.items():
        print(f"\ntraining the network {name} ...", flush=True)
        results[name] = train(embedding_type, encoded, tokenizer, args)

    print(
        f"\n{'network':<20}{'accuracy':>10}{'parameters':>13}{'seconds':>9}   ({len(held_out(data))} held-out texts)"
    )
    for name, (model, score, seconds) in results.items():
        print(f"{name:<20}{score:>10.3f}{model.num_parameters():>13,}{seconds:>9.0f}")

    model, score, _ = results["complex-order"]
    folder = Path(args.output_dir) / "model"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    source = args.train_file or args.dataset_name or "the embedded word-order data set (docstrings of Python)"
    write_model_card(folder, model, training_data=f"{source}: {sizes}", metrics={"held-out accuracy": score})
    figure = plot_waves(model, tokenizer, common_words(data, tokenizer))
    figure.savefig(Path(args.output_dir) / "waves.png", dpi=150)
    print(f"\nsaved: {folder} and {Path(args.output_dir) / 'waves.png'}")

    print("a new process loads the folder and classifies:")
    command = [sys.executable, str(Path(__file__).with_name("classify.py"))]
    subprocess.run([*command, str(folder), *args.sentences], check=True)


if __name__ == "__main__":
    main()
