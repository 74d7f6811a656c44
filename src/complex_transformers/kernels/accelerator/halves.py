# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions of ``[real | imag]`` halves in one kernel launch, forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..dispatch import are_many, by_formula, gradients_with_graph, run
from ..modulus import modulus
from ..product import product_by_formula
from . import switch

__all__ = ["KernelModulus", "KernelProduct", "dropout", "takes_dropout", "takes_modulus", "takes_product"]

TILE = 512  # complex elements per program
AXES = 4


def takes_product(x: Tensor, y: Tensor) -> bool:
    """Return whether the kernel supports these factors, ``y`` broadcast to ``x`` or of equal shape."""
    if not switch.may_run(x, y) or x.dim() > AXES or y.dim() > x.dim() or x.shape[-1] != y.shape[-1]:
        return False
    ends = x.shape[x.dim() - y.dim() :]
    return all(own in (1, other) for own, other in zip(y.shape, ends, strict=True))


def takes_dropout(x: Tensor) -> bool:
    """Return whether the kernel supports ``x``."""
    return switch.may_run(x) and x.dim() <= AXES


def takes_modulus(x: Tensor) -> bool:
    """Return whether the kernel supports ``x``."""
    return switch.may_run(x) and x.dim() <= AXES


def dropout(x: Tensor, p: float) -> Tensor:
    """Zero complex elements with probability p, both halves together, and divide the others by 1 - p."""
    return run(KernelDropout, x, p, switch.draw_seed(x))


def _strides(x: Tensor, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of ``x`` broadcast to four axes, 0 where an axis is repeated."""
    missing = AXES - x.dim()
    own = [
        0 if size == 1 < wanted else step
        for size, step, wanted in zip(x.shape, x.stride(), sizes[missing:], strict=True)
    ]
    return (0,) * missing + tuple(own)


def _launch(kernel: Any, tensors: list[Tensor], halves: list[Tensor], like: Tensor, *rest: Any, **flags: Any) -> None:
    """Run ``kernel`` on the complex elements of ``like``; it gets the strides of ``halves``, broadcast to it."""
    sizes = (1,) * (AXES - like.dim()) + tuple(like.shape)
    strides = [_strides(x, sizes) for x in halves]
    features, count = sizes[-1] // 2, like.numel() // 2
    switch.launch(kernel, (-(-count // TILE),), *tensors, *strides, sizes, features, count, *rest, **flags, N=TILE)


def _empty(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


class KernelProduct(torch.autograd.Function):
    """Product (a + ib)(c + id), ``y`` broadcast to ``x``: ``[..., 2d], [..., 2d] -> [..., 2d]``."""

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        from . import half_kernels as kernels

        out = _empty(x)
        _launch(kernels.product, [x, y, out], [x, y, out], x)
        return out

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Any:  # type: ignore[no-untyped-def]
        from . import half_kernels as kernels

        x, y = ctx.saved_tensors
        needs_x, needs_y = ctx.needs_input_grad
        if by_formula(grad):
            return gradients_with_graph(product_by_formula, (x, y), ctx.needs_input_grad, (grad,))
        grad_x = _empty(x)
        grad_y = _empty(x) if needs_x and needs_y else grad_x  # only the one that is needed is written
        tensors = [x, y, grad, grad_x, grad_y]
        _launch(kernels.product_backward, tensors, tensors[:4], x, X=needs_x, Y=needs_y)
        return grad_x if needs_x else None, grad_y.sum_to_size(y.shape) if needs_y else None


class KernelDropout(torch.autograd.Function):
    """Dropout of complex elements; the backward pass draws the same mask again from the seed."""

    @staticmethod
    def forward(x: Tensor, p: float, seed: int | Tensor) -> Tensor:
        from . import half_kernels as kernels

        out = _empty(x)
        _launch(kernels.dropout, [x, out], [x, out], x, p, seed)
        return out

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        x, ctx.p, ctx.seed = inputs
        ctx.shape = x.shape

    @staticmethod
    def backward(ctx, grad: Tensor) -> Any:  # type: ignore[no-untyped-def]
        if are_many(grad):  # a batched gradient has one axis more
            ones = torch.ones(ctx.shape, dtype=grad.dtype, device=grad.device)
            return grad * KernelDropout.forward(ones, ctx.p, ctx.seed), None, None
        return run(KernelDropout, grad, ctx.p, ctx.seed), None, None


class KernelModulus(torch.autograd.Function):
    """Modulus |z|, ``[..., 2d] -> [..., d]``, with gradient z / |z|, which is 0 at z = 0; large values saturate."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        from . import half_kernels as kernels

        out = x.new_empty(*x.shape[:-1], x.shape[-1] // 2)
        _launch(kernels.modulus, [x, out], [x], x, LARGEST=torch.finfo(x.dtype).max)
        return out

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        from . import half_kernels as kernels

        (x,) = ctx.saved_tensors
        if by_formula(grad):
            (found,) = gradients_with_graph(lambda z: (modulus(z),), (x,), (True,), (grad,))
            assert found is not None
            return found
        grad_x = _empty(x)
        _launch(kernels.modulus_backward, [x, grad.contiguous(), grad_x], [x, grad_x], x)
        return grad_x
