# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Fair timing on a shared machine.

Contestants are interleaved, and ratios are computed within a round: whatever slows the machine
down for longer than a round slows all of them. The order is reversed from round to round, so that none profits from
its position.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

__all__ = [
    "Quartiles",
    "Step",
    "check_gradients",
    "high_precision_step",
    "loss_step",
    "model_steps",
    "random_step",
    "ratio",
    "time_rounds",
    "training_step",
    "writing_step",
]

Step = Callable[[], object]


@dataclass(frozen=True)
class Quartiles:
    """Median and quartiles of a sample."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Quartiles:
        """Return the quartiles of at least two values."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return asdict(self)


def high_precision_step(step: Step) -> Step:
    """Return a step whose float32 products may be less precise: ``torch.set_float32_matmul_precision("high")``."""

    def run() -> None:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            step()
        finally:
            torch.set_float32_matmul_precision(before)

    return run


def _time(step: Step, repeats: int) -> float:
    # With one thread, CPU time is least disturbed by other processes.
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    for _ in range(repeats):
        step()
    return (clock() - start) / repeats


def time_rounds(contestants: Mapping[str, Step], rounds: int, min_seconds: float = 0.02) -> dict[str, list[float]]:
    """Time one call of each contestant in each round; short calls are repeated for ``min_seconds``.

    Wall-clock seconds; CPU seconds with one thread. ``min_seconds=0`` skips the warmup.
    """
    repeats = dict.fromkeys(contestants, 1)
    for name, step in contestants.items() if min_seconds else ():
        step()  # allocates, plans and caches
        repeats[name] = max(1, round(min_seconds / max(_time(step, 1), 1e-9)))
        _time(step, repeats[name])
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            names.reverse()
            for name in names:
                seconds[name].append(_time(contestants[name], repeats[name]))
            gc.collect()
    finally:
        if collecting:
            gc.enable()
    return seconds


def ratio(numerator: list[float], denominator: list[float]) -> Quartiles:
    """Return the quartiles of the ratio of two contestants over the rounds."""
    return Quartiles.of([a / b for a, b in zip(numerator, denominator, strict=True)])


def training_step(call: Callable[..., Tensor], parameters: list[nn.Parameter], *inputs: Tensor) -> Step:
    """Return a forward and backward step with a fixed cotangent and gradients for parameters and float inputs.

    Gradients are released before each step, as in ``optimizer.zero_grad()``. The cotangent is random: for a
    plain sum it would be a broadcast scalar, which some kernels treat as a special case.
    """
    inputs = tuple(
        x.detach().clone().requires_grad_() if x.is_floating_point() or x.is_complex() else x for x in inputs
    )
    with torch.no_grad():
        cotangent = torch.randn_like(call(*inputs))
    leaves = [*parameters, *(x for x in inputs if x.requires_grad)]

    def step() -> None:
        for leaf in leaves:
            leaf.grad = None
        call(*inputs).backward(cotangent)

    return step


def random_step(layer: nn.Module, *shape: int) -> Step:
    """Return a training step of a layer on random inputs."""
    return training_step(layer, list(layer.parameters()), torch.randn(shape))


def loss_step(model: nn.Module, **batch: Any) -> Step:
    """Return a training step of a model that returns its loss."""

    def step() -> None:
        model.train()
        model.zero_grad(set_to_none=True)
        model(**batch).loss.backward()

    return step


def model_steps(models: Mapping[str, nn.Module], batch: Callable[[nn.Module], Mapping[str, Any]]) -> dict[str, Step]:
    """Return a training step of each model on its batch, with its gradients checked."""
    steps = {}
    for name, model in models.items():
        steps[name] = loss_step(model, **batch(model))
        check_gradients(name, model, steps[name])
    return steps


def writing_step(model: PreTrainedModel, read: int, count: int, inputs: Callable[[], Mapping[str, Any]]) -> Step:
    """Return a step that generates exactly ``count`` tokens after ``read`` ones; ``inputs`` makes its inputs anew."""

    def step() -> None:
        model.eval()
        out = model.generate(**inputs(), max_new_tokens=count, min_new_tokens=count, do_sample=False)
        if out.shape[1] != read + count:
            raise AssertionError(f"{type(model).__name__} must generate {count} tokens, got {out.shape[1] - read}")

    return step


def check_gradients(name: str, module: nn.Module, step: Step) -> None:
    """Raise AssertionError unless every trained parameter gets a finite, non-zero gradient."""
    step()
    for parameter_name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        gradient = parameter.grad
        if gradient is None or not gradient.isfinite().all() or not gradient.count_nonzero():
            raise AssertionError(f"{name}: the gradient of {parameter_name} must be finite and not zero")
