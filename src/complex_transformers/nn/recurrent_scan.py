# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""All steps of a ``ComplexLSTM`` as one function with a gradient of its own, for full precision on the CPU.

Autograd would keep the two dozen operations of every step and go back through them one by one. Written out, the
gradient takes its element-wise part in place, the products of W and U in one call a step, and those of the weights in
one call for all steps. Within the scan features come before rows, numbers are ``[2, d, B]``: the products of a few
dozen rows are fastest with the weight on the left, and the gates of a step are contiguous vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["lstm_scan"]

Scan = Callable[..., tuple[Tensor, ...]]


def lstm_scan(
    plain: Scan, x: Tensor, h: Tensor, c: Tensor, mask: Tensor | None, real: Tensor, imag: Tensor, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """z = [W U] [x_t; h] + b, c = f c + i tanh(g), h = o tanh(c) with modulus gates (Thesis 2.20), for all steps.

    Args:
        plain: the same by operations that autograd knows, with the arguments below; asked for second derivatives.
        x: ``[N, B, 2 in]`` halves.
        h, c: first states, ``[B, 2d]`` halves.
        mask: ``[N, B]``, true where a step counts; the others carry the states on.
        real, imag: both parts of [W U], ``[4d, in + d]``, rows i, f, g, o.
        bias: ``[8d]`` halves.

    Returns:
        The states after every step, ``[N, B, 2d]``, and the last h and c, ``[B, 2d]``.
    """
    inputs = x, h, c, mask, real, imag, bias
    if torch.is_grad_enabled() and any(value is not None and value.requires_grad for value in inputs):
        return _LSTMScan.apply(plain, *inputs)[:3]
    return _forward(False, *inputs)[:3]


def _forward(
    keep: bool, x: Tensor, h: Tensor, c: Tensor, mask: Tensor | None, real: Tensor, imag: Tensor, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """``lstm_scan`` and what its gradient needs of every step; without ``keep`` all steps share the memory of one."""
    steps, batch, _ = x.shape
    n, d = x.shape[-1] // 2, h.shape[-1] // 2

    def buffer(count: int, *shape: int) -> Tensor:
        return x.new_empty(count if keep else 1, *shape).expand(count, *shape)

    inputs = buffer(steps, batch, 2, n + d)  # [x_t; h]
    numbers = buffer(steps, 2, 4, d, batch)  # z of the gates, and phi(g) in the place of g
    gates = buffer(steps, 4, d, batch)
    cells = buffer(steps + 1, 2, d, batch)
    phi_cells = buffer(steps, 2, d, batch)
    out = x.new_empty(steps, batch, 2, d)
    total, product = x.new_empty(batch, n + d), x.new_empty(4 * d, batch)
    state, cell = _features_first(h), _features_first(c)
    cells[0] = cell
    x, row = x.unflatten(-1, (2, n)), h.unflatten(-1, (2, d))
    offset = real.new_zeros(2, 1, 1) if bias is None else bias.view(2, -1, 1)
    summed, difference = real + imag, imag - real
    for t in range(steps):
        # Three products (Gauss): A (re + im) is part of both parts of z.
        torch.cat([x[t], row], dim=-1, out=inputs[t])
        re, im = inputs[t].unbind(1)
        torch.mm(real, torch.add(re, im, out=total).t(), out=product)
        z = numbers[t].flatten(1, 2)
        torch.add(product, offset, out=z)
        z[0].addmm_(summed, im.t(), alpha=-1)
        z[1].addmm_(difference, re.t())

        # A square that overflows is harmless, see the modulus gate. That of the candidate is idle.
        re, im = numbers[t].unbind(0)
        torch.mul(re, re, out=gates[t]).addcmul_(im, im).sigmoid_()
        i, f, _, o = gates[t].unbind(0)
        phi = numbers[t, :, 2].tanh_()
        torch.mul(f, cells[t], out=cell).addcmul_(i, phi)
        torch.tanh(cell, out=phi_cells[t])
        if mask is None:
            cells[t + 1] = cell
            torch.mul(o, phi_cells[t], out=state)
        else:
            torch.where(mask[t], cell, cells[t], out=cells[t + 1])
            torch.where(mask[t], o * phi_cells[t], state, out=state)
        row = out[t].copy_(state.permute(2, 0, 1))
    return out.flatten(2), _rows_first(state), _rows_first(cells[-1]), inputs, numbers, gates, cells, phi_cells


class _LSTMScan(torch.autograd.Function):
    """``lstm_scan`` with the gradient written out; the gradient of the gradient goes through ``plain``."""

    @staticmethod
    def forward(plain: Scan, *inputs: Any) -> tuple[Tensor, ...]:
        return _forward(True, *inputs)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.plain, *tensors = inputs
        ctx.mark_non_differentiable(*output[3:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *output[3:])

    @staticmethod
    def backward(ctx, grad_out: Tensor | None, grad_h: Tensor | None, grad_c: Tensor | None, *_):  # type: ignore[no-untyped-def]
        *tensors, inputs, numbers, gates, cells, phi_cells = ctx.saved_tensors
        x, h, _, mask, real, imag, _ = tensors
        need_x, _, _, _, *need_weights, need_bias = ctx.needs_input_grad[1:]
        if torch.is_grad_enabled():  # a graph of the gradient is wanted
            return None, *_plain_gradients(ctx.plain, tensors, ctx.needs_input_grad[1:], (grad_out, grad_h, grad_c))
        (steps, batch, _), n, d = x.shape, x.shape[-1] // 2, h.shape[-1] // 2

        first = 0 if need_x else n  # columns of [W U] that a gradient goes back through
        adjoint = real.t()[first:].contiguous(), imag.t()[first:].contiguous()
        adjoint_sum, adjoint_difference = adjoint[0] + adjoint[1], adjoint[1] - adjoint[0]
        grad_inputs = x.new_empty(2, n + d - first, batch)
        grad_x = x.new_empty(steps, batch, 2, n) if need_x else None
        # Steps beside rows: the products of the weights find a matrix [4d, N B]. Real, imaginary, and their sum.
        grads = x.new_empty(3, 4 * d, steps, batch)
        grad_gates, scratch = x.new_zeros(4, d, batch), x.new_empty(2, d, batch)
        grad_state, grad_cell = (
            x.new_zeros(2, d, batch) if grad is None else _features_first(grad) for grad in (grad_h, grad_c)
        )
        for t in range(steps - 1, -1, -1):
            if grad_out is not None:
                grad_state += grad_out[t].unflatten(-1, (2, d)).permute(1, 2, 0)
            if mask is not None:  # what a step carries on, and what goes through it
                carried = grad_state.masked_fill(mask[t], 0.0), grad_cell.masked_fill(mask[t], 0.0)
                grad_state.masked_fill_(~mask[t], 0.0)
                grad_cell.masked_fill_(~mask[t], 0.0)

            # h = o tanh(c), c = f c + i phi(g); the gradient of a real gate is the sum of those of both parts.
            (i, f, _, o), phi, phi_cell = gates[t].unbind(0), numbers[t, :, 2], phi_cells[t]
            torch.mul(grad_state, phi_cell, out=scratch)
            torch.add(*scratch, out=grad_gates[3])
            grad_cell.addcmul_(grad_state, o).addcmul_(scratch.mul_(o), phi_cell, value=-1)
            torch.add(*torch.mul(grad_cell, cells[t], out=scratch), out=grad_gates[1])
            torch.add(*torch.mul(grad_cell, phi, out=scratch), out=grad_gates[0])
            torch.addcmul(grad_cell, scratch, phi, value=-1, out=scratch)
            # sigmoid(|z|^2) has the gradient 2 z s (1 - s).
            grad_gates.mul_(gates[t]).addcmul_(grad_gates, gates[t], value=-1).mul_(2.0)
            grad_numbers = grads[:2, :, t].unflatten(1, (4, d))
            torch.mul(grad_gates, numbers[t], out=grad_numbers)
            torch.mul(scratch, i, out=grad_numbers[:, 2])
            grad_cell.mul_(f)

            # conj([W U])^T by three products.
            grad_re, grad_im, grad_total = grads[:, :, t].unbind(0)
            torch.add(grad_re, grad_im, out=grad_total)
            into_re, into_im = grad_inputs
            into_im.copy_(torch.mm(adjoint[0], grad_total, out=into_re))
            into_re.addmm_(adjoint_difference, grad_im)
            into_im.addmm_(adjoint_sum, grad_re, alpha=-1)
            if grad_x is not None:
                grad_x[t] = grad_inputs[:, :n].permute(2, 0, 1)
            grad_state = grad_inputs[:, n - first :]
            if mask is not None:
                grad_state += carried[0]
                grad_cell += carried[1]

        grad_weights = _weight_gradients(grads, inputs) if any(need_weights) else (None, None)
        grad_bias = grads[:2].sum((2, 3)).flatten() if need_bias else None
        grad_x = None if grad_x is None else grad_x.flatten(2)
        return None, grad_x, _rows_first(grad_state), _rows_first(grad_cell), None, *grad_weights, grad_bias


def _weight_gradients(grads: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the real and the imaginary part of [W U], grad conj(z)^T of all steps, by three products."""
    (grad_re, grad_im, grad_total), (re, im) = grads.flatten(2), inputs.flatten(0, 1).unbind(1)
    from_difference, from_sum = grad_im @ re, grad_re @ im
    of_real = (grad_total @ (re + im)).sub_(from_difference).sub_(from_sum)
    return of_real, from_difference.sub_(from_sum)


def _plain_gradients(
    plain: Scan, inputs: list[Tensor], needed: tuple[bool, ...], grads: tuple[Tensor | None, ...]
) -> list[Tensor | None]:
    """The gradients of ``plain``, with a graph of their own."""
    # Views, so that inputs that depend on each other count once.
    inputs = [value.view_as(value) if need else value for value, need in zip(inputs, needed, strict=True)]
    given = [(out, grad) for out, grad in zip(plain(*inputs), grads, strict=True) if grad is not None]
    wanted = [value for value, need in zip(inputs, needed, strict=True) if need]
    outputs, cotangents = zip(*given, strict=True)
    found = iter(torch.autograd.grad(outputs, wanted, cotangents, create_graph=True, allow_unused=True))
    return [next(found) if need else None for need in needed]


def _features_first(x: Tensor) -> Tensor:
    """Halves ``[B, 2d]`` as numbers ``[2, d, B]``; a copy."""
    return x.unflatten(-1, (2, -1)).permute(1, 2, 0).clone(memory_format=torch.contiguous_format)


def _rows_first(x: Tensor) -> Tensor:
    """Numbers ``[2, d, B]`` as halves ``[B, 2d]``; a copy."""
    return x.permute(2, 0, 1).clone(memory_format=torch.contiguous_format).flatten(1)
