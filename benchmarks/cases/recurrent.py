# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of several libraries."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, layer_steps, race, size
from benchmarks.timing import Step
from complex_transformers.nn import ComplexGRU, ComplexLSTM

__all__ = ["States", "case"]


class States(nn.Module):
    """A recurrent layer that returns its states alone."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


def recurrent_layers(kind: str, features: int) -> tuple[dict[str, nn.Module], dict[str, nn.Module]]:
    """LSTM or GRU of ``features`` complex features on halves, ours and torch's, and on native complex numbers."""
    ours: Callable[..., nn.Module] = {"LSTM": ComplexLSTM, "GRU": ComplexGRU}[kind]
    torch_layer: Callable[..., nn.Module] = getattr(nn, kind)
    width = 2 * features
    halves = {
        f"Complex{kind}": ours(width, width),
        f"Complex{kind}, split gates": ours(width, width, gate="split"),
        f"torch.nn.{kind}": torch_layer(width, width),
    }
    native = {f"torch.nn.{kind}, complex64": torch_layer(features, features, dtype=torch.complex64)}
    if importlib.util.find_spec("complextorch") is not None:
        native[f"complextorch {kind}"] = getattr(importlib.import_module("complextorch").nn, kind)(features, features)
    return halves, native


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


def case(rounds: int) -> Outcome:
    """LSTM and GRU of 256 complex features on 64 sequences of 40 steps against torch's and other libraries' layers."""
    steps, batch, features = 40, 64, 256
    z = torch.randn(steps, batch, features, dtype=torch.complex64)
    x = torch.view_as_real(z).transpose(-1, -2).flatten(-2)
    rows, notes = [], []
    for kind in ("LSTM", "GRU"):
        contestants: dict[str, Step] = {}
        halves, native = recurrent_layers(kind, features)
        for name, layer in (halves | native).items():
            try:
                contestants |= layer_steps({name: States(layer)}, x if name in halves else z)
            except (RuntimeError, AssertionError) as error:
                notes.append(f"{name} does not train and was left out: {str(error).splitlines()[0]}")
                continue
            notes.append(f"{name}: {size(layer):,} real parameters")
        ours = f"Complex{kind}"
        bars = {f"torch.nn.{kind}": 2.5, f"torch.nn.{kind}, complex64": 1 / 3, f"complextorch {kind}": 1 / 3}
        comparisons = [
            Comparison(ours, name, round(bar, 3) if kind == "LSTM" else None)
            for name, bar in bars.items()
            if name in contestants
        ]
        comparisons.append(Comparison(f"{ours}, split gates", f"torch.nn.{kind}"))
        if kind == "LSTM":
            floor = "its products alone"
            contestants[floor] = lstm_products(steps, batch, features)
            comparisons += [Comparison(floor, name) for name in (ours, *bars) if name in contestants]
        rows += race(f"{kind}, training step", contestants, comparisons, rounds)
    return Outcome(rows, notes)
