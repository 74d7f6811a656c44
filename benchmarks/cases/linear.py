# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A complex dense layer against a real one: the automatic choice and each of the three algorithms."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.race import Comparison, Outcome, layer_steps, race
from benchmarks.timing import Step, training_step
from complex_transformers.kernels.linear import GaussLinear
from complex_transformers.nn import ComplexLinear, functional as CF

__all__ = ["REAL", "case", "check_paths", "paths", "steps"]

REAL = "nn.Linear"


def paths(layer: ComplexLinear) -> dict[str, Callable[[Tensor], Tensor]]:
    """Return the product of one layer by each algorithm."""
    weights = layer.real.weight, layer.imag.weight, layer.bias
    return {
        "three products": lambda x: GaussLinear.apply(x.flatten(0, -2), *weights).unflatten(0, x.shape[:-1]),
        "block": lambda x: CF.block_linear(x, *weights),
        "sub-layers": lambda x: CF.sublayer_linear(x, layer.real, layer.imag, layer.bias),
    }


def check_paths(width: int, rows: int) -> None:
    """Check that every algorithm gives W z + b of complex128 and its gradients."""
    layer = ComplexLinear(width, width, dtype=torch.float64)
    torch.nn.init.normal_(layer.bias)
    x, cotangent = torch.randn(2, rows, width, dtype=torch.float64)
    weight = torch.complex(layer.real.weight, layer.imag.weight)
    expected = CF.from_complex(CF.to_complex(x) @ weight.T + CF.to_complex(layer.bias))
    reference = torch.autograd.grad(expected, list(layer.parameters()), cotangent)
    for call in (layer, *paths(layer).values()):
        out = call(x)
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close(torch.autograd.grad(out, list(layer.parameters()), cotangent), reference)


def inference_step(call: Callable[[Tensor], Tensor], x: Tensor) -> Step:
    """Return a forward step."""

    def step() -> None:
        with torch.no_grad():
            call(x)

    return step


def steps(width: int, rows: int, training: bool) -> dict[str, Step]:
    """Return contestants: a real layer of the same width, and each algorithm."""
    real, layer = torch.nn.Linear(width, width), ComplexLinear(width, width)
    x = torch.randn(rows, width)
    calls: dict[str, tuple[torch.nn.Module, Callable[[Tensor], Tensor]]] = {REAL: (real, real)}
    calls |= {name: (layer, call) for name, call in paths(layer).items()}
    if training:
        return {name: training_step(call, list(owner.parameters()), x) for name, (owner, call) in calls.items()}

    return {name: inference_step(call, x) for name, (_, call) in calls.items()}


def case(rounds: int) -> Outcome:
    """ComplexLinear(1024, 1024) against nn.Linear(1024, 1024): 4096 tokens in training, few rows in inference."""
    width = 1024
    check_paths(width, 300)
    real, layer = nn.Linear(width, width), ComplexLinear(width, width)
    x = torch.randn(32, 128, width)
    contestants = layer_steps({REAL: real, "ComplexLinear": layer}, x)
    contestants |= {
        f"by {name}": training_step(call, list(layer.parameters()), x) for name, call in paths(layer).items()
    }
    comparisons = [Comparison("ComplexLinear", REAL, 0.82)]
    comparisons += [Comparison(f"by {name}", REAL) for name in paths(layer)]
    rows = race("4096 tokens, training step", contestants, comparisons, rounds)
    for count in (1, 64, 256, 1024):
        chosen = inference_step(ComplexLinear(width, width), torch.randn(count, width))
        contestants = {**steps(width, count, training=False), "ComplexLinear": chosen}
        comparisons = [Comparison(name, REAL) for name in contestants if name != REAL]
        rows += race(f"{count} row{'s' if count > 1 else ''}, forward only", contestants, comparisons, rounds)
    return Outcome(rows, [])
