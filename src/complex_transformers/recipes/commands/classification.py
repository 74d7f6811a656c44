# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a text classifier from scratch on a data set of the Hub or on csv, tsv or json files.

Any network of the family (``--model_type``), any embedding (``--embedding_type``), either number field.

The best epoch is chosen on the validation split; the test split, if there is one, is scored once after each seed.

    complex-transformers run classification --train_file train.tsv --test_file test.tsv --seeds 0 1 2
"""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from transformers import EvalPrediction, HfArgumentParser, PreTrainedModel, PreTrainedTokenizerFast

from ...data.tokenization import build_tokenizer
from ...data.vectors import read_vectors
from ..arguments import RunArguments, arguments_of, arguments_of_networks, new_default
from ..datasets.splits import check_labels, sample_training
from ..datasets.text_files import load_text_dataset
from ..records import portable
from ..run import Run, limit_progress_bars, prepare_run

if TYPE_CHECKING:
    from datasets import DatasetDict

NETWORKS = (
    "complex_order",
    "complex_fasttext",
    "complex_text_cnn",
    "complex_text_rnn",
    "complex_text_gcn",
    "complex_quantum",
)
ModelArguments = arguments_of_networks("AutoModelForSequenceClassification", *NETWORKS)


@dataclass
class DataArguments(arguments_of(load_text_dataset)):
    """The data: a data set of the Hub or local files, and the tokenizer."""

    max_train_samples: int | None = field(default=None, metadata={"help": "size of a random training sample"})
    tokenizer: str = field(default="word", metadata={"help": "word, whitespace, bpe or character"})
    vocab_size: int = 30000
    min_frequency: int = 1
    keep_case: bool = False
    max_length: int | None = field(default=None, metadata={"help": "truncate texts to so many tokens; default: never"})
    vectors: str | None = field(
        default=None, metadata={"help": "pretrained word vectors: word2vec text, word2vec *.bin or GloVe, also .gz"}
    )


@dataclass
class TrainingArguments(RunArguments):
    """``RunArguments`` with defaults for small models, and several seeds."""

    output_dir: str | None = "outputs/text-classification"
    num_train_epochs: float = new_default("num_train_epochs", 20, "small data sets need more passes")
    per_device_train_batch_size: int = new_default("per_device_train_batch_size", 32, "texts are short")
    per_device_eval_batch_size: int = new_default("per_device_eval_batch_size", 128, "evaluation keeps no gradients")
    metric_for_best_model: str | None = new_default("metric_for_best_model", "accuracy", "what is reported")
    seeds: list[int] = field(default_factory=lambda: [0], metadata={"help": "one run per seed; replaces --seed"})


def load_parts(data_args: DataArguments) -> DatasetDict:
    """Load the splits with the columns ``text`` and ``label``; they share no text."""
    parts = load_text_dataset(**data_args.given())
    return sample_training(parts, data_args.max_train_samples, data_args.split_seed)


def encode(
    parts: DatasetDict, tokenizer: PreTrainedTokenizerFast, label2id: dict[str, int], max_length: int | None
) -> DatasetDict:
    """Add token ids and label ids to every split."""
    check_labels(parts, label2id)

    def encode_batch(batch: dict[str, list[str]]) -> dict[str, Any]:
        return {**tokenizer(batch["text"]), "label": [label2id[label] for label in batch["label"]]}

    encoded = parts.map(encode_batch, batched=True, remove_columns=["text", "label"], desc="Tokenizing")
    if max_length is not None:
        for name, part in encoded.items():
            if long := sum(len(ids) > max_length for ids in part["input_ids"]):
                print(f"{long} of {len(part)} {name} texts are cut to --max_length {max_length} tokens")
        encoded = encoded.map(lambda row: {k: row[k][:max_length] for k in ("input_ids", "attention_mask")})
    return encoded


def accuracy(prediction: EvalPrediction) -> dict[str, float]:
    """Compute the accuracy."""
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def train_once(
    seed: int,
    make_model: Callable[[], PreTrainedModel],
    parts: DatasetDict,
    tokenizer: PreTrainedTokenizerFast,
    training_args: TrainingArguments,
) -> tuple[Run, dict[str, Any]]:
    """Train with one seed, load the best epoch on validation, score the test split once."""
    args = copy.deepcopy(training_args)
    args.seed, args.output_dir = seed, f"{training_args.output_dir}/seed-{seed}"
    checkpoint = prepare_run(args)
    run = Run(make_model(), parts, args, processing=tokenizer, compute_metrics=accuracy)  # pads to the longest text
    run.figures = ("accuracy",)
    record = run.run(checkpoint)
    result = {"seed": seed, "seconds": record["seconds"], "epochs": len(record["evaluations"])}
    result["best_epoch"] = record["best_epoch"]
    scores = {f"{name}_accuracy": record[name]["accuracy"] for name in ("validation", "test") if name in record}
    return run, {**result, **scores}


def main() -> dict[str, Any]:
    """Parse the command line, run every seed, write the results and save the last model."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    if training_args.resume_from_checkpoint not in (None, "last") and len(training_args.seeds) > 1:
        raise ValueError(f"--seeds must be one seed to resume from a checkpoint, got {training_args.seeds}.")
    if data_args.max_length is not None and data_args.max_length < 1:
        raise ValueError(f"--max_length must be 1 or more, got {data_args.max_length}.")
    limit_progress_bars(training_args.disable_tqdm)

    parts = load_parts(data_args)
    tokenizer = build_tokenizer(
        parts["train"]["text"],  # words that only the test split has must stay unknown
        data_args.tokenizer,
        vocab_size=data_args.vocab_size,
        min_frequency=data_args.min_frequency,
        lowercase=not data_args.keep_case,
    )
    labels = sorted(set(parts["train"]["label"]))
    label2id = {label: index for index, label in enumerate(labels)}
    parts = encode(parts, tokenizer, label2id, data_args.max_length)
    config = model_args.configuration(
        vocab_size=len(tokenizer),
        id2label=dict(enumerate(labels)),
        label2id=label2id,
        pad_token_id=tokenizer.pad_token_id,
    )
    learned = config.max_position_embeddings if config.embedding_type == "learned_position" else None
    limits = [limit for limit in (data_args.max_length, learned) if limit is not None]
    tokenizer.model_max_length = min([tokenizer.model_max_length, *limits])  # for truncation=True
    vectors = None if data_args.vectors is None else read_vectors(data_args.vectors)
    coverage = None

    def make_model() -> PreTrainedModel:
        nonlocal coverage
        model = model_args.model(copy.deepcopy(config))
        if vectors is not None:
            coverage = model.get_input_embeddings().load_vectors(vectors, tokenizer.get_vocab())
        return model

    runs = []
    for seed in training_args.seeds:
        last, figures = train_once(seed, make_model, parts, tokenizer, training_args)
        runs.append(figures)

    say = print if last.trainer.is_world_process_zero() else lambda text: None  # only the main process prints
    summary = {name: last.record[name] for name in ("command", "rows", "parameters", "config", "environment")}
    for metric in ("validation_accuracy", "test_accuracy"):
        if values := [run[metric] for run in runs if metric in run]:
            std = statistics.stdev(values) if len(values) > 1 else 0.0
            summary[metric] = {"mean": statistics.mean(values), "std": std, "min": min(values), "max": max(values)}
            say(f"{metric}: {100 * statistics.mean(values):.1f} +- {100 * std:.1f} % ({len(values)} seeds)")
    summary |= {"seconds": sum(run["seconds"] for run in runs), "runs": runs, "data": portable(asdict(data_args))}
    if coverage is not None:
        summary["vector_coverage"] = coverage
        say(f"word vectors: {100 * coverage:.1f} % of the vocabulary; other words are initialized at random")
    last.args = training_args  # the last model is saved above the folders of the seeds
    last.save(summary, data_args.dataset_name or data_args.train_file)
    return summary
