# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Numbers of few bits: weights that are sums of the units 1, -1, i and -i, and features rounded to whole steps."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from . import functional as CF
from .checks import check_positive

__all__ = ["check_activation_bits", "round_parts", "round_to_units"]


def round_to_units(real: Tensor, imag: Tensor, stages: int = 1, least_scale: float = 1e-6) -> tuple[Tensor, Tensor]:
    """The nearest sum of scaled units to a complex weight, stage by stage (iFairy and Fairy2i, Wang et al. 2025).

    The unit of a number is that of 1, i, -1, -i whose sector of 90 degrees holds its phase, [-45, 45) that of 1.
    Numbers on the real axis have one scale, the mean of |Re w| over them, those on the imaginary axis the mean of
    |Im w|. Each further stage rounds what the stages before have left.

    Args:
        real, imag: parts of one tensor of weights.
        stages: of rounding; each is two bits of a complex weight.
        least_scale: lower bound of the scales.

    Returns:
        Both parts in the dtype of the weights; scales are taken in float32 or better.

    Raises:
        ValueError: ``stages`` is not positive.
    """
    check_positive(stages=stages)
    rest = CF.wide(real), CF.wide(imag)
    rounded = [torch.zeros_like(part) for part in rest]
    for _ in range(stages):
        stage = _nearest_units(*rest, least_scale)
        rounded = [total + part for total, part in zip(rounded, stage, strict=True)]
        rest = rest[0] - stage[0], rest[1] - stage[1]
    return rounded[0].to(real.dtype), rounded[1].to(imag.dtype)


def _nearest_units(real: Tensor, imag: Tensor, least_scale: float) -> tuple[Tensor, Tensor]:
    """One stage."""
    quarter = torch.atan2(imag, real) / (math.pi / 2)  # in (-2, 2]
    right, left = (quarter >= -0.5) & (quarter < 0.5), (quarter >= 1.5) | (quarter < -1.5)
    signs = right.to(real.dtype) - left.to(real.dtype)
    on_axis = signs != 0
    scales = _mean_modulus(real, on_axis, least_scale), _mean_modulus(imag, ~on_axis, least_scale)
    turns = torch.where(on_axis, torch.zeros_like(imag), torch.where(quarter > 0, 1.0, -1.0).to(imag.dtype))
    return signs * scales[0], turns * scales[1]


def _mean_modulus(part: Tensor, where: Tensor, least: float) -> Tensor:
    """mean|part| over some of its numbers."""
    total = torch.where(where, part.abs(), torch.zeros_like(part)).sum()
    return (total / where.sum().clamp(min=1)).clamp(min=least)


def check_activation_bits(bits: int | None) -> None:
    """Raise unless ``bits`` are 2 or more, or None."""
    if bits is not None and bits < 2:
        raise ValueError(f"activation_bits must be 2 or more, or None for features as they are, got {bits}")


def round_parts(x: Tensor, bits: int | None, num_parts: int = 2) -> Tensor:
    """Features rounded to whole steps of max|part| / (2^(bits - 1) - 1), for each token and part (iFairy, 8 bits).

    ``[..., 2d] -> [..., 2d]``; the gradient passes as if nothing was rounded (straight through).

    Args:
        x: halves, or real features.
        bits: of a number with its sign; None: nothing is rounded.
        num_parts: 2 for halves, 1 for real features.
    """
    if bits is None:
        return x
    parts = CF.wide(x).detach().unflatten(-1, (num_parts, -1))
    steps = (2 ** (bits - 1) - 1) / parts.abs().amax(-1, keepdim=True).clamp(min=1e-5)
    rounded = (parts * steps).round() / steps
    return x + (rounded.flatten(-2).to(x.dtype) - x).detach()
