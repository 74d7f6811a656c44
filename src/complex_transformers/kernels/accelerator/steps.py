# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Steps of complex LSTM and GRU layers in one kernel launch each, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..dispatch import by_formula, gradients_with_graph, run
from . import switch

__all__ = ["GATES", "gru_step", "lstm_step", "takes_step"]

GATES = ("real_part", "projected", "modulus", "biased_modulus", "amplitude", "split")  # the index is the kernels' code
TILE = 256  # units of the batch per program

# Inputs -> outputs with differentiable operations, for second derivatives.
Formula = Callable[..., tuple[Tensor, ...]]


def takes_step(gate: str, weight: Tensor | None, *tensors: Tensor) -> bool:
    """Return whether the kernels support a gate, its parameters and these pre-activations and states."""
    given = tensors if weight is None else (*tensors, weight)
    return gate in GATES and all(switch.may_run(tensor) for tensor in given)


def lstm_step(
    v: Tensor, c: Tensor, weight: Tensor | None, gate: str, limit: float, formula: Formula
) -> tuple[Tensor, ...]:
    """Compute the next h and c, ``[B, 2d]``, from v ``[B, 8d]`` of the gates i, f, g, o and c ``[B, 2d]``.

    Cells are clamped to ``limit``; ``weight`` holds the parameters of the gates, ``[count, 3, d]``.
    """
    return run(_LSTMStep, v, c, weight, gate, limit, formula)


def gru_step(
    x: Tensor, y: Tensor, h: Tensor, weight: Tensor | None, gate: str, limit: float, formula: Formula
) -> Tensor:
    """Compute the next h ``[B, 2d]`` from the products of input and state, ``[B, 6d]`` each, and h ``[B, 2d]``."""
    return run(_GRUStep, x, y, h, weight, gate, limit, formula)[0]


def _launch(kernel: Any, tensors: list[Tensor], state: Tensor, gate: str, *rest: float) -> None:
    """Run ``kernel`` on all units of a state ``[B, 2d]``."""
    batch, width = state.shape
    count = batch * width // 2
    sizes = (count, width // 2, *rest)
    switch.launch(kernel, (-(-count // TILE),), *tensors, *sizes, GATE=GATES.index(gate), N=TILE)


def _empty(x: Tensor, *others: Tensor) -> Tensor:
    """Return a contiguous tensor of the shape of ``x`` and the common dtype."""
    dtype = x.dtype
    for other in others:
        dtype = torch.promote_types(dtype, other.dtype)
    return torch.empty(x.shape, dtype=dtype, device=x.device)


def _weight_gradient(weight: Tensor | None, batch: int) -> Tensor | None:
    """Return a tensor for the gradients of the gates' parameters of each row, ``[count, B, gates, d]``."""
    if weight is None:
        return None
    count, *shape = weight.shape
    return torch.empty(count, batch, *shape, dtype=torch.float32, device=weight.device)


class _LSTMStep(torch.autograd.Function):
    """``lstm_step`` and its gradient."""

    @staticmethod
    def forward(
        v: Tensor, c: Tensor, weight: Tensor | None, gate: str, limit: float, formula: Formula
    ) -> tuple[Tensor, ...]:
        from . import step_kernels as kernels

        v, c = v.contiguous(), c.contiguous()
        h_new, c_new = _empty(c, v), _empty(c, v)
        given = v if weight is None else weight.contiguous()  # a tensor that is not read
        _launch(kernels.lstm_forward, [v, c, given, h_new, c_new], c, gate, limit)
        return h_new, c_new

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        *tensors, ctx.gate, ctx.limit, ctx.formula = inputs
        ctx.save_for_backward(*tensors, output[1])

    @staticmethod
    def backward(ctx, grad_h: Tensor, grad_c: Tensor) -> Any:  # type: ignore[no-untyped-def]
        from . import step_kernels as kernels

        v, c, weight, c_new = ctx.saved_tensors
        if by_formula(grad_h, grad_c):
            given = ctx.formula, (v, c, weight), ctx.needs_input_grad[:3], (grad_h, grad_c)
            return *gradients_with_graph(*given), None, None, None
        v, c = v.contiguous(), c.contiguous()
        grad_v, grad_before = torch.empty_like(v), torch.empty_like(c)
        grad_weight = _weight_gradient(weight, len(c))
        inputs = [v, c, v if weight is None else weight.contiguous(), c_new, grad_h.contiguous(), grad_c.contiguous()]
        outputs = [grad_v, grad_before, v if grad_weight is None else grad_weight]
        _launch(kernels.lstm_backward, [*inputs, *outputs], c, ctx.gate, len(c), ctx.limit)
        summed = None if grad_weight is None else grad_weight.sum(1).to(weight.dtype)
        return grad_v, grad_before, summed, None, None, None


class _GRUStep(torch.autograd.Function):
    """``gru_step`` and its gradient."""

    @staticmethod
    def forward(
        x: Tensor, y: Tensor, h: Tensor, weight: Tensor | None, gate: str, limit: float, formula: Formula
    ) -> tuple[Tensor, ...]:
        from . import step_kernels as kernels

        x, y, h = x.contiguous(), y.contiguous(), h.contiguous()
        h_new = _empty(h, x, y)
        given = x if weight is None else weight.contiguous()
        _launch(kernels.gru_forward, [x, y, h, given, h_new], h, gate, limit)
        return (h_new,)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        *tensors, ctx.gate, ctx.limit, ctx.formula = inputs
        ctx.save_for_backward(*tensors, *output)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Any:  # type: ignore[no-untyped-def]
        from . import step_kernels as kernels

        x, y, h, weight, h_new = ctx.saved_tensors
        if by_formula(grad):
            given = ctx.formula, (x, y, h, weight), ctx.needs_input_grad[:4], (grad,)
            return *gradients_with_graph(*given), None, None, None
        x, y, h = x.contiguous(), y.contiguous(), h.contiguous()
        grads = [torch.empty_like(tensor) for tensor in (x, y, h)]
        grad_weight = _weight_gradient(weight, len(h))
        inputs = [x, y, h, x if weight is None else weight.contiguous(), h_new, grad.contiguous()]
        outputs = [*grads, x if grad_weight is None else grad_weight]
        _launch(kernels.gru_backward, [*inputs, *outputs], h, ctx.gate, len(h), ctx.limit)
        summed = None if grad_weight is None else grad_weight.sum(1).to(weight.dtype)
        return *grads, summed, None, None, None
