# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""All steps of the diagonal recurrence h_t = a h_{t-1} + gain x_t as one autograd function.

A sequence of N steps is split into about sqrt(N) chunks. All chunks run step by step from zero in parallel; then the
last state of each chunk is propagated through the next one with powers of a. This takes two passes over the data and
2 sqrt(N) operations. A plain loop takes one pass and N operations, recursive doubling (Blelloch 1990) log N passes.
The gradient is the same scan in reverse with the conjugate of a.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from .dispatch import by_formula, gradients_with_graph, is_transformed
from .exporting import scan

__all__ = ["diagonal_scan", "exported_diagonal_scan"]

# Up to this many steps a plain loop is as fast.
_SHORT = 16


def diagonal_scan(x: Tensor, gain: Tensor, a: Tensor, state: Tensor) -> Tensor:
    """Compute h_t = a h_{t-1} + gain x_t for all steps, with h_{-1} = state.

    Args:
        x: ``[N, B, 2d]`` halves, or ``[N, B, d]`` where ``a`` is real.
        gain: ``[d]``, real and positive.
        a: ``[d]``, complex or real, |a| <= 1.
        state: ``[B, 2d]`` or ``[B, d]``.

    Returns:
        Every state, in the shape of x.
    """
    states: Tensor = (diagonal_steps if is_transformed() else _DiagonalScan.apply)(x, gain, a, state)[0]
    return states


def diagonal_steps(x: Tensor, gain: Tensor, a: Tensor, state: Tensor) -> tuple[Tensor]:
    """Compute ``diagonal_scan`` with differentiable operations."""
    parts = torch.view_as_real(a).unbind(-1) if a.is_complex() else (a,)
    h, states = state, []
    for x_t in x:
        h = _step(x_t, gain, parts, h)
        states.append(h)
    return (torch.stack(states),)


def _step(x: Tensor, gain: Tensor, parts: tuple[Tensor, ...], h: Tensor) -> Tensor:
    """Compute a h + gain x from the parts of a."""
    x, h = (tensor.unflatten(-1, (len(parts), -1)) for tensor in (x, h))
    rotated = parts[0] * h
    if len(parts) == 2:
        rotated = rotated + parts[1] * torch.stack([-h[..., 1, :], h[..., 0, :]], dim=-2)
    return (rotated + gain * x).flatten(-2)


def exported_diagonal_scan(x: Tensor, gain: Tensor, parts: tuple[Tensor, ...], state: Tensor) -> Tensor:
    """Compute ``diagonal_scan`` from the parts of a, as a loop in an exported graph."""

    def step(carry: tuple[Tensor, ...], inputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        h = _step(inputs[0], gain, parts, carry[0])
        return (h,), (h,)

    (states,), _ = scan(step, (state,), (x,))
    return states


class _DiagonalScan(torch.autograd.Function):
    """``diagonal_scan`` and its states in the dtype of a; double backward uses ``diagonal_steps``."""

    @staticmethod
    def forward(x: Tensor, gain: Tensor, a: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        h = _load(x, gain, a)
        h[0].addcmul_(a, _load(state, None, a))
        _scan_(h, a, forward=True)
        return _store(h, x), h

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        *tensors, h = ctx.saved_tensors
        x, gain, a, state = tensors
        if by_formula(grad):
            return gradients_with_graph(diagonal_steps, tensors, ctx.needs_input_grad, (grad,))
        # The conjugate of the gradient follows the reverse recurrence with a.
        adjoint = _load(grad, None, a, conjugate=True)
        _scan_(adjoint, a, forward=False)
        grad_x = _store(adjoint, x, gain, conjugate=True)
        grad_gain = grad_a = grad_state = None
        if ctx.needs_input_grad[1]:
            grad_gain = (x * grad_x).sum((0, 1)).unflatten(-1, (-1, len(gain))).sum(0) / gain
        if ctx.needs_input_grad[2]:
            grad_a = (_load(state, None, a) * adjoint[0]).sum(0)
            grad_a = (grad_a + (h[:-1] * adjoint[1:]).sum((0, 1))).conj()
        if ctx.needs_input_grad[3]:
            grad_state = _store(a * adjoint[0], state, conjugate=True)
        return grad_x, grad_gain, grad_a, grad_state


def _scan_(h: Tensor, a: Tensor, forward: bool) -> None:
    """Compute h_t += a h_{t-1} in place, or in reverse h_t += a h_{t+1}."""
    steps = len(h)
    length = steps if steps <= _SHORT else math.isqrt(steps - 1) + 1
    number, rest = divmod(steps, length)

    def in_order(tensors: Iterable[Tensor]) -> list[Tensor]:
        return list(tensors) if forward else list(tensors)[::-1]

    # Whole chunks from the start of the scan; the remainder is at its end.
    whole, left = h.split([number * length, rest] if forward else [rest, number * length])
    if not forward:
        whole, left = left, whole
    pieces = whole.unflatten(0, (number, length))
    for before, after in pairwise(in_order(pieces.unbind(1))):
        after.addcmul_(a, before)
    for before, after in pairwise(in_order(left.unbind(0))):
        after.addcmul_(a, before)
    powers = a.expand(length, -1).cumprod(0).unsqueeze(1)
    of_pieces = in_order(pieces.unbind(0))
    end = -1 if forward else 0
    for before, after in pairwise([*of_pieces, left] if rest else of_pieces):
        factors = powers[: len(after)]
        after.addcmul_(factors if forward else factors.flip(0), before[end])


def _load(x: Tensor, gain: Tensor | None, a: Tensor, conjugate: bool = False) -> Tensor:
    """Copy halves to the dtype of ``a``, in the same memory order, times ``gain``."""
    parts = x.chunk(2, dim=-1) if a.is_complex() else (x,)
    numbers = torch.empty_like(parts[0], dtype=a.dtype)
    _copy_parts(parts, _parts(numbers), gain, conjugate)
    return numbers


def _store(numbers: Tensor, like: Tensor, gain: Tensor | None = None, conjugate: bool = False) -> Tensor:
    """Copy values in the dtype of a to halves in the shape and memory order of ``like``, times ``gain``."""
    out, parts = torch.empty_like(like), _parts(numbers)
    _copy_parts(parts, out.chunk(len(parts), dim=-1), gain, conjugate)
    return out


def _parts(numbers: Tensor) -> tuple[Tensor, ...]:
    return torch.view_as_real(numbers).unbind(-1) if numbers.is_complex() else (numbers,)


def _copy_parts(parts: tuple[Tensor, ...], outputs: tuple[Tensor, ...], gain: Tensor | None, conjugate: bool) -> None:
    for number, (part, out) in enumerate(zip(parts, outputs, strict=True)):
        if conjugate and number == 1:
            torch.neg(part, out=out) if gain is None else torch.mul(part, -gain, out=out)
        else:
            out.copy_(part) if gain is None else torch.mul(part, gain, out=out)
