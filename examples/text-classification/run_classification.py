# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a text classifier from scratch on a data set of the Hub or on csv, tsv or json files.

Any network of the family (``--model_type``), any embedding (``--embedding_type``), either number field.

The best epoch is chosen on the validation part; the test part, where there is one, is scored once after each seed.

    python examples/text-classification/run_classification.py --train_file train.tsv --test_file test.tsv --seeds 0 1 2
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from datasets import DatasetDict
from transformers import (
    EarlyStoppingCallback,
    EvalPrediction,
    HfArgumentParser,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    set_seed,
)

import complex_transformers
from complex_transformers import (
    ComplexTrainer,
    build_tokenizer,
    command_line,
    load_text_dataset,
    model_record,
    portable,
    save_model,
    write_results,
)
from complex_transformers.nn import read_vectors

MODELS = {
    "complex_order": "ComplexOrder",
    "complex_fasttext": "ComplexFastText",
    "complex_text_cnn": "ComplexTextCNN",
    "complex_text_rnn": "ComplexTextRNN",
    "complex_text_gcn": "ComplexTextGCN",
}


def only(*models: str, help: str = "") -> dict[str, str]:
    """Help of a field that only some model types have."""
    return {"help": ", ".join(models) + (f": {help}" if help else "")}


@dataclass
class ModelArguments:
    """The network: fields of its configuration, under the same names; what is left out has the default there."""

    model_type: str = field(default="complex_order", metadata={"help": ", ".join(MODELS)})
    embedding_type: str | None = field(
        default=None, metadata={"help": "complex_order, complex_vanilla, word, learned_position, sinusoidal_position"}
    )
    number_field: str | None = field(default=None, metadata={"help": "complex, or real for the real twin"})
    hidden_size: int | None = field(
        default=None, metadata={"help": "width of the embedding, real and imaginary together"}
    )
    hidden_act: str | None = None
    amplitude_sharing: str | None = field(default=None, metadata={"help": "none, word or dimension"})
    frequency_sharing: str | None = field(default=None, metadata={"help": "none, word or dimension"})
    frequency_init: str | None = field(default=None, metadata={"help": "sinusoidal, normal or uniform"})
    phase: str | None = field(default=None, metadata={"help": "initial phases: none, learned or per_dimension"})
    damping: str | None = field(default=None, metadata={"help": "none or learned"})
    readout: str | None = field(
        default=None,
        metadata={"help": "modulus, squared_modulus, concat or feature_modulus; in the real field concat"},
    )
    weight_init: str | None = field(default=None, metadata={"help": "glorot, he, unitary or normal"})
    initializer_range: float | None = field(default=None, metadata={"help": "deviation of the embedding tables"})
    hidden_dropout_prob: float | None = None
    classifier_dropout: float | None = None
    max_position_embeddings: int | None = field(default=None, metadata={"help": "longest text, learned_position only"})
    intermediate_size: int | None = field(
        default=None, metadata=only("complex_order", "complex_fasttext", "complex_text_cnn", "complex_text_gcn")
    )
    num_hidden_layers: int | None = field(
        default=None, metadata=only("complex_order", "complex_text_rnn", "complex_text_gcn")
    )
    num_attention_heads: int | None = field(default=None, metadata=only("complex_order"))
    attention_score: str | None = field(
        default=None, metadata=only("complex_order", help="modulus, real or bilinear_modulus; in the real field real")
    )
    attention_normalization: str | None = field(
        default=None, metadata=only("complex_order", help="softmax, probability_amplitude or split_softmax")
    )
    attention_probs_dropout_prob: float | None = field(default=None, metadata=only("complex_order"))
    share_parts: bool | None = field(
        default=None, metadata=only("complex_order", help="equal real and imaginary weights in q, k, v")
    )
    norm_type: str | None = field(default=None, metadata=only("complex_order", help="layer, rms or batch"))
    norm_position: str | None = field(default=None, metadata=only("complex_order", help="post or pre"))
    kernel_sizes: list[int] | None = field(
        default=None, metadata=only("complex_text_cnn", help="words under each kernel")
    )
    num_filters: int | None = field(
        default=None, metadata=only("complex_text_cnn", help="of each kernel size, real and imaginary together")
    )
    rnn_type: str | None = field(default=None, metadata=only("complex_text_rnn", help="lstm, gru or rnn"))
    recurrent_size: int | None = field(
        default=None, metadata=only("complex_text_rnn", help="real and imaginary together")
    )
    bidirectional: bool | None = field(default=None, metadata=only("complex_text_rnn"))
    gate: str | None = field(default=None, metadata=only("complex_text_rnn", help="modulus or split"))
    state_activation: str | None = field(
        default=None, metadata=only("complex_text_rnn", help="split_tanh, hirose_tanh or split_relu")
    )
    pooling: str | None = field(default=None, metadata=only("complex_text_rnn", help="last or mean"))
    window_size: int | None = field(
        default=None, metadata=only("complex_text_gcn", help="words at most this far apart are neighbours")
    )

    def configuration(self, **fields: Any) -> Any:
        """The configuration; raises for a field that the model type does not have."""
        if self.model_type not in MODELS:
            raise ValueError(f"--model_type must be one of {sorted(MODELS)}, got {self.model_type!r}")
        config_class = getattr(complex_transformers, f"{MODELS[self.model_type]}Config")
        given = {name: value for name, value in asdict(self).items() if value is not None and name != "model_type"}
        if foreign := sorted(set(given) - set(config_class.__dataclass_fields__)):
            raise ValueError(f"--{foreign[0]} has no effect with --model_type {self.model_type}: leave it out")
        return config_class(**given, **fields)

    def model(self, config: Any) -> PreTrainedModel:
        """A new model with random weights."""
        return getattr(complex_transformers, f"{MODELS[self.model_type]}ForSequenceClassification")(config)


