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
from complex_transformers.nn.recurrent.gates import default_gate

__all__ = ["States", "case", "recurrent_layers"]

GATES = ("real_part", "projected", "modulus", "split")


class States(nn.Module):
    """A recurrent layer that returns only its states."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


def other_gates(kind: str) -> list[str]:
    """Return the measured gates, without the default."""
    return [gate for gate in GATES if gate != default_gate(kind.lower())]


def recurrent_layers(kind: str, features: int) -> tuple[dict[str, nn.Module], dict[str, nn.Module]]:
    """Return LSTMs or GRUs of ``features`` complex features: ours and torch's on halves, others on complex tensors."""
    ours: Callable[..., nn.Module] = {"LSTM": ComplexLSTM, "GRU": ComplexGRU}[kind]
    torch_layer: Callable[..., nn.Module] = getattr(nn, kind)
    width = 2 * features
    halves = {
        f"Complex{kind}": ours(width, width),
        **{f"Complex{kind}, {gate} gates": ours(width, width, gate=gate) for gate in other_gates(kind)},
        f"torch.nn.{kind}": torch_layer(width, width),
    }
    native = {f"torch.nn.{kind}, complex64": torch_layer(features, features, dtype=torch.complex64)}
    if importlib.util.find_spec("complextorch") is not None:
        native[f"complextorch {kind}"] = getattr(importlib.import_module("complextorch").nn, kind)(features, features)
    return halves, native


def lstm_products(steps: int, batch: int, features: int) -> Step:
    """Return a step with only the matrix products of a training step of ``ComplexLSTM``, five rows per unit."""
    rows, width = 5 * features, 2 * features
    of_inputs, of_states = torch.randn(2, rows, width)
    adjoint, weights = of_states.t().contiguous(), torch.randn(rows, 2 * width)
    x, state = torch.randn(steps, batch, width), torch.randn(width, batch)
    both = torch.randn(steps * batch, 2 * width)
    grads, grad_state = torch.randn(rows, steps, batch), torch.empty(width, batch)

    def step() -> None:
        numbers = of_inputs @ x.mT
        for t in range(steps):
            numbers[t].addmm_(of_states, state)
        for t in range(steps):
            torch.mm(adjoint, grads[:, t], out=grad_state)
        torch.mm(grads.flatten(1), both, out=weights)
        torch.mm(grads.flatten(1).t(), of_inputs)

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
        third = 0.333 if kind == "LSTM" else None
        bars = {f"torch.nn.{kind}": 1.25, f"torch.nn.{kind}, complex64": third, f"complextorch {kind}": third}
        comparisons = [Comparison(ours, name, bar) for name, bar in bars.items() if name in contestants]
        comparisons += [Comparison(f"{ours}, {gate} gates", f"torch.nn.{kind}") for gate in other_gates(kind)]
        if kind == "LSTM":
            floor = "its matrix products only"
            contestants[floor] = lstm_products(steps, batch, features)
            comparisons += [Comparison(floor, name) for name in (ours, *bars) if name in contestants]
        rows += race(f"{kind}, training step", contestants, comparisons, rounds)
    return Outcome(rows, notes)
