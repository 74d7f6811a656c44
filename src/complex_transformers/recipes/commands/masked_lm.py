# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a ComplexOrder masked language model from scratch on text files or a data set of the Hub, then fill masks.

    complex-transformers run masked-lm --train_file train.txt --validation_file valid.txt

With ``--fill_mask "the film was directed by <mask> ."`` the saved model answers at the end.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import (
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    EvalPrediction,
    HfArgumentParser,
    PreTrainedTokenizerFast,
    pipeline,
)

from ...data.tokenization import build_tokenizer
from ...metrics.language_modeling import language_model_scores
from ...models.complex_order.configuration_complex_order import ComplexOrderConfig
from ...models.complex_order.modeling_complex_order import ComplexOrderForMaskedLM
from ..arguments import RunArguments, arguments_of, new_default
from ..datasets.plain_text import load_plain_text
from ..records import portable
from ..run import Run, prepare_run

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

# ``--hidden_size`` and the other fields of the network, with defaults that train in minutes.
ModelArguments = arguments_of(ComplexOrderConfig, hidden_size=256, num_hidden_layers=2, num_attention_heads=4)


@dataclass
class DataArguments(arguments_of(load_plain_text, without=("keep_linebreaks",))):
    """The data: a data set of the Hub or text files, the tokenizer, and the masks."""

    tokenizer: str = field(default="whitespace", metadata={"help": "word, whitespace, bpe or character"})
    vocab_size: int = 10000
    keep_case: bool = False
    block_size: int = field(default=128, metadata={"help": "tokens per training example; lines are concatenated"})
    mlm_probability: float = 0.15
    mask_seed: int = field(default=0, metadata={"help": "seed of the fixed masks of validation and test"})
    fill_mask: list[str] = field(default_factory=list, metadata={"help": "sentences with <mask> to fill at the end"})


@dataclass
class TrainingArguments(RunArguments):
    """``RunArguments`` with defaults for small models; the best epoch has the lowest ``masked_loss``."""

    output_dir: str | None = "outputs/language-modeling"
    num_train_epochs: float = new_default("num_train_epochs", 2, "a pass over the text takes long on a CPU")
    warmup_steps: float = new_default("warmup_steps", 0.05, "a high learning rate needs a warmup")
    weight_decay: float = new_default("weight_decay", 0.01, "as in BERT (Devlin et al. 2019)")
    logging_strategy: str = "steps"
    logging_steps: float = new_default("logging_steps", 100, "shows progress within a minute")
    metric_for_best_model: str | None = new_default(
        "metric_for_best_model", "masked_loss", "mean over all masked tokens, whatever their batch"
    )


def load_parts(data_args: DataArguments) -> DatasetDict:
    """Load the splits with the column ``text``, without empty lines."""
    parts = load_plain_text(**data_args.given())
    parts = parts.filter(lambda row: bool(row["text"].strip()), desc="Leaving out empty lines")
    if empty := [name for name, part in parts.items() if not len(part)]:
        raise ValueError(f"the {empty[0]} data must have text, got only empty lines.")
    return parts


