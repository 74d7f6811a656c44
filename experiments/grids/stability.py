# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Divergence of training: every activation, norm, attention score, initializer and recurrent cell, with many seeds.

    python -m experiments.run stability

trains a small network from each seed in each setting, everything else at its default (dropout included), without
warmup and without gradient clipping, which would hide divergence. A run

* *diverged* if a loss or a gradient is not finite;
* *did not learn* if it did not diverge and its mean training loss over the last 10 steps exceeds 0.9 times the loss
  of chance: ln 2 for two classes, ln V for a language model, ln 3 for the answers about a story.

A run is a line of ``experiments/results/stability.jsonl``. The table goes to ``docs/stability.md``.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from benchmarks.reporting import machine_facts
from torch import Tensor
from transformers import PreTrainedModel

import complex_transformers
from complex_transformers import build_tokenizer, optimizer_groups
from complex_transformers.models.base.configuration import NORM_POSITIONS, NORM_TYPES
from complex_transformers.models.complex_text_rnn.configuration_complex_text_rnn import RNN_TYPES
from complex_transformers.nn import ACT2CFN, GATES
from complex_transformers.nn.attention.multi_head import ATTENTION_FUNCTIONS
from complex_transformers.nn.initialization import INITIALIZERS
from complex_transformers.nn.memory import MEMORY_SCORES
from complex_transformers.nn.recurrent.gates import default_gate
from complex_transformers.recipes import word_order_dataset
from experiments.grid import Functions

LEARNED_BELOW = 0.9  # times the loss of chance
LAST_STEPS = 10
RECURRENT_ACTIVATIONS = ("split_tanh", "hirose_tanh", "split_relu")  # activations that a recurrent state supports

# Everything that changes the result of a run.
PROTOCOL: dict[str, Any] = {
    "task": "word_order_dataset(max_sentences=160), split train: 256 texts, half of them shuffled",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "steps": 100,
    "batch_size": 32,
    "optimizer": "AdamW",
    "learning_rate": 1e-3,
    "weight_decay": 0.01,
    "warmup_steps": 0,
    "max_grad_norm": None,
    "threads": 1,
}


# Language models and memory networks have their own tasks and the same training.
WRITING = "the same texts in order: 128 to be written"
TASKS = {
    "ComplexRecurrentLM": WRITING,
    "ComplexMamba": WRITING,
    "ComplexMemoryNetwork": "256 stories of four sentences of a person and one of three places: where is the person?",
}


@dataclass(frozen=True)
class Setting:
    """A change of a family's default configuration, and its group in the table."""

    group: str
    changes: tuple[tuple[str, Any], ...]
    family: str = "ComplexOrder"

    @property
    def name(self) -> str:
        """The key in the results; the default configuration is shown in every group and measured once."""
        changes = ", ".join(f"{key}={value}" for key, value in self.changes)
        if self.family != "ComplexOrder":
            return f"{self.family}, {changes}"
        return "default" if self.is_default() else changes

    @property
    def label(self) -> str:
        """The name shown in the table."""
        texts = (value if isinstance(value, str) else f"{key}={value}" for key, value in self.changes)
        return ", ".join(f"`{text}`" for text in texts)

    def is_default(self) -> bool:
        """Return whether this is the default configuration of the family."""
        config = getattr(complex_transformers, f"{self.family}Config")()
        return all(getattr(config, key) == value for key, value in self.changes)


def settings() -> list[Setting]:
    """Return a setting for each entry of the registries, so that a new activation or norm is included."""
    rows = [Setting("Activation", (("hidden_act", name),)) for name in ACT2CFN]
    rows += [
        Setting("Norm and its position", (("norm_type", norm), ("norm_position", position)))
        for norm in NORM_TYPES
        for position in NORM_POSITIONS
    ]
    rows += [
        Setting(
            "Attention score and normalisation",
            (("attention_score", score), ("attention_normalization", normalization)),
        )
        for score, normalization in ATTENTION_FUNCTIONS
    ]
    rows += [Setting("Initializer", (("weight_init", name),)) for name in INITIALIZERS]
    rows += [
        Setting(f"Recurrent classifier, {kind}", (("rnn_type", kind), *changes), "ComplexTextRNN")
        for kind in RNN_TYPES
        for changes in _recurrent_changes(kind)
    ]
    rows += [Setting("Recurrent language model", changes, "ComplexRecurrentLM") for changes in LANGUAGE_MODELS]
    rows += [Setting("Mamba-3", changes, "ComplexMamba") for changes in STATE_SPACES]
    rows += [Setting("Memory network", changes, "ComplexMemoryNetwork") for changes in MEMORIES]
    return rows


LANGUAGE_MODELS = (
    (("rnn_type", "lstm"),),
    (("gate", "modulus"), ("state_activation", "hirose_tanh"), ("lm_readout", "squared_modulus")),  # Thesis 4.3.4
    (("embedding_type", "slot_position"),),
    (("embedding_type", "phase_position"),),
    (("transform", "causal_z"),),
    (("rnn_type", "lru"),),
)
STATE_SPACES = (
    (("number_field", "complex"),),
    (("A_activation", "softplus"),),
    (("intermediate_size", None),),
    (("mimo_rank", 2),),
    (("number_field", "real"),),
)
MEMORIES = (
    *((("variant", "sentence_memory"), ("attention_score", name)) for name in MEMORY_SCORES),
    (("sentence_encoding", "complex_order"), ("temporal", "phase")),
    (("variant", "word_memory"),),
)


