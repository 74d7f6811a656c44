# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The recurrence of Mamba-3 in chunks on the CPU, head by head in C++, so that products of a head stay in the cache.

Equations and notation as in ``nn.recurrent.state_space``; see ``native/state_space_chunks.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .dispatch import by_formula, gradients_with_graph, without_autocast

__all__ = ["ChunkedStateSpace"]

_FORGET = -1e4  # log decay at the start of a sequence; its exponential is 0

Formula = Callable[..., tuple[Tensor, Tensor]]


def _given(tensors: Sequence[Any]) -> tuple[Tensor, ...]:
    """Return the arguments of the operator but for the first state, of the arguments of ``formula``."""
    key, query, key_bias, query_bias, angles, value, log_decay, before, own, skip, _, sequence = tensors
    if angles is None:
        angles = value.new_empty(*value.shape[:4], 0)
    if sequence is not None:
        flat = sequence.flatten(1)
        starts = flat.diff(dim=1, prepend=torch.zeros_like(flat[:, :1])) != 0
        log_decay = log_decay.masked_fill(starts.view_as(sequence).unsqueeze(1), _FORGET)
    return key, query, key_bias, query_bias, angles, value, log_decay, own + _shifted(before, -1), own, skip


def _shifted(x: Tensor, steps: int) -> Tensor:
    """Move the values of all steps ``[B, H, n, c]`` one step back or on, with a 0 at the end or start."""
    return torch.nn.functional.pad(x.flatten(2), (steps, -steps)).view_as(x)


def _of_groups(grad: Tensor, like: Tensor) -> Tensor:
    """Add up the gradients of B or C over the heads of a group, ``[B, H, n, c R, N] -> [B, n, c, R, G, N]``."""
    grouped = grad.unflatten(1, (like.shape[4], -1)).sum(2).unflatten(3, like.shape[2:4])
    return grouped.permute(0, 2, 3, 4, 1, 5)


class ChunkedStateSpace(torch.autograd.Function):
    """The outputs and the last state of ``formula``, whose arguments follow it, with hand-written gradients.

    ``formula(key, query, key_bias, query_bias, angles, value, log_decay, before, own, skip, first, sequence)`` takes B
    and C ``[B, n, c, R, G, N]``, biases ``[H, R, N]``, angles ``[B, H, n, c, S]`` or None, a factor ``[H]`` of values
    that are added to y, and the other arguments of ``nn.recurrent.state_space.state_space``. It is called for double
    backward. The tensors must satisfy ``native.state_space.can_take``.
    """

    @staticmethod
    def forward(formula: Formula, *tensors: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Return y ``[B, H, n, c, R, P]``, the last state ``[B, H, P, N]``, and the states before every chunk."""
        operator = torch.ops.complex_transformers.state_space_chunks.default
        y, last, entering = operator(*_given(tensors), tensors[-2])
        return y.permute(0, 4, 1, 2, 3, 5), last, entering

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.formula, *tensors = inputs
        ctx.mark_non_differentiable(output[2])
        ctx.save_for_backward(*tensors, output[2])

    @staticmethod
    @without_autocast
    def backward(ctx: Any, grad: Tensor, grad_last: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        """Compute the gradients of all arguments, from ``grad`` of y and ``grad_last`` of the last state."""
        *tensors, entering = ctx.saved_tensors
        if by_formula(grad, grad_last):
            needed = ctx.needs_input_grad[1:]
            return None, *gradients_with_graph(ctx.formula, tensors, needed, (grad, grad_last))
        operator = torch.ops.complex_transformers.state_space_chunks_backward.default
        found = operator(grad, grad_last, *_given(tensors), entering)
        of_key, of_query, key_bias, query_bias, angles, value, log_decay, scale, own, skip, first = found
        key, query = (_of_groups(of, like) for of, like in zip((of_key, of_query), tensors, strict=False))
        return (
            None,
            key,
            query,
            key_bias.sum(0),
            query_bias.sum(0),
            None if tensors[4] is None else angles,
            value.permute(0, 4, 1, 2, 3, 5),
            log_decay,
            _shifted(scale, 1),
            own.add_(scale),
            skip.sum(0),
            first,
            None,
        )