@dataclass
class DataArguments:
    """The data: a name on the Hub or local files, and how text becomes tokens."""

    dataset_name: str | None = field(default=None, metadata={"help": "a data set of the Hub, or a folder"})
    dataset_config_name: str | None = None
    train_file: str | None = field(default=None, metadata={"help": "csv, tsv, json or jsonl, also .gz"})
    validation_file: str | None = None
    test_file: str | None = None
    text_column: str = "text"
    label_column: str = "label"
    validation_split: float = field(
        default=0.1, metadata={"help": "share of the training part set aside, where no validation part is given"}
    )
    split_seed: int = field(default=0, metadata={"help": "of that split, the same for all seeds"})
    overlap: str = field(
        default="error", metadata={"help": "texts in two parts: error, drop (from the earlier part) or allow"}
    )
    max_train_samples: int | None = field(default=None, metadata={"help": "a random sample of the training part"})
    tokenizer: str = field(default="word", metadata={"help": "word, whitespace, bpe or character"})
    vocab_size: int = 30000
    min_frequency: int = 1
    keep_case: bool = False
    max_length: int | None = field(default=None, metadata={"help": "cut texts to this many tokens; default: never"})
    vectors: str | None = field(
        default=None, metadata={"help": "pretrained word vectors: word2vec text, word2vec *.bin or GloVe, also .gz"}
    )


@dataclass
class TrainingArguments(transformers.TrainingArguments):
    """``transformers.TrainingArguments`` with defaults that fit small models, and several seeds."""

    output_dir: str | None = "outputs/text-classification"
    num_train_epochs: float = 20
    learning_rate: float = 1e-3
    per_device_train_batch_size: int = 32
    per_device_eval_batch_size: int = 128
    eval_strategy: str = "epoch"
    save_strategy: str = "epoch"
    logging_strategy: str = "epoch"
    save_total_limit: int | None = 1
    load_best_model_at_end: bool = True
    dataloader_pin_memory: bool = torch.cuda.is_available()  # without a GPU it only warns
    metric_for_best_model: str | None = "accuracy"
    seeds: list[int] = field(default_factory=lambda: [0], metadata={"help": "one run for each; replaces --seed"})
    early_stopping_patience: int | None = field(
        default=None, metadata={"help": "stop after this many epochs without a better validation accuracy"}
    )
    output_json: str | None = field(default=None, metadata={"help": "default: results.json in output_dir"})


def load_parts(data_args: DataArguments) -> DatasetDict:
    """Columns ``text`` and ``label`` of the parts train, validation and, where given, test; disjoint by text."""
    parts = load_text_dataset(
        data_args.train_file,
        data_args.validation_file,
        data_args.test_file,
        dataset_name=data_args.dataset_name,
        dataset_config_name=data_args.dataset_config_name,
        text_column=data_args.text_column,
        label_column=data_args.label_column,
        validation_split=data_args.validation_split,
        split_seed=data_args.split_seed,
        overlap=data_args.overlap,
    )
    if data_args.max_train_samples is not None:
        sample = parts["train"].shuffle(seed=data_args.split_seed)
        parts["train"] = sample.select(range(min(data_args.max_train_samples, len(sample))))
    return parts


