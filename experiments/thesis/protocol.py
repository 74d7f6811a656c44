# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of chapter 3: a network, a data set, a seed; scored on three splits after every epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from benchmarks.reporting import machine_facts
from sklearn.metrics import f1_score
from transformers import PreTrainedModel

import complex_transformers
from complex_transformers.analysis import WeightTrace, count_parameters
from complex_transformers.nn import equal_parameter_widths, parameter_budget_width
from complex_transformers.nn.initialization import Initialized
from experiments.thesis.data import (
    Part,
    Task,
    load_task,
)

__all__ = ["ACTIVATIONS", "PROTOCOL", "Cell", "begin", "build", "run", "settings", "trace_run", "train"]

# Names in the thesis's tables.
ACTIVATIONS = {
    "identity": "identity",
    "tanh": "tanh",
    "relu": "split_relu",
    "|z|^2": "squared_modulus",
    "|z|": "modulus",
}
# Nothing else: no weight decay, no schedule, no clipping, no dropout (Thesis 3.4).
PROTOCOL: dict[str, Any] = {"optimizer": "Adam", "learning_rate": 1e-3, "batch_size": 128}
# Not in the thesis; the same for every row: linear learning rate decay to zero, images mirrored
# at random, dropout before every layer but the first. The training split is scored on its first images.
RECIPES: dict[str, dict[str, Any]] = {
    "regularised": {"decay": True, "mirrored": True, "dropout": 0.2, "scored": 1_000},
    "mirrored": {"decay": True, "mirrored": True, "dropout": 0.0, "scored": 1_000},
}
# Width m of Experiment 1 and the filters of Experiment 3; the budget of Experiment 2.
WIDTHS = {"cifar10-cut": 128}
FILTERS = 128
BUDGET = 500_000
SCORED = 10_000  # examples of the training split
CHANCE_SHARE = 0.99  # share of one class among the predictions: the network is dead


@dataclass(frozen=True)
class Cell:
    """A training run without its seed; equal cells give the same result.

    ``layout``: ``1`` equal parameters by alternating widths, ``2`` equal parameters by a budget, ``cnn`` Experiment 3,
    or stored widths. ``scale`` multiplies pixels in [0, 1]; ``init="fan"`` multiplies Glorot's weights
    to a standard deviation of 1 / (fan_in + fan_out), as in the code that the thesis cites. ``recipe`` is one of
    ``RECIPES``; the default is the thesis's training.
    """

    data: str
    layout: str | tuple[int, ...]
    hidden_act: str
    k: int = 0
    number_field: str = "complex"
    epochs: int = 10
    scale: float = 1.0
    init: str = "glorot"
    options: tuple[tuple[str, Any], ...] = ()  # configuration fields
    recipe: str | None = None

    def widths(self, task: Task) -> list[int]:
        """Return the stored widths of the layers."""
        if isinstance(self.layout, tuple):
            return list(self.layout)
        if self.layout == "2":
            sizes = task.sizes
            inputs = sizes.get("vocab_size") or sizes["num_channels"] * math.prod(sizes["image_size"])
            width = parameter_budget_width(inputs, sizes["num_labels"], self.k, BUDGET, self.number_field)
            return [2 * width if self.number_field == "complex" else width] * (self.k + 1)
        width = FILTERS if self.layout == "cnn" else WIDTHS.get(self.data, 64)
        return equal_parameter_widths(width, self.k, self.number_field)


def settings(cell: Cell) -> dict[str, Any]:
    """Return everything that changes a result and is not in the name of its row."""
    return {**PROTOCOL, "epochs": cell.epochs, **recipe(cell)}


def recipe(cell: Cell) -> dict[str, Any]:
    """Return the training options of a cell beyond the thesis's: none, or one of ``RECIPES``."""
    return {} if cell.recipe is None else RECIPES[cell.recipe]


def build(cell: Cell, task: Task) -> PreTrainedModel:
    """Build the network of a cell."""
    is_cnn = cell.layout == "cnn"
    family = "ComplexConvNet" if is_cnn else "ComplexMLP"
    head = "ForSequenceClassification" if "vocab_size" in task.sizes else "ForImageClassification"
    config = getattr(complex_transformers, f"{family}Config")(
        **{"num_filters" if is_cnn else "hidden_sizes": cell.widths(task)},
        **task.sizes,
        hidden_act=cell.hidden_act,
        number_field=cell.number_field,
        **({"problem_type": "multi_label_classification"} if task.multi_label else {}),
        **({"hidden_dropout_prob": recipe(cell)["dropout"]} if cell.recipe else {}),
        **dict(cell.options),
    )
    model: PreTrainedModel = getattr(complex_transformers, family + head)(config)
    if cell.init == "fan":
        shrink_to_fan(model)
    return model


@torch.no_grad()
def shrink_to_fan(model: PreTrainedModel) -> None:
    """Scale weights to Rayleigh scale 1 / (fan_in + fan_out) instead of its square root (``docs/errata.md``)."""
    for layer in model.modules():
        if isinstance(layer, Initialized):
            parts = layer.weight_parts()
            rows, columns, *field = parts[0].shape
            for part in parts:
                part.mul_(((rows + columns) * math.prod(field)) ** -0.5)


