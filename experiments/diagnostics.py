# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train one causal language model on one generated task, and test it at several lengths.

Every step draws a length and new sequences, so nothing is repeated. The learning rate is chosen by the loss on
validation sequences; test sequences are the same for all runs.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from benchmarks.reporting import machine_facts
from torch import Tensor, nn
from transformers import PreTrainedModel

import complex_transformers
from complex_transformers import optimizer_groups, recipes
from complex_transformers.analysis import count_parameters
from complex_transformers.recipes import TokenSequences
from experiments.equal_parameters import even_size

__all__ = ["PROTOCOL", "Cell", "Network", "Task", "build", "length_scores", "run", "settings", "validate"]

# Everything that is the same for all runs.
PROTOCOL: dict[str, Any] = {
    "batch_size": 32,
    "optimizer": "AdamW",
    "betas": [0.9, 0.98],
    "warmup_steps": 50,
    "schedule": "cosine",
    "max_grad_norm": 1.0,
    "test_tokens": 32768,  # of each length
    "test_batch_tokens": 8192,
    "threads": 1,
}
# Family -> defaults of its configuration when the first results were recorded.
DEFAULTS: dict[str, dict[str, Any]] = {"ComplexLlama": {"position_type": "rotary"}}
VALIDATION_SEED, TEST_SEED = 1, 2
STEPS = 10_000_000  # training seeds of a run; more than its steps
Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Task:
    """A generated task: a function of ``recipes``, its options, the lengths of training and test, and the steps.

    The longest training length grows from the shortest one during the share ``ramp`` of the steps, a curriculum.
    ``label_smoothing`` is a part of the training loss only. Learning rates are chosen by the mean loss on validation
    sequences of ``validation_lengths``, by default of the longest training length.
    """

    function: str
    options: Options
    train_lengths: tuple[int, int]
    test_lengths: tuple[int, ...]
    steps: int
    ramp: float = 0.0
    label_smoothing: float = 0.0
    weight_decay: float = 0.01
    validation_lengths: tuple[int, ...] = ()

    def longest(self, step: int) -> int:
        """Return the longest training length at a step."""
        shortest, longest = self.train_lengths
        share = min(1.0, step / (self.ramp * self.steps)) if self.ramp else 1.0
        return shortest + int(share * (longest - shortest))

    def sample(self, number: int, length: int, seed: int) -> TokenSequences:
        """Return sequences of one length."""
        return getattr(recipes, self.function)(number, length, seed, **dict(self.options))


@dataclass(frozen=True)
class Network:
    """A family, fields of its configuration, and for equal parameters the network to compare with.

    ``fitted`` is the field that is set so that both have the same number of parameters, as nearly as even sizes allow.
    """

    family: str
    options: Options
    equal_to: Network | None = None
    fitted: str = "intermediate_size"

    def model(self, task: Task, vocab_size: int) -> PreTrainedModel:
        """Build the network for the vocabulary and the training lengths of a task."""
        config_class = getattr(complex_transformers, f"{self.family}Config")
        if unknown := [name for name, _ in self.options if not hasattr(config_class, name)]:
            raise ValueError(f"options must be fields of {config_class.__name__}, got {unknown}.")  # any are accepted
        lengths = {"max_position_embeddings": task.train_lengths[1]}
        sizes = lengths if hasattr(config_class, "max_position_embeddings") else {}
        fields = {**DEFAULTS.get(self.family, {}), **sizes, **dict(self.options)}
        config = config_class(vocab_size=vocab_size, **fields)
        return getattr(complex_transformers, f"{self.family}ForCausalLM")(config)


@dataclass(frozen=True)
class Cell:
    """A network on a task with a learning rate."""

    task: Task
    network: Network
    learning_rate: float


def settings(cell: Cell) -> dict[str, Any]:
    """Return everything that a run depends on."""
    return {**PROTOCOL, **asdict(cell)}


def build(cell: Cell) -> PreTrainedModel:
    """Build the model of a cell, with as many parameters as the network to compare with, if there is one."""
    network, vocab_size = cell.network, cell.task.sample(1, cell.task.train_lengths[1], 0).vocab_size
    if network.equal_to is None:
        return network.model(cell.task, vocab_size)

    def count(candidate: Network) -> int:
        with torch.device("meta"):
            return count_parameters(candidate.model(cell.task, vocab_size))

    def sized(size: int) -> Network:
        return replace(network, options=tuple({**dict(network.options), network.fitted: size}.items()))

    size = even_size(lambda size: count(sized(size)), count(network.equal_to))
    return sized(size).model(cell.task, vocab_size)


