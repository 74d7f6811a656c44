# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions of ``[real | imag]`` halves in one kernel launch, forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..dispatch import are_many, by_formula, gradients_with_graph, run
from . import switch

__all__ = ["KernelDropout", "KernelProduct", "dropout", "takes_dropout", "takes_product"]

TILE = 512  # complex elements per program
AXES = 4


def takes_product(x: Tensor, y: Tensor) -> bool:
    """Return whether the kernel supports these factors, ``y`` broadcast to ``x`` or of equal shape."""
    if not switch.may_run(x, y) or x.dim() > AXES or y.dim() > x.dim() or x.shape[-1] != y.shape[-1]:
        return False
    ends = x.shape[x.dim() - y.dim() :]
    return all(own in (1, other) for own, other in zip(y.shape, ends, strict=True))


def takes_dropout(x: Tensor) -> bool:
    """Return whether the kernel supports ``x``; a CUDA graph would repeat the seed, which is drawn on the CPU."""
    is_captured = x.is_cuda and torch.cuda.is_current_stream_capturing()
    return switch.may_run(x) and x.dim() <= AXES and not is_captured


def dropout(x: Tensor, p: float) -> Tensor:
    """Zero complex elements with probability p, both halves together, and divide the others by 1 - p."""
    return run(KernelDropout, x, p, int(torch.randint(2**62, ())))


def _strides(x: Tensor, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of ``x`` broadcast to four axes, 0 where an axis is repeated."""
    missing = AXES - x.dim()
    own = [
        0 if size == 1 < wanted else step
        for size, step, wanted in zip(x.shape, x.stride(), sizes[missing:], strict=True)
    ]
    return (0,) * missing + tuple(own)


def _launch(kernel: Any, inputs: list[Tensor], outputs: list[Tensor], *rest: Any, **flags: bool) -> None:
    """Run ``kernel`` on all complex elements; inputs are broadcast to the outputs, which are contiguous."""
    shape = outputs[0].shape
    sizes = (1,) * (AXES - len(shape)) + tuple(shape)
    strides = [_strides(tensor, sizes) for tensor in (*inputs, outputs[0])]
    features, count = sizes[-1] // 2, shape.numel() // 2
    programs = (-(-count // TILE),)
    switch.launch(kernel, programs, *inputs, *outputs, *strides, sizes, features, count, *rest, **flags, N=TILE)


def _empty(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


class KernelProduct(torch.autograd.Function):
    """(a + ib)(c + id), ``y`` broadcast to ``x``: ``[..., 2d], [..., 2d] -> [..., 2d]``."""

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        from . import half_kernels as kernels

        out = _empty(x)
        _launch(kernels.product, [x, y], [out])
        return out

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Any:  # type: ignore[no-untyped-def]
        from ..product import by_parts
        from . import half_kernels as kernels

        x, y = ctx.saved_tensors
        needs_x, needs_y = ctx.needs_input_grad
        if by_formula(grad):
            return gradients_with_graph(by_parts, (x, y), ctx.needs_input_grad, (grad,))
        grad_x = _empty(x)
        grad_y = _empty(x) if needs_x and needs_y else grad_x  # only the one that is needed is written
        _launch(kernels.product_backward, [x, y, grad], [grad_x, grad_y], X=needs_x, Y=needs_y)
        return grad_x if needs_x else None, grad_y.sum_to_size(y.shape) if needs_y else None


class KernelDropout(torch.autograd.Function):
    """Dropout of complex elements; the backward pass draws the same mask again from the seed."""

    @staticmethod
    def forward(x: Tensor, p: float, seed: int) -> Tensor:
        from . import half_kernels as kernels

        out = _empty(x)
        _launch(kernels.dropout, [x], [out], p, seed)
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
