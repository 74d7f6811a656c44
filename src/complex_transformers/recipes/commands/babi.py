# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a memory network, complex or real, on one of the bAbI tasks, and save it for the question answering pipeline.

    complex-transformers run babi --archive tasks_1-20_v1-2.tar.gz --task 1

The best epoch is chosen on the end of the training split; the test split is scored once, also without the questions
that occur in the training split with the same story.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import EvalPrediction, HfArgumentParser, pipeline

from ...analysis import plot_memories
from ...data.tokenization import build_tokenizer
from ...models.complex_memory_network.configuration_complex_memory_network import ComplexMemoryNetworkConfig
from ...models.complex_memory_network.modeling_complex_memory_network import (
    ComplexMemoryNetworkForSequenceClassification,
)
from ...models.complex_memory_network.processing_complex_memory_network import MemoryProcessor
from ...training.callbacks import LinearStart
from ..arguments import RunArguments, arguments_of, new_default
from ..datasets.babi import load_babi, repeated_questions
from ..datasets.splits import hold_out_end
from ..records import portable
from ..run import Run, prepare_run

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

NO_ANSWER = -100  # an answer that the training split lacks: ignored by the loss, always counted as wrong
LENGTHS = ("story_length", "question_length")
WITHOUT = (*LENGTHS, "answer_token_ids")
TIME_NOISE, LENGTH_MARGIN = 0.1, 0.25  # defaults of the variants that use them
ModelArguments = arguments_of(
    ComplexMemoryNetworkConfig, without=WITHOUT, shown={"time_noise": TIME_NOISE}, hidden_size=40
)


@dataclass
class DataArguments(arguments_of(load_babi)):
    """The bAbI task, its archive and its splits."""

    archive: str = field(default="", metadata={"help": "tasks_1-20_v1-2.tar.gz, or the folder it was unpacked to"})
    task: int = field(default=1, metadata={"help": "1 to 20"})
    validation_split: float = field(default=0.1, metadata={"help": "share of the training split, its end"})
    length_margin: float | None = field(
        default=None,
        metadata={"help": f"word_memory: relative margin over the longest training text; default: {LENGTH_MARGIN}"},
    )
    word_answers: bool = field(
        default=False, metadata={"help": "tie the answers to the last embedding, W^T = C^K, as in the paper"}
    )

    def parts(self) -> DatasetDict:
        """Load ``train``, ``validation`` and ``test``."""
        if not self.archive:
            raise ValueError("--archive must be tasks_1-20_v1-2.tar.gz or its folder, got none. Set --archive.")
        loaded = load_babi(self.archive, self.task, self.folder)
        loaded["train"], loaded["validation"] = hold_out_end(loaded["train"], self.validation_split)
        return loaded


