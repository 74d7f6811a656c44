# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Numbers of few bits: weights that are sums of the units 1, -1, i and -i, and features rounded to whole steps."""

from __future__ import annotations

import torch
from torch import Tensor

from .. import (
    functional as CF,
)
from ..checks import check_choice, check_positive

__all__ = ["round_parts", "round_to_units", "unit_codes", "unit_stages", "unit_values"]

GRANULARITIES = ("row", "tensor")


def round_to_units(real: Tensor, imag: Tensor, stages: int = 1, least_scale: float = 1e-6) -> tuple[Tensor, Tensor]:
    """The nearest sum of scaled units to a complex weight, stage by stage (iFairy and Fairy2i, Wang et al. 2025).

    One pair of scales for the whole tensor, see ``unit_stages``.

    Args:
        real, imag: parts of one tensor of weights.
        stages: of rounding; each is two bits of a complex weight.
        least_scale: lower bound of the scales.

    Returns:
        Both parts in the dtype of the weights; scales are taken in float32 or better.

    Raises:
        ValueError: ``stages`` is not positive.
    """
    codes, scales = unit_stages(real, imag, stages, "tensor", least_scale)
    rounded_real, rounded_imag = unit_values(codes, scales)
    return rounded_real.to(real.dtype), rounded_imag.to(imag.dtype)


def unit_stages(
    real: Tensor,
    imag: Tensor,
    stages: int = 1,
    granularity: str = "row",
    least_scale: float = 0.0,
    scale_dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """Codes and scales of the nearest sum of scaled units, w ~ sum_t s_t i^c_t (iFairy and Fairy2i, Wang et al. 2025).

    Stage t rounds what the stages before have left: the code c of a number is that of the unit i^c = 1, i, -1, -i
    whose sector of 90 degrees holds its phase, see ``unit_codes``. Numbers on the real axis (c = 0, 2) have one scale,
    the mean of |Re w| over them, those on the imaginary axis (c = 1, 3) the mean of |Im w|: the scales of the least
    square error. An axis without a number has the least scale.

    Args:
        real, imag: parts of a weight ``[out, ...]``.
        stages: of rounding, each two bits of a complex weight.
        granularity: scales for each row (``row``) or for the whole tensor (``tensor``, that of the papers).
        least_scale: lower bound of the scales.
        scale_dtype: what scales are rounded to before the next stage, saturating at its largest number; default that
            of the sums, float32 or better.

    Returns:
        Codes ``[stages, out, ...]`` of int8 and scales ``[stages, 2, out or 1]``, those of the real axis first.

    Raises:
        ValueError: ``stages`` is not positive, an unknown ``granularity``.
    """
    check_positive(stages=stages)
    check_choice("granularity", granularity, GRANULARITIES)
    rows = real.shape[0] if granularity == "row" else 1
    left = [CF.wide(part).reshape(rows, -1) for part in (real, imag)]
    codes, scales = [], []
    for _ in range(stages):
        code = unit_codes(*left)
        scale = torch.stack([_mean_modulus(part, code & 1 == axis) for axis, part in enumerate(left)])
        scale = scale.clamp(min=least_scale)
        scale = scale if scale_dtype is None else CF.narrow(scale, scale_dtype)
        left = [part - value for part, value in zip(left, _unit_parts(code, scale), strict=True)]
        codes.append(code)
        scales.append(scale)
    with torch.autocast(real.device.type, enabled=False):  # on the CPU it fails to stack integers
        return torch.stack(codes).view(stages, *real.shape), torch.stack(scales)


def unit_codes(real: Tensor, imag: Tensor) -> Tensor:
    """c of the unit i^c in whose sector a number lies, int8: 0 for [-45, 45) degrees and for 0, 1 for [45, 135)."""
    up = (imag >= real) & (imag > -real)
    left = (imag <= -real) & (imag > real)
    down = (real >= imag) & (real < -imag)
    return up.to(torch.int8) + 2 * left.to(torch.int8) + 3 * down.to(torch.int8)


def unit_values(codes: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    """Both parts of sum_t s_t i^c_t, wide: ``[stages, out, ...], [stages, 2, out or 1] -> [out, ...]``."""
    scales = CF.wide(scales)
    total = _unit_parts(codes[0], scales[0])
    for code, scale in zip(codes[1:], scales[1:], strict=True):
        real, imag = _unit_parts(code, scale)
        total = total[0] + real, total[1] + imag
    return total


def _unit_parts(code: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Both parts of s i^c of one stage, ``[out, ...], [2, out or 1] -> [out, ...]``."""
    odd = code & 1
    scale = CF.wide(scale).view(2, -1, *(1,) * (code.dim() - 1))
    return (1 - code) * (1 - odd) * scale[0], (2 - code) * odd * scale[1]


def _mean_modulus(part: Tensor, where: Tensor) -> Tensor:
    """mean|part| over some of the numbers of each row."""
    total = torch.where(where, part.abs(), torch.zeros_like(part)).sum(-1)
    return total / where.sum(-1).clamp(min=1)


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
