# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Phase of an embedding at a position, and factors exp(i phase)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .dispatch import by_formula, gradients_with_graph, is_eager_cpu, is_eager_gpu, run

__all__ = ["phase_factor", "wave_phase"]


def wave_phase(frequency: Tensor, positions: Tensor) -> Tensor:
    """Compute omega pos modulo 2 pi in [-pi, pi], in float32 or better: ``[..., d] x [...] -> [..., d]``.

    The product is computed and reduced in float64; in float32 the error is 0.06 rad at position 1e6.
    """
    cycles = frequency.double() * (positions.double() / (2.0 * math.pi)).unsqueeze(-1)
    phase = (cycles - cycles.detach().round()) * (2.0 * math.pi)  # detached, since rounding has no gradient
    return phase if frequency.dtype == torch.float64 else phase.float()


def phase_factor(phase: Tensor, num_features: int) -> Tensor:
    """Compute exp(i phase) as halves: ``[..., S] -> [..., 2 num_features]``; features beyond the first S are 1."""
    if is_eager_cpu(phase) or is_eager_gpu(phase):
        return run(PhaseFactor, phase, num_features)
    return _factor_by_formula(phase, num_features)[0]


def _factor_by_formula(phase: Tensor, num_features: int) -> tuple[Tensor]:
    """Compute ``phase_factor`` with differentiable operations."""
    missing = (0, num_features - phase.shape[-1])
    return (torch.cat([F.pad(phase.cos(), missing, value=1.0), F.pad(phase.sin(), missing)], dim=-1),)


class PhaseFactor(torch.autograd.Function):
    """``phase_factor`` without temporaries; the gradient reads the cosines and sines of the result."""

    @staticmethod
    def forward(phase: Tensor, num_features: int) -> Tensor:
        out = phase.new_zeros(*phase.shape[:-1], 2, num_features)
        size = phase.shape[-1]
        torch.cos(phase, out=out[..., 0, :size])
        torch.sin(phase, out=out[..., 1, :size])
        out[..., 0, size:] = 1.0
        return out.flatten(-2)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(inputs[0], output)
        ctx.num_features = inputs[1]

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        phase, out = ctx.saved_tensors
        if by_formula(grad):
            plain = (_factor_by_formula, (phase, ctx.num_features), ctx.needs_input_grad, (grad,))
            return gradients_with_graph(*plain)
        (cos, sin), (real, imag) = (x.unflatten(-1, (2, -1))[..., : phase.shape[-1]].unbind(-2) for x in (out, grad))
        return (cos * imag).addcmul_(sin, real, value=-1.0), None
