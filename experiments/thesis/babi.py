# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of a memory network on a bAbI task with one seed, scored after every epoch."""

from __future__ import annotations

import copy
import math
import os
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from benchmarks.reporting import machine_facts
from torch import Tensor

from complex_transformers import (
    ComplexMemoryNetworkConfig,
    ComplexMemoryNetworkForSequenceClassification,
    LinearStart,
    MemoryProcessor,
    build_tokenizer,
)
from complex_transformers.analysis import count_parameters, memory_hit_rates
from complex_transformers.recipes import load_babi, repeated_questions

__all__ = ["BabiCell", "run", "settings"]

ARCHIVE = "qa/babi/tasks_1-20_v1-2.tar.gz"
MEMORY_SIZE = 50  # most recent sentences that are kept (Sukhbaatar et al. 2015, 4.2)
VALIDATION_SHARE = 0.1
BATCH_SIZE = 32
RECIPES: dict[str, dict[str, Any]] = {
    # As in the paper, with the mean of 32 losses, not their sum: learning rate 0.01 (0.005 during linear start),
    # gradients clipped at 40.
    "sentence_memory": {
        "optimizer": "SGD",
        "learning_rate": 0.01 * BATCH_SIZE,
        "linear_rate": 0.005 * BATCH_SIZE,
        "halvings": 3,
        "clip": 40.0 / BATCH_SIZE,
    },
    # Dropout of the example whose parameter counts the thesis gives (Thesis, Table 4.3).
    "word_memory": {
        "optimizer": "Adam",
        "learning_rate": 1e-3,
        "halvings": 0,
        "clip": None,
    },
}


@dataclass(frozen=True)
class BabiCell:
    """A training run without its seed; equal cells give the same result.

    ``width`` is the stored width of a sentence or word, ``units`` the stored width of the state of ``word_memory``.
    """

    task: int
    number_field: str
    width: int
    folder: str = "en-10k"
    variant: str = "sentence_memory"
    epochs: int = 40
    linear_epochs: int = 0  # number of first epochs without a softmax over the memories
    units: int | None = None
    options: tuple[tuple[str, Any], ...] = ()  # configuration fields
    word_answers: bool = False  # the answer head is tied to the last embedding


@dataclass(frozen=True)
class Stories:
    """Inputs and answers of a split; an answer that is not in the training split is -1."""

    inputs: dict[str, Tensor]
    answers: Tensor
    supporting: tuple[tuple[int, ...], ...]  # indices among the kept sentences
    repeated: Tensor

    def __len__(self) -> int:
        return len(self.answers)

    def rows(self, rows: Tensor) -> dict[str, Tensor]:
        """Return some questions, without padding that only others need."""
        chosen = {name: value[rows] for name, value in self.inputs.items()}
        if chosen["input_ids"].dim() == 3:
            count = int(chosen["attention_mask"].any(-1).sum(-1).max())
            chosen |= {name: chosen[name][:, :count] for name in ("input_ids", "attention_mask")}
        return chosen


@cache
def load_stories(
    folder: str, task: int, variant: str, word_answers: bool
) -> tuple[dict[str, Stories], dict[str, Any]]:
    """Return the splits and their configuration fields; validation is the end of the training split."""
    parts = load_babi(Path(os.environ.get("COMPLEX_TRANSFORMERS_DATA", "../shared/data")) / ARCHIVE, task, folder)
    texts = [text for row in parts["train"] for text in (*row["story"], row["question"])]
    tokenizer = build_tokenizer(texts, "word")
    sizes: dict[str, Any] = {}
    if variant == "word_memory":
        lengths = [
            (sum(len(tokenizer.tokenize(text)) for text in row["story"]), len(tokenizer.tokenize(row["question"])))
            for part in parts.values()
            for row in part
        ]
        sizes = dict(zip(("story_length", "question_length"), map(max, zip(*lengths, strict=True)), strict=True))
        processor = MemoryProcessor(tokenizer, variant, **sizes)
    else:
        sizes = {"memory_size": MEMORY_SIZE}
        processor = MemoryProcessor(tokenizer, memory_size=MEMORY_SIZE)
    labels = {answer: label for label, answer in enumerate(sorted(set(parts["train"]["answer"])))}
    if word_answers:
        sizes["answer_token_ids"] = processor.answer_words(list(labels))
    repeated = {"train": [True] * len(parts["train"]), "test": repeated_questions(parts["test"], parts["train"])}
    found = {}
    for name, part in parts.items():
        encoded = processor(part["story"], part["question"], truncation=True, return_tensors="pt")
        dropped = [max(0, len(story) - MEMORY_SIZE) for story in part["story"]]
        supporting = zip(part["supporting"], dropped, strict=True)
        found[name] = Stories(
            dict(encoded),
            torch.tensor([labels.get(answer, -1) for answer in part["answer"]]),
            tuple(tuple(place - less for place in places) for places, less in supporting),
            torch.tensor(repeated[name]),
        )
    count = round(len(found["train"]) * (1.0 - VALIDATION_SHARE))
    whole = found["train"]
    for name, rows in (("train", slice(count)), ("validation", slice(count, None))):
        inputs = {key: value[rows] for key, value in whole.inputs.items()}
        found[name] = Stories(inputs, whole.answers[rows], whole.supporting[rows], whole.repeated[rows])
    return found, {**sizes, "vocab_size": len(tokenizer), "num_labels": len(labels)}