def encode(parts: DatasetDict, tokenizer: PreTrainedTokenizerFast, label2id: dict[str, int], max_length: int | None):
    """Token ids and label ids of every part."""
    for name, part in parts.items():
        if unknown := sorted(set(part["label"]) - set(label2id)):
            raise ValueError(f"the {name} data has labels {unknown} that the training data lacks: {sorted(label2id)}")

    def encode_batch(batch: dict[str, list[str]]) -> dict[str, Any]:
        return {**tokenizer(batch["text"]), "label": [label2id[label] for label in batch["label"]]}

    encoded = parts.map(encode_batch, batched=True, remove_columns=["text", "label"], desc="Tokenising")
    if max_length is not None:
        for name, part in encoded.items():
            if long := sum(len(ids) > max_length for ids in part["input_ids"]):
                print(f"{long} of {len(part)} {name} texts are cut to --max_length {max_length} tokens")
        encoded = encoded.map(lambda row: {k: row[k][:max_length] for k in ("input_ids", "attention_mask")})
    return encoded


def accuracy(prediction: EvalPrediction) -> dict[str, float]:
    """Share of texts whose largest logit is the label's."""
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def train_once(
    seed: int,
    make_model: Callable[[], PreTrainedModel],
    parts: DatasetDict,
    tokenizer: PreTrainedTokenizerFast,
    training_args: TrainingArguments,
) -> tuple[ComplexTrainer, dict[str, Any]]:
    """One seed: train, take the epoch that is best on validation, score the test part once."""
    args = copy.deepcopy(training_args)
    args.seed, args.output_dir = seed, f"{training_args.output_dir}/seed-{seed}"
    set_seed(seed)
    patience = args.early_stopping_patience
    trainer = ComplexTrainer(
        make_model(),
        args,
        train_dataset=parts["train"],
        eval_dataset=parts["validation"],
        processing_class=tokenizer,  # pads each batch to its longest text
        compute_metrics=accuracy,
        callbacks=[] if patience is None else [EarlyStoppingCallback(patience)],
    )
    start = time.perf_counter()
    trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)
    result: dict[str, Any] = {"seed": seed, "seconds": round(time.perf_counter() - start, 1)}
    epochs = {log["epoch"]: log["eval_accuracy"] for log in trainer.state.log_history if "eval_accuracy" in log}
    result["epochs"], result["best_epoch"] = len(epochs), max(epochs, key=epochs.__getitem__, default=None)
    result["validation_accuracy"] = trainer.evaluate()["eval_accuracy"]
    if "test" in parts:
        result["test_accuracy"] = trainer.predict(parts["test"]).metrics["test_accuracy"]
    return trainer, result


def main() -> dict[str, Any]:
    """Parse the command line, run every seed, write the results and save the last model."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    if training_args.resume_from_checkpoint is not None and len(training_args.seeds) > 1:
        raise ValueError("--resume_from_checkpoint continues one run: give that run's seed alone in --seeds")

    parts = load_parts(data_args)
    tokenizer = build_tokenizer(
        parts["train"]["text"],  # the training part alone: a word seen only in the test part is unknown
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
        trainer, run = train_once(seed, make_model, parts, tokenizer, training_args)
        runs.append(run)
        print({name: round(value, 4) if isinstance(value, float) else value for name, value in run.items()})

    summary = {"command": command_line(), "rows": {name: len(part) for name, part in parts.items()}}
    for metric in ("validation_accuracy", "test_accuracy"):
        if values := [run[metric] for run in runs if metric in run]:
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            summary[metric] = {"mean": statistics.mean(values), "std": spread, "min": min(values), "max": max(values)}
            print(f"{metric}: {100 * statistics.mean(values):.1f} +- {100 * spread:.1f} % ({len(values)} seeds)")
    summary |= {
        "parameters": trainer.model.num_parameters(),
        "seconds": sum(run["seconds"] for run in runs),
        "runs": runs,
        "data": portable(asdict(data_args)),
        **model_record(trainer),
    }
    if coverage is not None:
        summary["vector_coverage"] = coverage
        print(f"word vectors: {100 * coverage:.1f} % of the vocabulary; other words are drawn like them")
    print(f"parameters: {summary['parameters']:,}; training: {summary['seconds']:.0f} s; rows: {summary['rows']}")

    if trainer.is_world_process_zero():
        metrics = {name: value for name, value in runs[-1].items() if name.endswith("accuracy")}
        source = data_args.dataset_name or Path(data_args.train_file).name
        save_model(
            training_args.output_dir,
            trainer.model,
            tokenizer,
            training_data=f"`{source}`, {summary['rows']}",
            metrics=metrics,
        )
        write_results(training_args.output_json or Path(training_args.output_dir) / "results.json", summary)
    return summary


if __name__ == "__main__":
    main()
