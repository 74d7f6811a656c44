# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Conditions under which hand-written gradients are used, and helpers to call them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

__all__ = [
    "by_formula",
    "gradients_with_graph",
    "is_eager_cpu",
    "is_eager_gpu",
    "is_plain_cpu",
    "is_transformed",
    "product_dtype",
    "run",
    "shows_values",
    "without_autocast",
]


def run(function: type[torch.autograd.Function], *inputs: Any) -> Any:
    """Call ``function.apply``, or only its forward without autograd, since ``apply`` is slow for small inputs."""
    return function.apply(*inputs) if torch.is_grad_enabled() else function.forward(*inputs)


def is_plain_cpu(x: Tensor) -> bool:
    """Return whether hand-written gradients are faster: full precision on the CPU, not compiled, no autocast."""
    return is_eager_cpu(x) and x.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled("cpu")


def is_eager_cpu(x: Tensor) -> bool:
    """Return whether ``x`` is on the CPU and nothing is compiled; any dtype and autocast are allowed."""
    return x.is_cpu and not torch.compiler.is_compiling() and not _in_transform()


def is_eager_gpu(x: Tensor) -> bool:
    """Return whether ``x`` is on a GPU and each operation launches a kernel: nothing is compiled or transformed."""
    return not (x.is_cpu or torch.compiler.is_compiling() or _in_transform())


def product_dtype(x: Tensor) -> torch.dtype:
    """Return the dtype in which products with ``x`` are computed: the dtype of autocast or of ``x``."""
    if x.is_meta or x.dtype == torch.float64 or not torch.is_autocast_enabled(x.device.type):
        return x.dtype
    return torch.get_autocast_dtype(x.device.type)


def is_transformed() -> bool:
    """Return whether ``torch.func`` or forward-mode AD is active, which do not support hand-written gradients."""
    return not torch.compiler.is_compiling() and _in_transform()


def _in_transform() -> bool:
    # The same internal flags that torch.autograd.Function and forward_ad use; reading them takes 0.1 microseconds.
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def shows_values(tensor: Tensor) -> bool:
    """Return whether a check may read the values: on the CPU, not compiled, outside of ``torch.func``."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling() and not _in_transform()


def by_formula(*grads: Tensor | None) -> bool:
    """Return whether a backward pass must use differentiable operations: double backward or batched gradients."""
    return torch.is_grad_enabled() or are_many(*grads)


def are_many(*grads: Tensor | None) -> bool:
    """Return whether gradients are batched, by ``torch.func`` or by ``is_grads_batched`` of autograd."""
    if torch.compiler.is_compiling():
        return False
    batched = torch._C._functorch.is_legacy_batchedtensor
    return is_transformed() or any(grad is not None and batched(grad) for grad in grads)


def without_autocast(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward pass to run without autocast, like its forward pass."""

    @functools.wraps(backward)
    def exact(ctx: Any, *grads: Any) -> Any:
        if not torch.is_autocast_enabled("cpu"):
            return backward(ctx, *grads)
        with torch.autocast("cpu", enabled=False):  # a new context per call: threads must not share its state
            return backward(ctx, *grads)

    return exact


def gradients_with_graph(
    plain: Callable[..., tuple[Tensor, ...]],
    inputs: Sequence[Any],
    needed: Sequence[bool],
    grads: Sequence[Tensor | None],
) -> tuple[Tensor | None, ...]:
    """Compute the gradients of ``plain``, a function of differentiable operations, with a graph for double backward.

    For backward passes where ``by_formula`` is true; None where ``needed`` is false.
    """
    create_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        # Views, so that gradients of inputs that depend on each other are not counted twice.
        inputs = [value.view_as(value) if need else value for value, need in zip(inputs, needed, strict=True)]
        results = plain(*inputs)
    given = [(out, grad) for out, grad in zip(results, grads, strict=True) if grad is not None and out.requires_grad]
    wanted = [value for value, need in zip(inputs, needed, strict=True) if need]
    outputs, cotangents = zip(*given, strict=True)
    found = iter(torch.autograd.grad(outputs, wanted, cotangents, create_graph=create_graph, allow_unused=True))
    return tuple(next(found) if need else None for need in needed)
