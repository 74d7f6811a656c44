# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Contestants of the recurrent and convolutional cases: recurrent layers of several libraries, text classifiers."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.timing import Step
from complex_transformers import ComplexTextCNNConfig, ComplexTextCNNForSequenceClassification
from complex_transformers.nn import ComplexGRU, ComplexLSTM

__all__ = ["Recurrent", "States", "lstm_products", "recurrent_layers", "text_cnn"]


class States(nn.Module):
    """A recurrent layer that returns its states alone."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


@dataclass(frozen=True)
class Recurrent:
    """A recurrent layer and whether it takes native complex numbers."""

    layer: nn.Module
    native: bool
    package: str = "torch"


def recurrent_layers(kind: str, features: int) -> dict[str, Recurrent]:
    """LSTM or GRU of ``features`` complex features: ours, torch's of the same stored width, complex ones of others."""
    ours: Callable[..., nn.Module] = {"LSTM": ComplexLSTM, "GRU": ComplexGRU}[kind]
    torch_layer: Callable[..., nn.Module] = getattr(nn, kind)
    width = 2 * features
    layers = {
        f"Complex{kind}": Recurrent(ours(width, width), native=False),
        f"Complex{kind}, split gates": Recurrent(ours(width, width, gate="split"), native=False),
        f"torch.nn.{kind}": Recurrent(torch_layer(width, width), native=False),
        f"torch.nn.{kind}, complex64": Recurrent(torch_layer(features, features, dtype=torch.complex64), native=True),
    }
    if importlib.util.find_spec("complextorch") is not None:
        peer = getattr(importlib.import_module("complextorch").nn, kind)
        layers[f"complextorch {kind}"] = Recurrent(peer(features, features), native=True, package="complextorch")
    return {name: Recurrent(States(r.layer), r.native, r.package) for name, r in layers.items()}


def lstm_products(steps: int, batch: int, features: int) -> Step:
    """The real products of a training step of ``ComplexLSTM``, three for each complex one, and nothing else."""
    width = 2 * features
    weights = torch.randn(3, 4 * features, width)
    adjoint = weights.mT.contiguous()
    inputs, states = torch.randn(batch, width), torch.empty(3, 4 * features, batch)
    grads, grad_inputs = torch.randn(3, 4 * features, steps * batch), torch.empty(3, width, batch)
    all_inputs, grad_weights = torch.randn(3, steps * batch, width), torch.empty(3, 4 * features, width)

    def step() -> None:
        for _ in range(steps):
            for i in range(3):
                torch.mm(weights[i], inputs.t(), out=states[i])
        for _ in range(steps):
            for i in range(3):
                torch.mm(adjoint[i], states[i], out=grad_inputs[i])
        for i in range(3):
            torch.mm(grads[i], all_inputs[i], out=grad_weights[i])

    return step


def text_cnn(number_field: str) -> nn.Module:
    """The convolutional classifier: vectors of 300 complex features, 100 complex filters of 3, 4 and 5 words."""
    torch.manual_seed(0)
    config = ComplexTextCNNConfig(
        vocab_size=10_000,
        hidden_size=600,
        num_filters=200,
        number_field=number_field,
        hidden_dropout_prob=0.0,
        num_labels=6,
    )
    return ComplexTextCNNForSequenceClassification(config)
