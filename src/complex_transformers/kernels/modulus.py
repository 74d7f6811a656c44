# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Modulus of ``[real | imag]`` halves."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .dispatch import by_formula, is_transformed, run
from .exporting import halves, hypot

__all__ = ["modulus", "modulus_of_halves"]


def modulus(x: Tensor) -> Tensor:
    """Compute |z| in float32 or better; values beyond the range of the dtype saturate: ``[..., 2d] -> [..., d]``."""
    if x.dtype not in (torch.float16, torch.bfloat16):
        return modulus_of_halves(x)
    return modulus_of_halves(x.float()).clamp(max=torch.finfo(x.dtype).max).to(x.dtype)


def modulus_of_halves(x: Tensor) -> Tensor:
    """Compute |z| with gradient z / |z|, which is 0 at z = 0: ``[..., 2d] -> [..., d]``."""
    return modulus_by_formula(x) if is_transformed() else run(Modulus, x)


def modulus_by_formula(x: Tensor) -> Tensor:
    """Compute ``modulus_of_halves`` with operations that autograd and ``torch.func`` support."""
    real, imag = halves(x)
    is_zero = (real == 0) & (imag == 0)
    size = hypot(real.masked_fill(is_zero, 1.0), imag).masked_fill(is_zero, 0.0)
    return size.clamp(max=torch.finfo(x.dtype).max)


class Modulus(torch.autograd.Function):
    """``modulus_of_halves`` with one operation forward and one backward instead of seven."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return hypot(*halves(x)).clamp_(max=torch.finfo(x.dtype).max)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        x, size = ctx.saved_tensors
        size = F.threshold(size, 0.0, math.inf)  # replaces 0, so that 0 / inf = 0 also has gradient 0
        unit = x.unflatten(-1, (2, -1)) / size.unsqueeze(-2)
        grad = grad.unsqueeze(-2)
        return (unit * grad if by_formula(grad) else unit.mul_(grad)).reshape(x.shape)
