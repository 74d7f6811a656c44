# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions in operators that ``torch.export`` and ONNX support, used only while ``is_exporting``."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["halves", "hypot", "inverse", "is_exporting", "scan"]

Tensors = tuple[Tensor, ...]


def is_exporting() -> bool:
    """Return whether a graph is being exported: shapes are symbolic and values unknown."""
    # torch.compiler.is_exporting() is also true under torch.compile before torch 2.13; torch 2.6 lacks it.
    return getattr(torch.compiler, "_is_exporting_flag", False)


def halves(x: Tensor, dim: int = -1) -> tuple[Tensor, Tensor]:
    """Return views of both halves along an axis; during export without dividing a symbolic length."""
    if is_exporting():
        first, second = x.unflatten(dim, (2, -1)).unbind(dim - 1 if dim < 0 else dim)
    else:
        first, second = x.chunk(2, dim)
    return first, second


def hypot(real: Tensor, imag: Tensor) -> Tensor:
    """Compute sqrt(re^2 + im^2) without overflow; ONNX has no hypot and gets larger sqrt(1 + ratio^2)."""
    if not is_exporting():
        return torch.hypot(real, imag)
    first, second = real.abs(), imag.abs()
    larger = torch.maximum(first, second)
    ratio = torch.minimum(first, second) / larger.clamp(min=torch.finfo(real.dtype).tiny)
    return larger * (1 + ratio.square()).sqrt()


# Newton steps first halve the condition number and then double the correct digits. This many are enough for I + A with
# a skew-Hermitian A of norm 1e6.
_NEWTON_STEPS = 60


def inverse(matrix: Tensor) -> Tensor:
    """Invert ``[..., n, n]`` by products alone, since ONNX has no solver: X <- X (2 I - M X) (Schulz 1933).

    Computed in float64 from M^T / (|M|_1 |M|_inf), which converges for every regular M. For parameters, a runtime
    folds it into a constant when it loads the graph.
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
    """Apply ``step`` along the first axis, as a loop of the graph for any length.

    Args:
        step: function of the state and the inputs of a step ``[...]`` that returns the next state and the outputs.
        state: initial state.
        inputs: ``[N, ...]`` each.
        reverse: run from the last step to the first; outputs keep the order of the inputs.

    Returns:
        The outputs, ``[N, ...]`` each, and the last state.
    """
    from torch._higher_order_ops.scan import scan as torch_scan  # only needed for export

    def combine(carry: Tensors, x: Tensors) -> tuple[Tensors, Tensors]:
        new, outputs = step(carry, x)
        return new, tuple(output.clone() for output in outputs)  # an output must not alias the state

    state = tuple(part.clone() for part in state)  # nor may two states share a tensor
    last, outputs = torch_scan(combine, state, inputs, dim=0, reverse=reverse)
    return tuple(outputs), tuple(last)
