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

import torch
from torch import Tensor

from .linear import is_finite

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
    out, h_n, c_n, _, numbers, *_ = _LSTMScan.apply(plain, x, h, c, mask, real, imag, bias)
    # The three products of a step leave the range of the dtype before its gates do: see GaussLinear.
    return (out, h_n, c_n) if is_finite(numbers) else plain(x, h, c, mask, real, imag, bias)


class _LSTMScan(torch.autograd.Function):
    """``lstm_scan`` and what its gradient needs of every step; the gradient of the gradient goes through ``plain``."""

    @staticmethod
    def forward(
        plain: Scan,
        x: Tensor,
        h: Tensor,
        c: Tensor,
        mask: Tensor | None,
        real: Tensor,
        imag: Tensor,
        bias: Tensor | None,
    ) -> tuple[Tensor, ...]:
        steps, batch, _ = x.shape
        n, d = x.shape[-1] // 2, h.shape[-1] // 2

        inputs = x.new_empty(steps, batch, 2, n + d)  # [x_t; h]
        numbers = x.new_empty(steps, 2, 4, d, batch)  # z of the gates, and phi(g) in the place of g
        gates = x.new_empty(steps, 4, d, batch)
        cells = x.new_empty(steps + 1, 2, d, batch)
        phi_cells = x.new_empty(steps, 2, d, batch)
        out = x.new_empty(steps, batch, 2, d)
        total, scratch = x.new_empty(batch, n + d), x.new_empty(2, d, batch)
        state, cells[0] = _features_first(h), _features_first(c)
        x, row = x.unflatten(-1, (2, n)), h.unflatten(-1, (2, d))
        weights = _three_weights(real, imag)
        for t in range(steps):
            torch.cat([x[t], row], dim=-1, out=inputs[t])
            re, im = inputs[t].unbind(1)
            z = numbers[t].flatten(1, 2)
            _multiply(weights, re.t(), im.t(), torch.add(re, im, out=total).t(), out=z)
            if bias is not None:
                z += bias.view(2, -1, 1)
            new, cell = _step(numbers[t], gates[t], cells[t], cells[t + 1], phi_cells[t], out=scratch), cells[t + 1]
            if mask is not None:
                torch.where(mask[t], cell, cells[t], out=cell)
                new = torch.where(mask[t], new, state)
            state = new
            row = out[t].copy_(state.permute(2, 0, 1))
        return out.flatten(2), _rows_first(state), _rows_first(cells[-1]), inputs, numbers, gates, cells, phi_cells

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
        adjoint = _three_weights(real.t()[first:].contiguous(), -imag.t()[first:].contiguous())
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
                grad_state += _features_first(grad_out[t])
            if mask is not None:  # what a step carries on, and what goes through it
                carried = grad_state.masked_fill(mask[t], 0.0), grad_cell.masked_fill(mask[t], 0.0)
                grad_state.masked_fill_(~mask[t], 0.0)
                grad_cell.masked_fill_(~mask[t], 0.0)

            grad_re, grad_im, grad_total = grads[:, :, t].unbind(0)
            grad_numbers = grads[:2, :, t].unflatten(1, (4, d))
            saved = numbers[t], gates[t], cells[t], phi_cells[t]
            _step_gradient(grad_state, grad_cell, *saved, grad_gates, scratch, out=grad_numbers)
            torch.add(grad_re, grad_im, out=grad_total)
            _multiply(adjoint, grad_re, grad_im, grad_total, out=grad_inputs)
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


def _three_weights(real: Tensor, imag: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A, A + B and B - A."""
    return real, real + imag, imag - real


def _multiply(weights: tuple[Tensor, Tensor, Tensor], re: Tensor, im: Tensor, total: Tensor, out: Tensor) -> None:
    """``out`` ``[2, rows, B]`` = (A + iB) (re + i im) by three products (Gauss); ``total`` is re + im."""
    a, summed, difference = weights
    out[1].copy_(torch.mm(a, total, out=out[0]))
    out[0].addmm_(summed, im, alpha=-1)
    out[1].addmm_(difference, re)


def _step(z: Tensor, gates: Tensor, before: Tensor, cell: Tensor, phi_cell: Tensor, out: Tensor) -> Tensor:
    """From z ``[2, 4, d, B]`` the gates, phi(g) in the place of g, the new cell, phi(cell) and h."""
    re, im = z.unbind(0)
    # A square that overflows is harmless: the sigmoid of infinity is 1. The gate of the candidate is idle.
    torch.mul(re, re, out=gates).addcmul_(im, im).sigmoid_()
    i, f, _, o = gates.unbind(0)
    torch.mul(f, before, out=cell).addcmul_(i, z[:, 2].tanh_())
    return torch.mul(o, torch.tanh(cell, out=phi_cell), out=out)


def _step_gradient(
    grad_state: Tensor,
    grad_cell: Tensor,
    z: Tensor,
    gates: Tensor,
    before: Tensor,
    phi_cell: Tensor,
    grad_gates: Tensor,
    scratch: Tensor,
    out: Tensor,
) -> None:
    """The gradient of z into ``out``; that of the new cell in ``grad_cell`` becomes that of the one before.

    A real gate multiplies both parts: its gradient is the sum of theirs.
    """
    (i, f, _, o), phi = gates.unbind(0), z[:, 2]
    # h = o phi(c)
    torch.mul(grad_state, phi_cell, out=scratch)
    torch.add(scratch[0], scratch[1], out=grad_gates[3])
    grad_cell.addcmul_(grad_state, o).addcmul_(scratch.mul_(o), phi_cell, value=-1)
    # c = f c + i phi(g)
    torch.mul(grad_cell, before, out=scratch)
    torch.add(scratch[0], scratch[1], out=grad_gates[1])
    torch.mul(grad_cell, phi, out=scratch)
    torch.add(scratch[0], scratch[1], out=grad_gates[0])
    grad_phi = torch.addcmul(grad_cell, scratch, phi, value=-1, out=scratch)
    grad_cell.mul_(f)
    # s = sigmoid(|z|^2): ds = 2 z s (1 - s)
    grad_gates.mul_(gates).addcmul_(grad_gates, gates, value=-1).mul_(2.0)
    torch.mul(grad_gates, z, out=out)
    torch.mul(grad_phi, i, out=out[:, 2])


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
