# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""All steps of a ``ComplexLSTM`` with real gates as one autograd function, on the CPU.

Autograd would record two dozen operations per step. The hand-written gradient computes element-wise parts in place and
the products with inputs and weights in one call for all steps. A real gate needs one real row of the product where a
complex value needs two, so there are five rows per unit instead of eight. Within the scan the layout is features
first, ``[features, B]``: with small batches products are fastest with the weight on the left, and gates are
contiguous.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .dispatch import by_formula, gradients_with_graph, without_autocast

__all__ = ["lstm_scan"]


def lstm_scan(
    x: Tensor, h: Tensor, c: Tensor, mask: Tensor | None, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """Compute v = W [x_t; h] + b, c = f c + i tanh(g), h = o tanh(c) for all steps (Thesis 2.20).

    The gates i, f, o are sigmoids of real rows of v; g is complex.

    Args:
        x: ``[N, B, 2 in]`` halves.
        h, c: initial states, ``[B, 2d]`` halves.
        mask: ``[N, B]``, true for real steps; other steps keep the states.
        weight: ``[5d, 2 in + 2d]``, real; rows i, f, o, the real part of g and its imaginary part.
        bias: ``[5d]``.

    Returns:
        The states after every step, ``[N, B, 2d]``, and the last h and c, ``[B, 2d]``.
    """
    out, h_n, c_n, *_ = _LSTMScan.apply(x, h, c, mask, weight, bias)
    return out, h_n, c_n


def lstm_steps(
    x: Tensor, h: Tensor, c: Tensor, mask: Tensor | None, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """Compute ``lstm_scan`` with differentiable operations."""
    outputs = []
    for t, x_t in enumerate(x):
        v = F.linear(torch.cat([x_t, h], dim=-1), weight, bias).unflatten(-1, (5, -1))
        i, f, o = (gate.repeat(1, 2) for gate in v[:, :3].sigmoid().unbind(1))
        cell = f * c + i * v[:, 3:].tanh().flatten(1)
        state = o * cell.tanh()
        if mask is not None:
            keep = mask[t].unsqueeze(-1)
            cell, state = torch.where(keep, cell, c), torch.where(keep, state, h)
        h, c = state, cell
        outputs.append(h)
    return torch.stack(outputs), h, c


class _LSTMScan(torch.autograd.Function):
    """``lstm_scan`` and the tensors saved for its gradient; double backward uses ``lstm_steps``."""

    @staticmethod
    def forward(
        x: Tensor, h: Tensor, c: Tensor, mask: Tensor | None, weight: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, ...]:
        (steps, batch, n), d = x.shape, h.shape[-1] // 2
        numbers = weight[:, :n] @ x.mT  # input products; overwritten by v and then by the gates and tanh(g)
        if bias is not None:
            numbers += bias.unsqueeze(-1)
        cells = x.new_empty(steps + 1, 2, d, batch)
        phi_cells = x.new_empty(steps, 2, d, batch)
        out = x.new_empty(steps, batch, 2 * d)
        recurrent = weight[:, n:].contiguous()
        state, cells[0] = _features_first(h), _features_first(c)
        for t in range(steps):
            numbers[t].addmm_(recurrent, state.flatten(0, 1))
            new, cell = _step(numbers[t].view(5, d, batch), cells[t], cells[t + 1], phi_cells[t]), cells[t + 1]
            if mask is not None:
                torch.where(mask[t], cell, cells[t], out=cell)
                new = torch.where(mask[t], new, state)
            state = new
            out[t] = state.flatten(0, 1).t()
        return out, out[-1].clone(), _rows_first(cells[-1]), numbers, cells, phi_cells

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.mark_non_differentiable(*output[3:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs, output[0], *output[3:])

    @staticmethod
    @without_autocast
    def backward(ctx, grad_out: Tensor | None, grad_h: Tensor | None, grad_c: Tensor | None, *_):  # type: ignore[no-untyped-def]
        *tensors, out, numbers, cells, phi_cells = ctx.saved_tensors
        x, h, _, mask, weight, _ = tensors
        need_x, _, _, _, need_weight, need_bias = ctx.needs_input_grad
        if by_formula(grad_out, grad_h, grad_c):
            return gradients_with_graph(lstm_steps, tensors, ctx.needs_input_grad, (grad_out, grad_h, grad_c))
        (steps, batch, n), d = x.shape, h.shape[-1] // 2

        adjoint = weight[:, n:].t().contiguous()
        grad_out = None if grad_out is None else grad_out.mT.reshape(steps, 2, d, batch)
        grads = x.new_empty(5 * d, steps, batch)  # steps beside batch: one product for weights
        scratch = x.new_empty(2, d, batch)
        grad_state, grad_cell = (
            x.new_zeros(2, d, batch) if grad is None else _features_first(grad) for grad in (grad_h, grad_c)
        )
        for t in range(steps - 1, -1, -1):
            if grad_out is not None:
                grad_state += grad_out[t]
            if mask is not None:  # masked steps pass gradients on unchanged
                carried = grad_state.masked_fill(mask[t], 0.0), grad_cell.masked_fill(mask[t], 0.0)
                grad_state.masked_fill_(~mask[t], 0.0)
                grad_cell.masked_fill_(~mask[t], 0.0)
            saved = numbers[t].view(5, d, batch), cells[t], phi_cells[t]
            _step_gradient(grad_state, grad_cell, *saved, scratch, out=grads[:, t].unflatten(0, (5, d)))
            grad_state = torch.mm(adjoint, grads[:, t]).view(2, d, batch)
            if mask is not None:
                grad_state += carried[0]
                grad_cell += carried[1]

        of_all = grads.flatten(1)
        grad_x = (of_all.t() @ weight[:, :n]).view_as(x) if need_x else None
        grad_weight = None
        if need_weight:
            before = torch.cat([h.unsqueeze(0), out[:-1]])
            grad_weight = torch.cat([of_all @ x.flatten(0, 1), of_all @ before.flatten(0, 1)], dim=1)
        grad_bias = of_all.sum(1) if need_bias else None
        return grad_x, _rows_first(grad_state), _rows_first(grad_cell), None, grad_weight, grad_bias


def _step(v: Tensor, before: Tensor, cell: Tensor, phi_cell: Tensor) -> Tensor:
    """Compute the new cell, phi(cell) and h from v ``[5, d, B]``, which is overwritten by gates and phi(g)."""
    i, f, o = v[:3].sigmoid_().unbind(0)
    torch.mul(f, before, out=cell).addcmul_(i, v[3:].tanh_())
    return o * torch.tanh(cell, out=phi_cell)


def _step_gradient(
    grad_state: Tensor, grad_cell: Tensor, v: Tensor, before: Tensor, phi_cell: Tensor, scratch: Tensor, out: Tensor
) -> None:
    """Write the gradient of v to ``out``; update ``grad_cell`` from the new cell to the cell before.

    A real gate multiplies both parts, so its gradient is the sum over them.
    """
    (i, f, o), phi = v[:3].unbind(0), v[3:]
    # h = o phi(c)
    torch.mul(grad_state, phi_cell, out=scratch)
    torch.add(scratch[0], scratch[1], out=out[2])
    grad_cell.addcmul_(grad_state, o).addcmul_(scratch.mul_(o), phi_cell, value=-1)
    # c = f c + i phi(g)
    torch.mul(grad_cell, before, out=scratch)
    torch.add(scratch[0], scratch[1], out=out[1])
    torch.mul(grad_cell, phi, out=scratch)
    torch.add(scratch[0], scratch[1], out=out[0])
    torch.mul(torch.addcmul(grad_cell, scratch, phi, value=-1, out=scratch), i, out=out[3:])
    grad_cell.mul_(f)
    # s = sigmoid(v): ds = s (1 - s)
    out[:3].mul_(v[:3]).addcmul_(out[:3], v[:3], value=-1)


def _features_first(x: Tensor) -> Tensor:
    """Copy halves ``[B, 2d]`` to ``[2, d, B]``."""
    return x.unflatten(-1, (2, -1)).permute(1, 2, 0).clone(memory_format=torch.contiguous_format)


def _rows_first(x: Tensor) -> Tensor:
    """Copy ``[2, d, B]`` to halves ``[B, 2d]``."""
    return x.permute(2, 0, 1).clone(memory_format=torch.contiguous_format).flatten(1)
