# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""When a gradient of our own is taken, and how it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["gradients_with_graph", "is_eager_cpu", "is_plain_cpu", "run"]


def run(function: type[torch.autograd.Function], *inputs: Any) -> Any:
    """``function.apply``; where no graph is wanted its forward alone, for ``apply`` costs more than a small step."""
    return function.apply(*inputs) if torch.is_grad_enabled() else function.forward(*inputs)


def is_plain_cpu(x: Tensor) -> bool:
    """True where our own gradients pay: full precision on the CPU, not compiled, no autocast."""
    if not is_eager_cpu(x) or torch.is_autocast_enabled(x.device.type):
        return False
    return x.dtype in (torch.float32, torch.float64)


def is_eager_cpu(x: Tensor) -> bool:
    """True on the CPU where nothing is compiled: for functions that compute in float32 whatever they are given."""
    return x.device.type == "cpu" and not torch.compiler.is_compiling()


def gradients_with_graph(
    plain: Callable[..., tuple[Tensor, ...]],
    inputs: Sequence[Any],
    needed: Sequence[bool],
    grads: Sequence[Tensor | None],
) -> tuple[Tensor | None, ...]:
    """The gradients of ``plain``, made of operations that autograd knows, with a graph of their own.

    For a backward pass whose own gradient is asked for; None where ``needed`` is false.
    """
    # Views, so that inputs that depend on each other count once.
    inputs = [value.view_as(value) if need else value for value, need in zip(inputs, needed, strict=True)]
    with torch.enable_grad():
        results = plain(*inputs)
    given = [(out, grad) for out, grad in zip(results, grads, strict=True) if grad is not None]
    wanted = [value for value, need in zip(inputs, needed, strict=True) if need]
    outputs, cotangents = zip(*given, strict=True)
    found = iter(torch.autograd.grad(outputs, wanted, cotangents, create_graph=True, allow_unused=True))
    return tuple(next(found) if need else None for need in needed)
