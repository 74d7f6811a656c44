# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dense and convolutional networks for images against plain torch of the same stored widths."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, race
from benchmarks.timing import model_steps
from complex_transformers import (
    ComplexConvNetConfig,
    ComplexConvNetForImageClassification,
    ComplexMLPConfig,
    ComplexMLPForImageClassification,
)

__all__ = ["IMAGES", "case", "networks"]

WIDTH, CHANNELS, BATCH = 1024, 128, 256
IMAGES = {"num_channels": 1, "image_size": 28, "num_labels": 10}


class Plain(nn.Module):
    """A network of torch with the loss of our models."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, pixel_values: Tensor, labels: Tensor) -> Any:
        """Return the loss."""
        return type("Output", (), {"loss": F.cross_entropy(self.layers(pixel_values), labels)})


def networks(width: int = WIDTH, channels: int = CHANNELS) -> dict[str, nn.Module]:
    """Return 784-width-width-10 and two layers of ``channels`` filters: ours in both fields, and torch's."""
    found: dict[str, nn.Module] = {}
    for field in ("complex", "real"):
        sizes = {**IMAGES, "number_field": field, "hidden_act": "split_relu"}
        found[f"{field} MLP"] = ComplexMLPForImageClassification(ComplexMLPConfig(hidden_sizes=[width] * 2, **sizes))
        config = ComplexConvNetConfig(num_filters=[channels] * 2, **sizes)
        found[f"{field} convnet"] = ComplexConvNetForImageClassification(config)
    dense = [nn.Flatten(), nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)]
    found["torch MLP"] = Plain(*dense)
    convolutions = [nn.Conv2d(1, channels, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(channels, channels, 3), nn.ReLU()]
    found["torch convnet"] = Plain(*convolutions, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(25 * channels, 10))
    return found


def case(rounds: int) -> Outcome:
    """A step on 256 images of 28 x 28: dense 784-1024-1024-10, and two layers of 128 stored channels with pooling."""
    torch.manual_seed(0)
    batch = {"pixel_values": torch.rand(BATCH, 1, 28, 28), "labels": torch.randint(0, 10, (BATCH,))}
    rows = []
    models = networks()
    for kind, reference, bar in (("MLP", "real", 1.0), ("convnet", "torch", 1.1)):
        mine = {name: model for name, model in models.items() if name.endswith(kind)}
        contestants = model_steps(mine, lambda _: batch)
        comparisons = [
            Comparison(f"complex {kind}", f"{other} {kind}", bar if other == reference else None)
            for other in ("real", "torch")
        ]
        rows += race("training step", contestants, comparisons, rounds)
    return Outcome(rows)
