#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex-order word embeddings in front of a stock BERT of Transformers, through ``inputs_embeds``.

The task is the built-in word-order data set: is a sentence in order, or are its words shuffled? BERT's own position
embeddings are zero and frozen, so only the complex-order embedding provides order.

    python examples/drop-in/train_bert_with_complex_order.py
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EvalPrediction,
    HfArgumentParser,
    PreTrainedTokenizerFast,
    set_seed,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from complex_transformers import (
    ComplexOrderEmbedding,
    ComplexTrainer,
    build_tokenizer,
)
from complex_transformers.recipes import (
    RunArguments,
    limit_progress_bars,
    word_order_dataset,
)

if TYPE_CHECKING:
    from datasets import DatasetDict


@dataclass
class Arguments:
    """Sizes and lengths of the two runs."""

    hidden_size: int = field(default=128, metadata={"help": "hidden size of BERT"})
    num_hidden_layers: int = 2
    max_sentences: int | None = field(default=None, metadata={"help": "use at most this many; default: all"})
    num_train_epochs: float = 5
    learning_rate: float = 1e-3
    batch_size: int = 64
    seed: int = 0
    output_dir: str = "outputs/drop-in-bert"


class BertWithoutPositions(BertForSequenceClassification):
    """BERT whose position embeddings are zero and frozen, so that it ignores word order."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        torch.nn.init.zeros_(self.bert.embeddings.position_embeddings.weight)
        self.bert.embeddings.position_embeddings.requires_grad_(False)


class BertWithComplexOrder(BertWithoutPositions):
    """The same BERT with r exp(i omega pos) as input embeddings, in ``[real | imag]`` halves."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.complex_order = ComplexOrderEmbedding(
            config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id
        )
        self.bert.embeddings.word_embeddings.requires_grad_(False)  # not used

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Run BERT on the embeddings of ``input_ids``; positions count the real tokens from 1."""
        embeddings = self.complex_order(input_ids, attention_mask=attention_mask)
        return super().forward(inputs_embeds=embeddings, attention_mask=attention_mask, labels=labels)


def make_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Build a word tokenizer that prepends ``<cls>``, since BERT classifies by the first token."""
    tokenizer = build_tokenizer(texts)
    tokenizer.add_special_tokens({"cls_token": "<cls>"})
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<cls> $A", special_tokens=[("<cls>", tokenizer.cls_token_id)]
    )
    return tokenizer


def accuracy(prediction: EvalPrediction) -> dict[str, float]:
    """Compute the accuracy."""
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def train(
    model_class: type[BertWithoutPositions], args: Arguments, parts: DatasetDict, tokenizer: PreTrainedTokenizerFast
) -> float:
    """Train one model and return its accuracy on the test split."""
    set_seed(args.seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=args.hidden_size,
        num_hidden_layers=args.num_hidden_layers,
        num_attention_heads=4,
        intermediate_size=2 * args.hidden_size,
        pad_token_id=tokenizer.pad_token_id,
    )
    training_args = RunArguments(
        output_dir=f"{args.output_dir}/{model_class.__name__}",
        num_train_epochs=args.num_train_epochs,
        learning_rate=args.learning_rate,
        warmup_steps=0.1,
        per_device_train_batch_size=args.batch_size,
        per_device_eval_batch_size=256,
        train_sampling_strategy="group_by_length",
        save_strategy="no",
        load_best_model_at_end=False,
        seed=args.seed,
    )
    trainer = ComplexTrainer(
        model_class(config),
        training_args,
        train_dataset=parts["train"],
        eval_dataset=parts["validation"],
        processing_class=tokenizer,
        compute_metrics=accuracy,
    )
    trainer.train()
    return trainer.predict(parts["test"]).metrics["test_accuracy"]


def main() -> dict[str, float]:
    """Train BERT with and without the embedding; print both accuracies on the test split."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    limit_progress_bars()
    parts = word_order_dataset(max_sentences=args.max_sentences)
    tokenizer = make_tokenizer(parts["train"]["text"])
    parts = parts.map(lambda batch: tokenizer(batch["text"]), batched=True, remove_columns=["text"])
    results = {}
    for model_class in (BertWithoutPositions, BertWithComplexOrder):
        start = time.perf_counter()
        results[model_class.__name__] = train(model_class, args, parts, tokenizer)
        seconds = time.perf_counter() - start
        print(f"{model_class.__name__}: test accuracy {results[model_class.__name__]:.3f}, {seconds:.0f} s")
    print(f"rows: { {name: len(part) for name, part in parts.items()} }, seed {args.seed}")
    return results


if __name__ == "__main__":
    main()
