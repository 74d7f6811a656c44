# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The data sets of chapter 3 as tensors: model inputs by name, and labels, in three splits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from complex_transformers import build_tokenizer
from complex_transformers.recipes import load_text_dataset, quadrant_data, read_image_files
from complex_transformers.recipes.datasets.image_files import find_image_files
from experiments.paper.data import data_folder

__all__ = ["DATASETS", "Part", "Task", "load_task"]

WORDS = 10_000  # vocabulary size, as in the thesis


@dataclass(frozen=True)
class Part:
    """One split: model inputs by argument name, and labels."""

    inputs: dict[str, Tensor]
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Tensor) -> Part:
        inputs = {name: values[rows] for name, values in self.inputs.items()}
        if "attention_mask" in inputs:  # drop columns that are empty in all rows
            longest = int(inputs["attention_mask"].sum(dim=1).max())
            inputs = {name: values[:, :longest] for name, values in inputs.items()}
        return Part(inputs, self.labels[rows])


@dataclass(frozen=True)
class Task:
    """Splits of a data set, and the configuration fields of its shape."""

    train: Part
    validation: Part
    test: Part
    sizes: dict[str, Any]
    multi_label: bool = False


def _images(name: str, held_out: int) -> Task:
    """Return pixels in [0, 1]; the validation split is drawn from the training split, the same for every run."""
    files = find_image_files(data_folder() / "vision" / name)
    parts = {}
    for part in ("train", "test"):
        images, labels = (torch.from_numpy(array.copy()) for array in read_image_files(files[part]))
        images = images.unsqueeze(1) if images.dim() == 3 else images.permute(0, 3, 1, 2)
        parts[part] = Part({"pixel_values": images.float() / 255}, labels)
    order = torch.randperm(len(parts["train"]), generator=torch.Generator().manual_seed(0))
    channels, *size = parts["test"].inputs["pixel_values"].shape[1:]
    sizes = {"num_channels": channels, "image_size": size, "num_labels": int(parts["train"].labels.max()) + 1}
    return Task(parts["train"][order[held_out:]], parts["train"][order[:held_out]], parts["test"], sizes)


def _texts(name: str) -> Task:
    """Return bags of the most frequent words of the training split."""
    folder = data_folder() / "classification" / "reuters"
    files = {f"{part}_file": str(folder / f"{name}-{part}.tsv.gz") for part in ("train", "test")}
    loaded = load_text_dataset(**files, overlap="drop")
    tokenizer = build_tokenizer(loaded["train"]["text"], "word", vocab_size=WORDS)
    multi_label = name == "modapte90"
    split = (lambda label: label.split()) if multi_label else (lambda label: [label])
    names = sorted({label for labels in loaded["train"]["label"] for label in split(labels)})
    parts = []
    for part in ("train", "validation", "test"):
        encoded = tokenizer(list(loaded[part]["text"]), padding=True, return_tensors="pt")
        labels = torch.zeros(len(loaded[part]), len(names))
        for row, given in enumerate(loaded[part]["label"]):
            labels[row, [names.index(label) for label in split(given) if label in names]] = 1.0
        inputs = {name: encoded[name] for name in ("input_ids", "attention_mask")}
        parts.append(Part(inputs, labels if multi_label else labels.argmax(dim=1)))
    sizes = {
        "vocab_size": len(tokenizer),
        "bag_of_words": "binary",
        "num_labels": len(names),
        "pad_token_id": tokenizer.pad_token_id,
    }
    return Task(*parts, sizes, multi_label)


def _mnist_small() -> Task:
    """Return the first 5,000 images, for runs with many seeds."""
    task = _images("mnist", 5_000)
    return Task(task.train[torch.arange(5_000)], task.validation, task.test, task.sizes)


DATASETS: dict[str, Callable[[], Task]] = {
    "mnist": lambda: _images("mnist", 5_000),
    "mnist-5000": _mnist_small,
    "cifar10-cut": lambda: _images("cifar10", 500),
    "r52": lambda: _texts("r52"),
    "modapte90": lambda: _texts("modapte90"),
}


def _quadrants(kind: str, seed: int) -> Task:
    """Draw 8,000, 1,000 and 1,000 examples of the synthetic task, as images of one line."""
    numbers, labels = quadrant_data(kind=kind, seed=seed)
    parts = 2 if kind == "complex" else 1
    whole = Part({"pixel_values": numbers.view(len(numbers), parts, 1, -1)}, labels)
    rows = torch.arange(len(labels)).split([8_000, 1_000, 1_000])
    sizes = {"num_channels": 1, "image_size": [1, numbers.shape[1] // parts], "num_labels": int(labels.max()) + 1}
    if kind == "complex":
        sizes["input_transform"] = "complex"
    return Task(*(whole[part] for part in rows), sizes)


@cache
def load_task(name: str, seed: int = 0) -> Task:
    """Load a data set by name; ``seed`` is used by synthetic tasks."""
    if name.startswith("quadrant-"):
        return _quadrants(name.removeprefix("quadrant-"), seed)
    return DATASETS[name]()
