# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Layer norm of the real and the imaginary part that saves only its input."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .dispatch import is_eager_gpu, is_plain_cpu, run

__all__ = ["split_layer_norm", "standardize_parts"]


def standardize_parts(x: Tensor, eps: float) -> Tensor:
    """Normalise the real and the imaginary part to mean 0 and variance 1: ``[..., 2d] -> [..., 2d]``."""
    return F.layer_norm(x.unflatten(-1, (2, -1)), (x.shape[-1] // 2,), eps=eps).flatten(-2)


def split_layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Compute ``standardize_parts`` with weight and bias, ``[..., 2d]``, by the fewest operations of the device."""
    if is_plain_cpu(x) and x.dtype == weight.dtype:
        return run(SplitLayerNorm, x, weight, bias, eps)[0]
    if is_eager_gpu(x) and x.numel() and (x.dtype == weight.dtype or torch.is_autocast_enabled(x.device.type)):
        # A group norm of two groups is one operation, affine map included; on a CPU it is slow.
        return torch.group_norm(x.reshape(-1, x.shape[-1]), 2, weight, bias, eps).view(x.shape)
    return torch.addcmul(bias, standardize_parts(x, eps), weight)


class SplitLayerNorm(torch.autograd.Function):
    """``standardize_parts`` with weight and bias that saves only its input for the backward pass.

    Autograd would also save the normalised values for the gradient of the weight, which doubles the memory.
    """

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        parts = x.unflatten(-1, (2, -1))
        out, mean, rstd = torch.native_layer_norm(parts, parts.shape[-1:], None, None, eps)
        return out.flatten(-2).mul_(weight).add_(bias), mean, rstd

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        x, weight, _, ctx.eps = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(x, weight, *output[1:])

    @staticmethod
    def backward(ctx, grad: Tensor, *_):  # type: ignore[no-untyped-def]
        x, weight, mean, rstd = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            parts, wanted = x.unflatten(-1, (2, -1)), (True, False, False)
            scaled = (grad * weight).reshape(parts.shape)
            backward = torch.ops.aten.native_layer_norm_backward
            grad_x = backward(scaled, parts, parts.shape[-1:], mean, rstd, None, None, wanted)[0].reshape(x.shape)
        if ctx.needs_input_grad[1]:
            grad_weight = (grad * standardize_parts(x, ctx.eps)).reshape(-1, x.shape[-1]).sum(0)
        if ctx.needs_input_grad[2]:
            grad_bias = grad.reshape(-1, x.shape[-1]).sum(0)
        return grad_x, grad_weight, grad_bias, None