@torch.no_grad()
def score(model: PreTrainedModel, part: Part, multi_label: bool) -> dict[str, float]:
    """Return accuracy (multi-label: micro-F1), and the share of the most frequent prediction."""
    model.eval()
    logits = torch.cat([model(**part[rows].inputs).logits for rows in torch.arange(len(part)).split(500)])
    model.train()
    if multi_label:
        return {"score": float(f1_score(part.labels.int(), (logits > 0).int(), average="micro", zero_division=0))}
    answers = logits.nan_to_num(nan=-math.inf).argmax(dim=-1)
    share = answers.bincount().max().item() / len(answers)
    return {"score": (answers == part.labels).double().mean().item(), "one_answer": share}


def _scaled(part: Part, scale: float) -> Part:
    if scale == 1.0:
        return part
    return Part({name: values * scale for name, values in part.inputs.items()}, part.labels)


def mirror(part: Part, generator: torch.Generator) -> Part:
    """Mirror each image left to right with probability 1/2."""
    images = part.inputs["pixel_values"]
    chosen = torch.rand(len(images), 1, 1, 1, generator=generator) < 0.5
    return Part({"pixel_values": torch.where(chosen, images.flip(-1), images)}, part.labels)


def train(cell: Cell, task: Task, seed: int, model: PreTrainedModel, after_epoch: Any = None) -> dict[str, Any]:
    """Train a network; return the scores of every epoch and the step of the first non-finite loss or gradient."""
    parts = {name: _scaled(getattr(task, name), cell.scale) for name in ("train", "validation", "test")}
    some = torch.arange(min(len(task.train), recipe(cell).get("scored", SCORED)))
    scored = {"train": parts["train"][some], "validation": parts["validation"], "test": parts["test"]}
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=PROTOCOL["learning_rate"])
    steps = cell.epochs * math.ceil(len(task.train) / PROTOCOL["batch_size"]) if recipe(cell).get("decay") else 0
    generator = torch.Generator().manual_seed(seed)
    epochs: list[dict[str, float]] = []
    diverged: str | None = None
    step = 0
    for epoch in range(cell.epochs):
        for rows in torch.randperm(len(parts["train"]), generator=generator).split(PROTOCOL["batch_size"]):
            batch = parts["train"][rows]
            if recipe(cell).get("mirrored"):
                batch = mirror(batch, generator)
            if steps:
                optimizer.param_groups[0]["lr"] = PROTOCOL["learning_rate"] * (1 - step / steps)
            optimizer.zero_grad()
            output = model(**batch.inputs, labels=batch.labels)
            output.loss.backward()
            norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
            if diverged is None and not bool(output.loss.isfinite() & norm.isfinite()):
                diverged = f"step {step}, loss {output.loss.item()}, gradient norm {norm.item()}"
            optimizer.step()
            step += 1
        scores = {name: score(model, part, task.multi_label) for name, part in scored.items()}
        epochs.append({**{name: found["score"] for name, found in scores.items()}, **scores["test"]})
        if after_epoch is not None:
            after_epoch(model, epoch + 1)
        if diverged is not None:  # NaN weights stay NaN
            break
    return {"epochs": epochs, "diverged": diverged}


def summary(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the test score at the best epoch on validation, and at the last epoch."""
    epochs = found["epochs"]
    best = max(range(len(epochs)), key=lambda epoch: epochs[epoch]["validation"])  # ties go to the first
    return {
        **{name: round(epochs[best][name], 5) for name in ("test", "validation", "train")},
        "last_test": round(epochs[-1]["test"], 5),
        "best_epoch": best + 1,
        "curve": [round(epoch["validation"], 4) for epoch in epochs],
        "diverged": found["diverged"],
        "dead": epochs[-1].get("one_answer", 0.0) > CHANCE_SHARE,
    }


def begin(cell: Cell, seed: int) -> tuple[Task, PreTrainedModel]:
    """Return the data set and the untrained network of a run."""
    torch.set_num_threads(1)
    task = load_task(cell.data, seed if cell.data.startswith("quadrant") else 0)
    torch.manual_seed(seed)
    return task, build(cell, task)


def run(cell: Cell, seed: int) -> dict[str, Any]:
    """Train a cell; the seed determines weights, the order of the batches, and the data of a synthetic task."""
    task, model = begin(cell, seed)
    start = time.perf_counter()
    found = train(cell, task, seed, model)
    return {
        **summary(found),
        "parameters": count_parameters(model, biases=False),
        "seconds": round(time.perf_counter() - start, 1),
        "machine": machine_facts(),
    }


def trace_run(cell: Cell, seed: int) -> dict[str, Any]:
    """Train like ``run``, and record the mean absolute parts of the first weight after every epoch."""
    task, model = begin(cell, seed)
    trace = WeightTrace()
    trace.record(model, 0)
    found = train(cell, task, seed, model, trace.record)
    first = trace.layers[0]
    curves = {part: [round(value, 8) for value in trace.curve(first, part)] for part in ("real", "imag")}
    return {**summary(found), **curves, "machine": machine_facts()}