def _recurrent_changes(kind: str) -> list[tuple[tuple[str, str], ...]]:
    """Return every gate with the default activation and every activation with the default gate (none for an RNN)."""
    activations = [(("state_activation", name),) for name in RECURRENT_ACTIVATIONS]
    others = [(("gate", name),) for name in GATES if name != default_gate(kind)]
    return activations if kind == "rnn" else [*activations, *others]


@dataclass(frozen=True)
class Task:
    """Training data, the configuration sizes that follow from them, and the loss of chance."""

    rows: dict[str, Tensor]
    sizes: dict[str, int]
    chance: float


@cache
def training_data(family: str) -> Task:
    """Return the training data of a family."""
    if family == "ComplexMemoryNetwork":
        return _stories()
    split = word_order_dataset(max_sentences=160)["train"]
    texts, labels = list(split["text"]), torch.tensor(list(split["label"]))
    if labels.double().mean() != 0.5:
        raise AssertionError("labels must be balanced, because ln 2 is the loss of chance")
    tokenizer = build_tokenizer(texts, vocab_size=2000)
    rows = dict(tokenizer(texts, padding=True, return_tensors="pt"))
    rows = {name: rows[name] for name in ("input_ids", "attention_mask")}
    sizes = {"vocab_size": len(tokenizer)}
    if TASKS.get(family) == WRITING:
        rows = {name: value[labels == 1] for name, value in rows.items()}
        words = rows["input_ids"].masked_fill(rows["attention_mask"] == 0, -100)
        return Task({**rows, "labels": words}, sizes, math.log(len(tokenizer)))
    return Task({**rows, "labels": labels}, sizes, math.log(2.0))


def _stories(number: int = 256, people: int = 4, places: int = 3) -> Task:
    """Return stories of two-token sentences (person, place), a one-token question (person), and the answer (place)."""
    generator = torch.Generator().manual_seed(0)
    told = torch.stack([torch.randperm(people, generator=generator) for _ in range(number)])
    where = torch.randint(places, (number, people), generator=generator)
    asked = torch.randint(people, (number, 1), generator=generator)
    sentences = torch.stack([told + 1, where + people + 1], dim=-1)
    rows = {"input_ids": sentences, "question_ids": told.gather(1, asked) + 1, "labels": where.gather(1, asked)[:, 0]}
    return Task(rows, {"vocab_size": people + places + 1, "num_labels": places}, math.log(places))


def _batches(size: int, generator: torch.Generator) -> Iterator[Tensor]:
    while True:
        yield from torch.randperm(size, generator=generator).split(PROTOCOL["batch_size"])


def make_model(setting: Setting, task: Task) -> PreTrainedModel:
    """Build the network of a setting; recurrent states are as wide as the hidden states of the others."""
    config_class = getattr(complex_transformers, f"{setting.family}Config")
    sizes = {key: value for key, value in PROTOCOL.items() if hasattr(config_class, key)}
    if hasattr(config_class, "recurrent_size"):
        sizes = {"hidden_size": PROTOCOL["hidden_size"], "recurrent_size": PROTOCOL["hidden_size"]}
    config = config_class(**{**sizes, **task.sizes, **dict(setting.changes)})
    head = "ForCausalLM" if TASKS.get(setting.family) == WRITING else "ForSequenceClassification"
    return getattr(complex_transformers, setting.family + head)(config)


def train(setting: Setting, seed: int) -> dict[str, Any]:
    """Train one run; ``seed`` determines weights, dropout and the order of the batches."""
    torch.set_num_threads(PROTOCOL["threads"])
    task = training_data(setting.family)
    torch.manual_seed(seed)
    model = make_model(setting, task)
    inputs = dict(task.rows)
    if getattr(model.config, "variant", None) == "word_memory":
        inputs["input_ids"] = inputs["input_ids"].flatten(1)  # a story is one example
    model.train()
    optimizer = torch.optim.AdamW(optimizer_groups(model, PROTOCOL["weight_decay"]), lr=PROTOCOL["learning_rate"])
    losses: list[float] = []
    largest_gradient = 0.0
    diverged_at: str | None = None
    start = time.perf_counter()
    batches = _batches(len(inputs["labels"]), torch.Generator().manual_seed(seed))
    for step, rows in zip(range(PROTOCOL["steps"]), batches, strict=False):
        optimizer.zero_grad()
        loss = model(**{name: value[rows] for name, value in inputs.items()}).loss
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            diverged_at = f"loss {losses[-1]} at step {step}"
            break
        loss.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients).item()
        if not math.isfinite(norm):
            broken = [n for n, p in model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
            diverged_at = f"gradient of {', '.join(broken) or 'too large a norm'} at step {step}"
            break
        largest_gradient = max(largest_gradient, norm)
        optimizer.step()
    final = statistics.fmean(losses[-LAST_STEPS:]) if diverged_at is None else None
    return {
        "first_loss": losses[0] if math.isfinite(losses[0]) else None,
        "final_loss": final,
        "largest_gradient_norm": largest_gradient,
        "diverged": diverged_at,
        "did_not_learn": final is not None and final > LEARNED_BELOW * task.chance,
        "seconds": round(time.perf_counter() - start, 2),
        "machine": machine_facts(),
    }


def protocol(setting: Setting) -> dict[str, Any]:
    """Return everything that a run of a setting depends on."""
    return {**PROTOCOL, **({"task": TASKS[setting.family]} if setting.family in TASKS else {})}


GRIDS = (
    Functions(
        "stability",
        {setting.name: setting for setting in settings()},
        seeds=range(20),
        function=train,
        settings=protocol,
    ),
)
