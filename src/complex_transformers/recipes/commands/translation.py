# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a translation model from scratch, or fine-tune one, on two text files, a table or a data set of the Hub.

The best epoch is chosen on the validation split, by BLEU or by loss; the test split, if there is one, is translated
once at the end with beam search.

    complex-transformers run translation --train_file train.en train.de --validation_file val.en val.de \
        --test_file test.en test.de
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    HfArgumentParser,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from ...data.tokenization import build_tokenizer
from ...metrics.translation import TranslationMetric
from ...models.base.generation import learned_positions
from ...models.complex_seq2seq.configuration_complex_seq2seq import ComplexSeq2SeqConfig
from ..arguments import arguments_of
from ..datasets.parallel_text import encode_parallel_dataset, load_parallel_dataset
from ..datasets.splits import sample_training
from ..records import portable
from ..run import prepare_run
from ..translation import TranslationRun, TranslationTrainingArguments

if TYPE_CHECKING:
    from datasets import DatasetDict


@dataclass
class ModelArguments(arguments_of(ComplexSeq2SeqConfig)):
    """The network: fields of its configuration."""

    model_type: str | None = field(
        default=None, metadata={"help": "any encoder-decoder Transformers knows; default: complex_seq2seq"}
    )
    model_name_or_path: str | None = field(default=None, metadata={"help": "fine-tune this model, with its tokenizer"})
    config_overrides: list[str] = field(
        default_factory=list, metadata={"help": "other fields: NAME=VALUE ..., the value as JSON or a word"}
    )

    def fields(self) -> dict[str, Any]:
        """Return the fields that were given."""
        given = self.given()
        for override in self.config_overrides:
            name, equals, value = override.partition("=")
            if not equals:
                raise ValueError(f"--config_overrides must be NAME=VALUE, got {override!r}.")
            try:
                given[name] = json.loads(value)
            except json.JSONDecodeError:
                given[name] = value
        return given

    def model(self, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
        """Return a new model, or the saved one to fine-tune."""
        given = self.fields()
        if self.model_name_or_path is not None:
            if self.model_type is not None:
                raise ValueError(f"--model_type must be left out with --model_name_or_path, got {self.model_type!r}.")
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
        for name in sorted(set(given) - set(known)):
            raise ValueError(f"--{name} must be left out with --model_type {model_type}, got {given[name]!r}.")
        return AutoModelForSeq2SeqLM.from_config(AutoConfig.for_model(model_type, **given))


@dataclass
class DataArguments(arguments_of(load_parallel_dataset, encode_parallel_dataset)):
    """The data: local files or a data set of the Hub, and the tokenizer."""

    max_train_samples: int | None = field(default=None, metadata={"help": "size of a random training sample"})
    tokenizer_name_or_path: str | None = field(
        default=None, metadata={"help": "default: a new byte-level BPE of both languages"}
    )
    vocab_size: int = field(default=8000, metadata={"help": "vocabulary size of that BPE"})
    min_frequency: int = field(default=2, metadata={"help": "minimum frequency of its merges"})
    lowercase: bool = field(default=False, metadata={"help": "lower-case texts and scores"})
    bleu_tokenize: str = field(default="13a", metadata={"help": "sacrebleu's tokenizer: 13a, intl, zh, char, none"})


def make_tokenizer(parts: DatasetDict, data_args: DataArguments, name_or_path: str | None) -> PreTrainedTokenizerFast:
    """Load the tokenizer, or build one BPE for both languages from the training split."""
    if name_or_path is not None:
        tokenizer = AutoTokenizer.from_pretrained(name_or_path)
        if tokenizer.eos_token_id is None or tokenizer("a")["input_ids"][-1:] != [tokenizer.eos_token_id]:
            raise ValueError(f"tokenizer must append an EOS token (append_eos=True), got {name_or_path}.")
        return tokenizer
    return build_tokenizer(
        (text for column in ("source", "target") for text in parts["train"][column]),
        "bpe",
        vocab_size=data_args.vocab_size,
        min_frequency=data_args.min_frequency,
        lowercase=data_args.lowercase,
        append_eos=True,
    )


def load_data(data_args: DataArguments, given_tokenizer: str | None) -> tuple[DatasetDict, PreTrainedTokenizerFast]:
    """Load the splits and their tokenizer."""
    parts = load_parallel_dataset(**data_args.given(load_parallel_dataset))
    parts = sample_training(parts, data_args.max_train_samples, data_args.split_seed)
    return parts, make_tokenizer(parts, data_args, given_tokenizer)


def main() -> dict[str, Any]:
    """Parse the command line, train, translate the test split, save model, translations and results."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TranslationTrainingArguments), description=__doc__)
    model_args, data_args, args = parser.parse_args_into_dataclasses()
    checkpoint = prepare_run(args)
    given = data_args.tokenizer_name_or_path or checkpoint or model_args.model_name_or_path
    parts, tokenizer = load_data(data_args, given)
    model = model_args.model(tokenizer)
    if (positions := learned_positions(model)) is not None:
        tokenizer.model_max_length = min(positions, tokenizer.model_max_length)
    parts = encode_parallel_dataset(parts, tokenizer, **data_args.given(encode_parallel_dataset))
    run = TranslationRun(
        model,
        parts,
        args,
        collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        processing=tokenizer,
        metric=TranslationMetric(data_args.lowercase, data_args.bleu_tokenize),
    )
    results = {**run.run(checkpoint), "data": portable(asdict(data_args))}
    run.save(results, training_data=data_args.dataset_name or data_args.train_file[0])
    return results
