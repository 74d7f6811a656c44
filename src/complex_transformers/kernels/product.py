# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Element-wise complex product of ``[real | imag]`` halves."""

from __future__ import annotations

import torch
from torch import Tensor

from .dispatch import by_formula, gradients_with_graph, is_plain_cpu, run
from .exporting import halves

__all__ = ["product_by_formula", "product_of_halves"]


def product_of_halves(x: Tensor, y: Tensor) -> Tensor:
    """Compute (a + ib)(c + id) = (ac - bd) + i(ad + bc) with broadcasting: ``[..., 2d], [..., 2d] -> [..., 2d]``."""
    if x.dtype == y.dtype and is_plain_cpu(x):
        return run(Product, x, y)
    return product_by_formula(x, y)[0]


def product_by_formula(x: Tensor, y: Tensor) -> tuple[Tensor]:
    """Compute ``product_of_halves`` with differentiable operations."""
    (a, b), (c, d) = halves(x), halves(y)
    return (torch.cat([a * c - b * d, a * d + b * c], dim=-1),)


def _product(x: Tensor, y: Tensor, sign: float) -> Tensor:
    """Compute x (c + i sign d) with one pass per real product."""
    (a, b), (c, d) = halves(x), halves(y)
    *shape, features = torch.broadcast_tensors(a, c)[0].shape  # broadcast_shapes is Python and slow
    out = x.new_empty(*shape, 2 * features)
    real, imag = halves(out)
    torch.mul(a, c, out=real).addcmul_(b, d, value=-sign)
    torch.mul(b, c, out=imag).addcmul_(a, d, value=sign)
    return out


class Product(torch.autograd.Function):
    """``product_of_halves`` without temporaries; the gradients are products with the conjugates."""

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return _product(x, y, 1.0)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        x, y = ctx.saved_tensors
        if by_formula(grad):
            return gradients_with_graph(product_by_formula, (x, y), ctx.needs_input_grad, (grad,))
        pairs = zip((x, y), (y, x), ctx.needs_input_grad, strict=True)
        return tuple(_summed(_product(grad, other, -1.0), value) if needed else None for value, other, needed in pairs)


def _summed(grad: Tensor, like: Tensor) -> Tensor:
    """Sum a gradient over the axes along which ``like`` was broadcast."""
    if grad.shape == like.shape:
        return grad
    size = halves(like)[0].shape
    return torch.cat([part.sum_to_size(size) for part in halves(grad)], dim=-1)