def settings(cell: BabiCell) -> dict[str, Any]:
    """Return everything that changes a result and is not in the name of its row."""
    return {
        **RECIPES[cell.variant],
        "batch_size": BATCH_SIZE,
        "epochs": cell.epochs,
        "linear_epochs": cell.linear_epochs,
        "width": cell.width,
        "units": cell.units,
        "word_answers": cell.word_answers,
    }


def build(cell: BabiCell, sizes: dict[str, Any]) -> ComplexMemoryNetworkForSequenceClassification:
    """Build the network of a cell."""
    units = {} if cell.units is None else {"recurrent_size": cell.units}
    config = ComplexMemoryNetworkConfig(
        variant=cell.variant,
        number_field=cell.number_field,
        hidden_size=cell.width,
        **units,
        **sizes,
        **dict(cell.options),
    )
    return ComplexMemoryNetworkForSequenceClassification(config)


@torch.no_grad()
def score(model: ComplexMemoryNetworkForSequenceClassification, part: Stories) -> dict[str, Any]:
    """Return accuracy, cross entropy, correctness of each question, and the sentence of largest weight in each hop."""
    model.eval()
    logits, looked_at = [], []
    for rows in torch.arange(len(part)).split(500):
        out = model(**part.rows(rows))
        logits.append(out.logits)
        looked_at.append(out.memory_weights.argmax(-1))
    model.train()
    joined = torch.cat(logits)
    right = joined.argmax(-1) == part.answers
    known = part.answers >= 0
    loss = torch.nn.functional.cross_entropy(joined[known], part.answers[known]).item()
    return {"accuracy": right.double().mean().item(), "loss": loss, "right": right, "looked_at": torch.cat(looked_at)}


def train(cell: BabiCell, parts: dict[str, Stories], model: Any, seed: int) -> dict[str, Any]:
    """Train a network and score the epoch of lowest validation loss after the linear start."""
    recipe = RECIPES[cell.variant]
    optimizer = getattr(torch.optim, recipe["optimizer"])(model.parameters(), lr=recipe["learning_rate"], fused=True)
    generator = torch.Generator().manual_seed(seed)
    start = LinearStart(max_epochs=cell.linear_epochs, patience=None) if cell.linear_epochs else None
    if start:
        start.begin(model.config)
    best: dict[str, Any] = {"loss": math.inf}
    curve = []
    model.train()
    for epoch in range(1, cell.epochs + 1):
        is_linear = epoch <= cell.linear_epochs
        halvings = (epoch - 1 - cell.linear_epochs) * (recipe["halvings"] + 1) // (cell.epochs - cell.linear_epochs)
        rate = recipe["linear_rate"] if is_linear else recipe["learning_rate"] * 0.5**halvings
        optimizer.param_groups[0]["lr"] = rate
        for rows in torch.randperm(len(parts["train"]), generator=generator).split(BATCH_SIZE):
            optimizer.zero_grad()
            loss = model(**parts["train"].rows(rows), labels=parts["train"].answers[rows]).loss
            loss.backward()
            if recipe["clip"]:
                torch.nn.utils.clip_grad_norm_(model.parameters(), recipe["clip"])
            optimizer.step()
        found = score(model, parts["validation"])
        curve.append(round(found["accuracy"], 4))
        if start and is_linear:
            start.after_evaluation(model.config, found["loss"], epoch)
        elif found["loss"] < best["loss"]:
            best = {"loss": found["loss"], "epoch": epoch, "weights": copy.deepcopy(model.state_dict())}
    if not math.isfinite(best["loss"]):
        return {"diverged": True, "curve": curve}
    model.load_state_dict(best["weights"])
    return {"diverged": False, "curve": curve, "best_epoch": best["epoch"]}


def hexadecimal(questions: Tensor) -> str:
    """Pack one bit per question into a hexadecimal number; bit 2^i is question i."""
    return f"{sum(1 << place for place in questions.nonzero().flatten().tolist()):x}"


def run(cell: BabiCell, seed: int) -> dict[str, Any]:
    """Train a cell; the seed determines weights and the order of the batches."""
    torch.set_num_threads(1)
    parts, sizes = load_stories(cell.folder, cell.task, cell.variant, cell.word_answers)
    torch.manual_seed(seed)
    model = build(cell, sizes)
    start = time.perf_counter()
    found = train(cell, parts, model, seed)
    result = {**found, "parameters": count_parameters(model), "seconds": round(time.perf_counter() - start, 1)}
    if not found["diverged"]:
        scores = {name: score(model, part) for name, part in parts.items()}
        test, unseen = scores["test"], ~parts["test"].repeated
        result |= {name: round(found["accuracy"], 5) for name, found in scores.items()}
        result["train_loss"] = round(scores["train"]["loss"], 6)
        result["unseen"] = round(test["right"][unseen].double().mean().item(), 5)
        result["wrong"] = hexadecimal(~test["right"])
        if cell.variant == "sentence_memory":
            rates = memory_hit_rates(test["looked_at"], parts["test"].supporting)
            result["hit_rates"] = [round(rate, 4) for rate in rates]
    return {**result, "machine": machine_facts()}