def make_blocks(parts: DatasetDict, tokenizer: PreTrainedTokenizerFast, block_size: int) -> DatasetDict:
    """Concatenate the lines and cut them into blocks; the last block of a batch may be shorter."""
    if block_size < 2:
        raise ValueError(f"--block_size must be at least 2, got {block_size}.")

    def join_and_cut(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        ids = [token for line in tokenizer(batch["text"])["input_ids"] for token in line]
        return {"input_ids": [ids[start : start + block_size] for start in range(0, len(ids), block_size)]}

    # Only one batch is in memory at once; each leaves one short block.
    return parts.map(join_and_cut, batched=True, batch_size=10_000, remove_columns=["text"], desc="Making blocks")


class Collator:
    """Data collator that masks training blocks dynamically; blocks with labels are masked already and only padded."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, mlm_probability: float, seed: int | None = None) -> None:
        self.mask = DataCollatorForLanguageModeling(tokenizer, mlm_probability=mlm_probability, seed=seed)
        self.pad = DataCollatorForTokenClassification(tokenizer)

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Tensor]:
        return self.pad(features) if "labels" in features[0] else self.mask(features)


def mask_once(name: str, part: Dataset, tokenizer: PreTrainedTokenizerFast, data_args: DataArguments) -> Dataset:
    """Mask the split ``name`` once, so that every epoch and every model is scored on the same tokens."""
    collator = Collator(tokenizer, data_args.mlm_probability, seed=data_args.mask_seed)
    blocks = (collator([{"input_ids": ids}]) for ids in part["input_ids"])
    rows = [{key: block[key][0].tolist() for key in ("input_ids", "labels")} for block in blocks]
    if all(label == -100 for row in rows for label in row["labels"]):
        raise ValueError(f"the {name} data must have masked tokens, got none. Add text or raise --mlm_probability.")
    return part.from_list(rows)


def token_scores(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return loss and correctness of each token instead of logits ``[B, N, vocabulary]``."""
    losses = torch.nn.functional.cross_entropy(logits.float().transpose(1, 2), labels, reduction="none")
    return losses, (logits.argmax(-1) == labels).float()


def masked_metrics(prediction: EvalPrediction) -> dict[str, float]:
    """Compute perplexity and accuracy over all masked tokens."""
    losses, hits = prediction.predictions
    masked = prediction.label_ids != -100
    scores = language_model_scores(float(losses[masked].mean()), 1)
    accuracy = float(hits[masked].mean())
    return {"masked_loss": scores["loss"], "perplexity": scores["perplexity"], "masked_accuracy": accuracy}


def main() -> dict[str, Any]:
    """Parse the command line, train, score, save and fill the masks of the given sentences."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    checkpoint = prepare_run(training_args)

    parts = load_parts(data_args)
    tokenizer = build_tokenizer(
        parts["train"]["text"], data_args.tokenizer, vocab_size=data_args.vocab_size, lowercase=not data_args.keep_case
    )
    if bad := [sentence for sentence in data_args.fill_mask if tokenizer.mask_token not in sentence]:
        raise ValueError(f"--fill_mask must be sentences with {tokenizer.mask_token}, got {bad[0]!r}.")
    blocks = make_blocks(parts, tokenizer, data_args.block_size)
    scored = {name: mask_once(name, blocks[name], tokenizer, data_args) for name in blocks if name != "train"}
    config = ComplexOrderConfig(**model_args.given(), vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id)
    if config.embedding_type == "learned_position":
        tokenizer.model_max_length = config.max_position_embeddings  # for truncation=True
    run = Run(
        ComplexOrderForMaskedLM(config),
        {**scored, "train": blocks["train"]},
        training_args,
        processing=tokenizer,
        data_collator=Collator(tokenizer, data_args.mlm_probability),
        compute_metrics=masked_metrics,
        preprocess_logits_for_metrics=token_scores,
    )
    run.figures = ("perplexity", "masked_accuracy", "masked_loss")
    results = {**run.run(checkpoint), "data": portable(asdict(data_args))}
    results["blocks"] = results.pop("rows")
    run.save(results, data_args.dataset_name or data_args.train_file)
    if run.trainer.is_world_process_zero():
        results["fill_mask"] = fill_masks(run.folder, data_args.fill_mask)
        run.write(results)
    return results


def fill_masks(model_dir: Path, sentences: list[str]) -> dict[str, list[list[Any]]]:
    """Return the three most probable words for the mask of each sentence, from the saved model."""
    if not sentences:
        return {}
    fill = pipeline("fill-mask", model=str(model_dir), top_k=3, device="cpu")
    answers = {}
    for sentence in sentences:
        answers[sentence] = [[answer["token_str"], round(answer["score"], 4)] for answer in fill(sentence)]
        print(f"{sentence}: " + ", ".join(f"{word} ({score:.2f})" for word, score in answers[sentence]))
    return answers