def batches(task: Task, seed: int) -> Iterator[TokenSequences]:
    """Yield new training sequences, of one random length per step."""
    generator = torch.Generator().manual_seed(seed)
    for step in itertools.count():
        length = torch.randint(task.train_lengths[0], task.longest(step) + 1, (), generator=generator).item()
        yield task.sample(PROTOCOL["batch_size"], int(length), (seed + 1) * STEPS + step)


def train(cell: Cell, seed: int, model: PreTrainedModel) -> list[float]:
    """Train a model and return the loss of each step; a loss that is not finite ends the training."""
    steps, warmup = cell.task.steps, PROTOCOL["warmup_steps"]
    groups = optimizer_groups(model, cell.task.weight_decay)
    optimizer = torch.optim.AdamW(groups, lr=cell.learning_rate, betas=PROTOCOL["betas"])
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warmup, (1 + math.cos(math.pi * step / steps)) / 2)
    )
    losses: list[float] = []
    model.train()
    for sequences in itertools.islice(batches(cell.task, seed), steps):
        optimizer.zero_grad()
        loss = _training_loss(model(sequences.input_ids).logits, sequences.labels, cell.task.label_smoothing)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            break
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), PROTOCOL["max_grad_norm"])
        optimizer.step()
        rate.step()
    return losses


def _training_loss(logits: Tensor, labels: Tensor, label_smoothing: float) -> Tensor:
    """Return the mean cross-entropy of the labels of the next positions; -100 is no label."""
    return nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), label_smoothing=label_smoothing
    )


@torch.no_grad()
def length_scores(model: PreTrainedModel, task: Task, length: int, seed: int) -> dict[str, float]:
    """Return loss and accuracy per labelled token, and the share of sequences with all labels right, at one length."""
    model.eval()
    number = max(1, PROTOCOL["test_tokens"] // length)
    input_ids, labels, _ = task.sample(number, length, seed)
    size = max(1, PROTOCOL["test_batch_tokens"] // length)
    total, right, labelled, exact = 0.0, 0, 0, 0
    for ids, wanted in zip(input_ids.split(size), labels[:, 1:].split(size), strict=True):
        logits = model(ids).logits[:, :-1].float()
        asked = wanted != -100
        hits = (logits.argmax(dim=-1) == wanted)[asked]
        total += nn.functional.cross_entropy(logits[asked], wanted[asked], reduction="sum").item()
        right, labelled = right + int(hits.sum()), labelled + hits.numel()
        exact += int(((logits.argmax(dim=-1) == wanted) | ~asked).all(dim=1).sum())
    return {
        "loss": round(total / labelled, 5),
        "accuracy": round(right / labelled, 5),
        "exact": round(exact / number, 5),
    }


def _trained(cell: Cell, seed: int) -> tuple[PreTrainedModel, dict[str, Any]]:
    torch.set_num_threads(PROTOCOL["threads"])
    torch.manual_seed(seed)
    model = build(cell)
    start = time.perf_counter()
    losses = train(cell, seed, model)
    return model, {
        "parameters": count_parameters(model),
        "steps": len(losses),
        "diverged": not math.isfinite(losses[-1]),
        "seconds": round(time.perf_counter() - start, 1),
        "machine": machine_facts(),
    }


def validate(cell: Cell, seed: int) -> dict[str, Any]:
    """Train a cell and return the mean scores over the validation lengths."""
    model, found = _trained(cell, seed)
    lengths = cell.task.validation_lengths or cell.task.train_lengths[1:]
    scores = [length_scores(model, cell.task, length, VALIDATION_SEED) for length in lengths]
    means = {name: round(statistics.fmean(score[name] for score in scores), 5) for name in scores[0]}
    return {"validation": means, **found}


def run(cell: Cell, seed: int) -> dict[str, Any]:
    """Train a cell and test it at every length."""
    model, found = _trained(cell, seed)
    scores = {str(length): length_scores(model, cell.task, length, TEST_SEED) for length in cell.task.test_lengths}
    return {"test": scores, **found}