@dataclass
class TrainingArguments(RunArguments):
    """``RunArguments`` with defaults for small memory networks."""

    output_dir: str | None = "outputs/babi"
    num_train_epochs: float = new_default("num_train_epochs", 40, "a task has 1,000 or 10,000 questions")
    learning_rate: float = new_default("learning_rate", 5e-3, "the networks are small")
    per_device_eval_batch_size: int = new_default("per_device_eval_batch_size", 500, "evaluation keeps no gradients")
    per_device_train_batch_size: int = new_default("per_device_train_batch_size", 32, "as in Sukhbaatar et al. (2015)")
    max_grad_norm: float = new_default("max_grad_norm", 40.0, "as in Sukhbaatar et al. (2015)")
    remove_unused_columns: bool = new_default("remove_unused_columns", False, "the collator reads the stories")
    linear_start: bool | None = field(
        default=None,
        metadata={"help": "sentence_memory: start with linear attention; default: from two epochs"},
    )
    picture: int | None = field(
        default=None, metadata={"help": "index of a test question whose attention is drawn to memories.png"}
    )

    def linear_epochs(self, rows: int) -> int:
        """Return a fifth of the epochs, as in the released code (20 of 100), or 0 with fewer than two epochs."""
        epochs = self.num_train_epochs
        if self.max_steps > 0:
            epochs = self.max_steps / math.ceil(
                rows / (self.train_batch_size * self.world_size * self.gradient_accumulation_steps)
            )
        if self.linear_start and epochs < 2:
            raise ValueError(f"epochs must be at least 2 with --linear_start, got {epochs:.3g}.")
        return 0 if epochs < 2 or self.linear_start is False else max(1, int(epochs) // 5)


def check_options(variant: str, data_args: DataArguments, training_args: TrainingArguments) -> None:
    """Raise for an option without effect on this variant."""
    for arguments, name, reader in (
        (data_args, "length_margin", "word_memory"),
        (training_args, "linear_start", "sentence_memory"),
        (training_args, "picture", "sentence_memory"),
    ):
        value = getattr(arguments, name)
        if value is not None and value is not False and variant != reader:
            raise ValueError(f"--{name} must be left out unless --variant {reader}, got {value} with {variant}.")


def build_processor(variant: str, parts: DatasetDict, memory_size: int, margin: float | None) -> MemoryProcessor:
    """Build a processor from the training split; for ``word_memory`` also its largest lengths plus a margin."""
    train = parts["train"]
    tokenizer = build_tokenizer([text for row in train for text in (*row["story"], row["question"])], "word")
    if margin is None:
        return MemoryProcessor(tokenizer, memory_size=memory_size)
    stories = ([len(tokenizer.tokenize(text)) for text in row["story"]] for row in train)
    questions = (len(tokenizer.tokenize(row["question"])) for row in train)
    longest = (max(map(sum, stories)), max(questions))
    sizes = {name: round(length * (1.0 + margin)) for name, length in zip(LENGTHS, longest, strict=True)}
    return MemoryProcessor(tokenizer, variant, **sizes)


def encode(part: Dataset, processor: MemoryProcessor, label2id: dict[str, int]) -> Dataset:
    """Encode a split; a story longer than the memory is truncated on the left."""

    def words(batch: dict[str, list[Any]]) -> dict[str, Any]:
        encoded = processor(batch["story"], batch["question"], truncation=True)
        return {**encoded, "labels": [label2id.get(answer, NO_ANSWER) for answer in batch["answer"]]}

    return part.map(words, batched=True, remove_columns=part.column_names)


def accuracy(prediction: EvalPrediction) -> dict[str, float]:
    """Compute the accuracy."""
    logits = prediction.predictions[0] if isinstance(prediction.predictions, tuple) else prediction.predictions
    return {"accuracy": float(np.mean(logits.argmax(-1) == prediction.label_ids))}


def draw(run: Run, row: dict[str, Any]) -> None:
    """Draw the attention of every hop; the supporting sentences have a star."""
    ask = pipeline("complex-question-answering", model=run.model.eval(), processor=run.processing)
    found = ask(story=row["story"], question=row["question"])
    print(f"{' '.join(row['story'])} {row['question']} {found['answer']} (expected: {row['answer']})")
    supporting = [place - found["dropped_sentences"] for place in row["supporting"]]
    plot_memories(found["memories"], supporting).savefig(run.folder / "memories.png", dpi=150)


def main() -> dict[str, Any]:
    """Parse the command line, train, write the results and save the model with its processor."""
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments), description=__doc__)
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    checkpoint = prepare_run(training_args)
    parts = data_args.parts()
    picture, questions = training_args.picture, len(parts["test"])
    if picture is not None and not 0 <= picture < questions:
        raise ValueError(f"--picture must be a test question, 0 to {questions - 1}, got {picture}.")
    defaults = ComplexMemoryNetworkConfig()
    given = model_args.given()
    variant, memory_size = (given.get(name, getattr(defaults, name)) for name in ("variant", "memory_size"))
    check_options(variant, data_args, training_args)
    if variant == "word_memory" and data_args.length_margin is None:
        data_args.length_margin = LENGTH_MARGIN
    elif variant == "sentence_memory" and given.get("temporal") != "none":
        given.setdefault("time_noise", TIME_NOISE)
    processor = build_processor(variant, parts, memory_size, data_args.length_margin)
    answers = sorted(set(parts["train"]["answer"]))
    if data_args.word_answers:
        given["answer_token_ids"] = processor.answer_words(answers)
    label2id = {answer: index for index, answer in enumerate(answers)}
    config = ComplexMemoryNetworkConfig(
        **given,
        **{name: getattr(processor, name) for name in LENGTHS if variant == "word_memory"},
        vocab_size=len(processor.tokenizer),
        pad_token_id=processor.tokenizer.pad_token_id,
        id2label=dict(enumerate(answers)),
        label2id=label2id,
    )
    encoded = {name: encode(part, processor, label2id) for name, part in parts.items()}
    run = Run(
        ComplexMemoryNetworkForSequenceClassification(config),
        encoded,
        training_args,
        processing=processor,
        data_collator=lambda rows: processor.pad(rows, return_tensors="pt"),
        compute_metrics=accuracy,
    )
    run.figures = ("accuracy", "loss")
    if variant == "sentence_memory" and (linear_epochs := training_args.linear_epochs(len(encoded["train"]))):
        run.trainer.add_callback(LinearStart(max_epochs=linear_epochs, patience=None))
    results: dict[str, Any] = {**run.run(checkpoint), "data": portable(asdict(data_args))}
    repeated = repeated_questions(parts["test"], parts["train"])
    unseen = [row for row, seen in enumerate(repeated) if not seen]
    run.parts = {**run.parts, "unseen": encoded["test"].select(unseen)}
    results["unseen"] = (run.evaluate("unseen") if unseen else {}) | {"rows": len(unseen)}
    run.save(results, f"bAbI task {data_args.task} ({data_args.folder})")
    if picture is not None:
        draw(run, parts["test"][picture])
    return results
