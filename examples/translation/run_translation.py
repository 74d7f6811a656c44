# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a translation model from scratch, or fine-tune one, on two text files, a table or a data set of the Hub.

The best epoch is chosen on the validation part, by BLEU or by loss; the test part, where there is one, is translated
once at the end with beam search.

    python examples/translation/run_translation.py --train_files train.en train.de --validation_files val.en val.de \
        --test_files test.en test.de
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import datasets
import torch
import transformers
from datasets import DatasetDict
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    EarlyStoppingCallback,
    HfArgumentParser,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    set_seed,
)

from complex_transformers import (
    ComplexSeq2SeqTrainer,
    TranslationMetric,
    TranslationScorer,
    build_tokenizer,
    encode_parallel_dataset,
    last_complete_checkpoint,
    load_parallel_dataset,
    longest_first,
    portable,
    run_record,
    save_model,
    write_results,
)


@dataclass
class ModelArguments:
    """The network: fields of its configuration, under the same names; what is left out has the default there."""

    model_type: str | None = field(
        default=None, metadata={"help": "any encoder-decoder Transformers knows; default: complex_seq2seq"}
    )
    model_name_or_path: str | None = field(default=None, metadata={"help": "fine-tune this model, with its tokenizer"})
    embedding_type: str | None = field(
        default=None, metadata={"help": "complex_order, complex_vanilla, word, learned_position, sinusoidal_position"}
    )
    number_field: str | None = field(default=None, metadata={"help": "complex, or real for the real twin"})
    hidden_size: int | None = field(default=None, metadata={"help": "real and imaginary together"})
    encoder_layers: int | None = None
    decoder_layers: int | None = None
    num_attention_heads: int | None = None
    intermediate_size: int | None = None
    hidden_act: str | None = None
    hidden_dropout_prob: float | None = None
    attention_probs_dropout_prob: float | None = None
    attention_score: str | None = field(
        default=None, metadata={"help": "modulus, real or bilinear_modulus; in the real field real"}
    )
    attention_normalization: str | None = field(
        default=None, metadata={"help": "softmax, probability_amplitude or split_softmax"}
    )
    share_parts: bool | None = field(default=None, metadata={"help": "equal real and imaginary weights in q, k, v"})
    norm_type: str | None = field(default=None, metadata={"help": "layer, rms or batch"})
    norm_position: str | None = field(default=None, metadata={"help": "post or pre"})
    amplitude_sharing: str | None = field(default=None, metadata={"help": "none, word or dimension"})
    frequency_sharing: str | None = field(default=None, metadata={"help": "none, word or dimension"})
    frequency_init: str | None = field(default=None, metadata={"help": "sinusoidal, normal or uniform"})
    phase: str | None = field(default=None, metadata={"help": "initial phases: none, learned or per_dimension"})
    damping: str | None = field(default=None, metadata={"help": "none or learned"})
    lm_readout: str | None = field(default=None, metadata={"help": "concat, modulus, ... of the output layer"})
    weight_init: str | None = field(default=None, metadata={"help": "glorot, he, unitary or normal"})
    initializer_range: float | None = field(default=None, metadata={"help": "deviation of the embedding tables"})
    max_position_embeddings: int | None = field(default=None, metadata={"help": "longest text, learned_position only"})
    label_smoothing: float | None = field(default=None, metadata={"help": "inside the model's own loss"})
    share_embeddings: bool | None = field(default=None, metadata={"help": "one table for encoder and decoder"})
    tie_word_embeddings: bool | None = None
    config_overrides: list[str] = field(
        default_factory=list, metadata={"help": "any other field: NAME=VALUE ..., the value as JSON or a word"}
    )

    def fields(self) -> dict[str, Any]:
        """The configuration's fields that were given."""
        own = ("model_type", "model_name_or_path", "config_overrides")
        given = {name: value for name, value in asdict(self).items() if value is not None and name not in own}
        for override in self.config_overrides:
            name, equals, value = override.partition("=")
            if not equals:
                raise ValueError(f"--config_overrides takes NAME=VALUE, got {override!r}")
            try:
                given[name] = json.loads(value)
            except json.JSONDecodeError:
                given[name] = value
        return given

    def model(self, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
        """A new model with random weights, or the one to fine-tune."""
        given = self.fields()
        if self.model_name_or_path is not None:
            if self.model_type is not None:
                raise ValueError("give either --model_type or --model_name_or_path")
            return AutoModelForSeq2SeqLM.from_pretrained(self.model_name_or_path, **given)
        given = {
            "vocab_size": len(tokenizer),
            "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "decoder_start_token_id": tokenizer.bos_token_id,
            **given,
        }
        model_type = self.model_type or "complex_seq2seq"
        known = type(AutoConfig.for_model(model_type)).__dataclass_fields__
        if foreign := sorted(set(given) - set(known)):
            raise ValueError(f"--{foreign[0]} has no effect with --model_type {model_type}: leave it out")
        return AutoModelForSeq2SeqLM.from_config(AutoConfig.for_model(model_type, **given))


@dataclass
class DataArguments:
    """The data: local files or a name on the Hub, and how text becomes tokens."""

    train_files: list[str] | None = field(
        default=None, metadata={"help": "two aligned text files (source, target), or one csv, tsv, json(l); also .gz"}
    )
    validation_files: list[str] | None = None
    test_files: list[str] | None = None
    dataset_name: str | None = field(default=None, metadata={"help": "a data set of the Hub, or a folder"})
    dataset_config_name: str | None = None
    source_column: str = field(
        default="source", metadata={"help": "of a table; in a column translation, the language: en"}
    )
    target_column: str = "target"
    validation_split: float | None = field(
        default=None, metadata={"help": "share of the training pairs set aside, where there is no validation part"}
    )
    split_seed: int = field(default=0, metadata={"help": "of that split and of --max_train_samples"})
    empty: str = field(default="error", metadata={"help": "pairs with an empty side: error or drop"})
    overlap: str = field(
        default="error", metadata={"help": "pairs in two parts: error, drop (from the earlier part) or allow"}
    )
    max_train_samples: int | None = field(default=None, metadata={"help": "a random sample of the training part"})
    tokenizer_name_or_path: str | None = field(
        default=None, metadata={"help": "default: a byte-level BPE of both languages, from the training part"}
    )
    vocab_size: int = field(default=8000, metadata={"help": "of that BPE"})
    min_frequency: int = field(default=2, metadata={"help": "of its merges"})
    lowercase: bool = field(default=False, metadata={"help": "of texts and scores"})
    max_source_length: int | None = field(default=None, metadata={"help": "tokens; default: the tokenizer's limit"})
    max_target_length: int | None = None
    too_long: str = field(default="error", metadata={"help": "longer pairs: error, truncate or drop"})
    bleu_tokenize: str = field(default="13a", metadata={"help": "sacrebleu's tokenizer: 13a, intl, zh, char, none"})
    test_num_beams: int = field(default=5, metadata={"help": "for the test part, and for the saved model"})
    length_penalty: list[float] = field(
        default_factory=lambda: [1.0],
        metadata={"help": "of beam search: above 1 prefers long translations; of several, the best for validation"},
    )


@dataclass
class TrainingArguments(transformers.Seq2SeqTrainingArguments):
    """``transformers.Seq2SeqTrainingArguments`` with defaults that fit small models."""

    output_dir: str | None = "outputs/translation"
    num_train_epochs: float = 20
    learning_rate: float = 1e-3
    lr_scheduler_type: str = "inverse_sqrt"
    warmup_steps: float = 1000
    weight_decay: float = 0.01
    per_device_train_batch_size: int = 64
    per_device_eval_batch_size: int = 128
    train_sampling_strategy: str = "group_by_length"
    predict_with_generate: bool = True
    generation_num_beams: int | None = field(default=1, metadata={"help": "for the validation part"})
    generation_max_length: int | None = field(
        default=None, metadata={"help": "tokens; default: 10 more than the longest target of training"}
    )
    eval_strategy: str = "epoch"
    save_strategy: str = "epoch"
    logging_strategy: str = "epoch"
    save_total_limit: int | None = 1
    load_best_model_at_end: bool = True
    metric_for_best_model: str | None = field(
        default="bleu", metadata={"help": "bleu or loss, of the validation part"}
    )
    dataloader_pin_memory: bool = torch.cuda.is_available()  # without a GPU it only warns
    resume_from_checkpoint: str | None = field(
        default=None, metadata={"help": "a checkpoint, or last: the newest in output_dir, if there is one"}
    )
    early_stopping_patience: int | None = field(
        default=None, metadata={"help": "stop after this many epochs without a better validation part"}
    )
    output_json: str | None = field(default=None, metadata={"help": "default: results.json in output_dir"})


def find_checkpoint(args: TrainingArguments) -> str | None:
    """Where to go on: a given checkpoint, the newest, or the beginning."""
    if args.resume_from_checkpoint != "last":
        return args.resume_from_checkpoint
    return last_complete_checkpoint(args.output_dir)


def make_tokenizer(parts: DatasetDict, data_args: DataArguments, name_or_path: str | None) -> PreTrainedTokenizerFast:
    """The tokenizer given, or one BPE for both languages from the training part alone."""
    if name_or_path is not None:
        tokenizer = AutoTokenizer.from_pretrained(name_or_path)
        if tokenizer.eos_token_id is None or tokenizer("a")["input_ids"][-1:] != [tokenizer.eos_token_id]:
            raise ValueError(
                f"the tokenizer {name_or_path} does not end a text with an end-of-text token: no model "
                "could learn where to stop"
            )
        return tokenizer
    return build_tokenizer(
        (text for column in ("source", "target") for text in parts["train"][column]),
        "bpe",
        vocab_size=data_args.vocab_size,
        min_frequency=data_args.min_frequency,
        lowercase=data_args.lowercase,
        append_eos=True,
    )


class Translation:
    """Data, tokenizer, model and trainer of one run."""

    def __init__(
        self, model_args: ModelArguments, data_args: DataArguments, args: TrainingArguments, checkpoint: str | None
    ) -> None:
        self.data_args, self.args = data_args, args
        parts = load_parallel_dataset(
            data_args.train_files,
            data_args.validation_files,
            data_args.test_files,
            dataset_name=data_args.dataset_name,
            dataset_config_name=data_args.dataset_config_name,
            source_column=data_args.source_column,
            target_column=data_args.target_column,
            validation_split=data_args.validation_split,
            split_seed=data_args.split_seed,
            empty=data_args.empty,
            overlap=data_args.overlap,
        )
        if data_args.max_train_samples is not None:
            sample = parts["train"].shuffle(seed=data_args.split_seed)
            parts["train"] = sample.select(range(min(data_args.max_train_samples, len(sample))))
        given = checkpoint or data_args.tokenizer_name_or_path or model_args.model_name_or_path
        self.tokenizer = make_tokenizer(parts, data_args, given)
        self.parts = encode_parallel_dataset(
            parts,
            self.tokenizer,
            max_source_length=data_args.max_source_length,
            max_target_length=data_args.max_target_length,
            too_long=data_args.too_long,
        )
        for name in self.parts.keys() - {"train"}:
            self.parts[name] = longest_first(self.parts[name])
        metric = TranslationMetric(data_args.lowercase, data_args.bleu_tokenize)
        self.scorer = TranslationScorer(self.tokenizer, metric)

        self.model = model_args.model(self.tokenizer)
        if args.generation_max_length is None:
            args.generation_max_length = max(map(len, self.parts["train"]["labels"])) + 10
        generation = self.model.generation_config
        generation.max_length, generation.max_new_tokens = args.generation_max_length, None
        generation.num_beams, generation.length_penalty = data_args.test_num_beams, data_args.length_penalty[0]

    def make_trainer(self) -> ComplexSeq2SeqTrainer:
        """The trainer; by validation loss it generates nothing before the end."""
        args = self.args
        by_loss = args.metric_for_best_model in ("loss", "eval_loss")
        args.predict_with_generate, args.greater_is_better = not by_loss, not by_loss
        patience = args.early_stopping_patience
        return ComplexSeq2SeqTrainer(
            self.model,
            args,
            train_dataset=self.parts["train"],
            eval_dataset=self.parts["validation"],
            data_collator=DataCollatorForSeq2Seq(self.tokenizer, model=self.model),
            processing_class=self.tokenizer,
            compute_metrics=None if by_loss else self.scorer.compute_metrics(self.parts["validation"]),
            callbacks=[] if patience is None else [EarlyStoppingCallback(patience)],
        )


def main() -> dict[str, Any]:
    """Parse the command line, train, translate the test part, write model, translations and results."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, args = parser.parse_args_into_dataclasses()
    if args.disable_tqdm:
        datasets.disable_progress_bars()
        transformers.utils.logging.disable_progress_bar()
    set_seed(args.seed)
    checkpoint = find_checkpoint(args)
    run = Translation(model_args, data_args, args, checkpoint)
    trainer = run.make_trainer()

    start = time.perf_counter()
    trainer.train(resume_from_checkpoint=checkpoint)
    record = run_record(trainer, time.perf_counter() - start, checkpoint is not None)
    config, environment = record.pop("config"), record.pop("environment")
    results: dict[str, Any] = {**record, "rows": {name: len(part) for name, part in run.parts.items()}}

    scorer, beams = run.scorer, data_args.test_num_beams
    validation = run.parts["validation"]
    results["validation"], _ = scorer.translate(trainer, validation, args.generation_num_beams or 1)
    if len(data_args.length_penalty) > 1:
        penalties = data_args.length_penalty
        results["length_penalties"] = scorer.choose_length_penalty(trainer, validation, penalties, beams)
    results["length_penalty"] = trainer.model.generation_config.length_penalty
    if "test" in run.parts:
        results["test"], texts = scorer.translate(trainer, run.parts["test"], beams)
        results["predictions"] = "predictions.txt"
        if trainer.is_world_process_zero():
            path = Path(args.output_dir) / "predictions.txt"
            path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    results |= {
        "signatures": scorer.signatures,
        "generation_max_length": args.generation_max_length,
        "config": config,
        "data": portable(asdict(data_args)),
        "environment": environment,
    }
    for name in ("validation", "test"):
        if name in results:
            print(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in results[name].items()))
    print(f"parameters: {results['parameters']:,}; training: {results['seconds']:.0f} s, {results['steps']} steps")
    if trainer.is_world_process_zero():
        source = portable(data_args.dataset_name or data_args.train_files[0])
        metrics = {key: results.get("test", results["validation"])[key] for key in ("bleu", "chrf")}
        save_model(args.output_dir, trainer.model, run.tokenizer, training_data=f"`{source}`", metrics=metrics)
        write_results(args.output_json or Path(args.output_dir) / "results.json", results)
    return results


if __name__ == "__main__":
    main()
