# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The same functions in operators that an exported graph has, for ``torch.export`` and ONNX.

Outside of an export nothing here is used: ``is_exporting`` chooses.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["halves", "hypot", "inverse", "is_exporting", "scan"]

Tensors = tuple[Tensor, ...]


def is_exporting() -> bool:
    """Whether a graph is being exported, so that shapes are symbols and values are unknown."""
    # torch.compiler.is_exporting() itself is true for torch.compile, too, before torch 2.13; torch 2.6 has none.
    return getattr(torch.compiler, "_is_exporting_flag", False)


def halves(x: Tensor, dim: int = -1) -> tuple[Tensor, Tensor]:
    """Both halves along an axis, views; one whose length is a symbol is split as an axis of 2, not by its length."""
    if is_exporting():
        first, second = x.unflatten(dim, (2, -1)).unbind(dim - 1 if dim < 0 else dim)
    else:
        first, second = x.chunk(2, dim)
    return first, second


def hypot(real: Tensor, imag: Tensor) -> Tensor:
    """sqrt(re^2 + im^2) without overflow; ONNX has no such operator, but larger sqrt(1 + ratio^2)."""
    if not is_exporting():
        return torch.hypot(real, imag)
    first, second = real.abs(), imag.abs()
    larger = torch.maximum(first, second)
    ratio = torch.minimum(first, second) / larger.clamp(min=torch.finfo(real.dtype).tiny)
    return larger * (1 + ratio.square()).sqrt()


# Newton's steps double the correct digits once the condition number is used up, by a factor of 2 a step: so many are
# enough for a matrix I + A with a skew-Hermitian A of norm 1e6.
_NEWTON_STEPS = 60


def inverse(matrix: Tensor) -> Tensor:
    """M^-1 of ``[..., n, n]`` by products alone, for ONNX solves no equations: X <- X (2 I - M X) (Schulz 1933).

    In float64, from M^T / (|M|_1 |M|_inf), which converges for every regular M. Of parameters a runtime computes it
    once, when it loads the graph.
    """
    exact = matrix.double()
    size = exact.abs()
    x = exact.mT / (size.sum(-1).amax(-1) * size.sum(-2).amax(-1))[..., None, None]
    twice = 2.0 * torch.eye(matrix.shape[-1], dtype=exact.dtype, device=exact.device)
    for _ in range(_NEWTON_STEPS):
        x = x @ (twice - exact @ x)
    return x.to(matrix.dtype)


def scan(
    step: Callable[[Tensors, Tensors], tuple[Tensors, Tensors]], state: Tensors, inputs: Tensors, reverse: bool = False
) -> tuple[Tensors, Tensors]:
    """One step after the other over the first axis, whatever its length: a loop in the graph.

    Args:
        step: from the state and the inputs of a step ``[...]`` to the next state and the outputs of the step.
        state: before the first step.
        inputs: ``[N, ...]`` each.
        reverse: from the last step back; outputs stand where their inputs do.

    Returns:
        The outputs, ``[N, ...]`` each, and the last state.
    """
    from torch._higher_order_ops.scan import scan as torch_scan  # only export has a need of it

    def combine(carry: Tensors, x: Tensors) -> tuple[Tensors, Tensors]:
        new, outputs = step(carry, x)
        return new, tuple(output.clone() for output in outputs)  # an output must not be the state itself

    state = tuple(part.clone() for part in state)  # nor may two of them be views of one tensor
    last, outputs = torch_scan(combine, state, inputs, dim=0, reverse=reverse)
    return tuple(outputs), tuple(last)
