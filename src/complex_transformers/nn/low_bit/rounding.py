# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounding: weights to sums of scaled units 1, -1, i and -i; activations to a uniform grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .. import (
    functional as CF,
)
from ..checks import check_choice, check_positive

__all__ = ["round_parts", "round_to_units", "unit_codes", "unit_stages", "unit_values"]

GRANULARITIES = ("row", "tensor")


def round_to_units(real: Tensor, imag: Tensor, stages: int = 1, least_scale: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Round a complex weight to a sum of scaled units, stage by stage (iFairy and Fairy2i, Wang et al. 2025).

    The whole tensor has one pair of scales per stage, see ``unit_stages``.

    Args:
        real, imag: parts of a weight.
        stages: number of rounding stages, with two bits per complex weight each.
        least_scale: lower bound of the scales.

    Returns:
        Both parts in the dtype of the weight; scales are computed in float32 or better.
    """
    rounded = rounded_values(real, imag, stages, "tensor", least_scale)
    return rounded[0].to(real.dtype), rounded[1].to(imag.dtype)


def unit_stages(
    real: Tensor,
    imag: Tensor,
    stages: int = 1,
    granularity: str = "row",
    least_scale: float = 0.0,
    scale_dtype: torch.dtype | None = None,
    joint: bool = False,
) -> tuple[Tensor, Tensor]:
    """Compute codes and scales of w ~ sum_t s_t i^c_t (iFairy and Fairy2i, Wang et al. 2025).

    Stage t rounds the residual of the stages before it to the nearest of i^c = 1, i, -1, -i by phase, see
    ``unit_codes``. Elements on the real axis (c = 0, 2) share a scale, the mean of their |Re w|, and elements on the
    imaginary axis (c = 1, 3) share the mean of their |Im w|: the least-squares scales of one stage. An axis without
    elements has the least scale.

    Args:
        real, imag: parts of a weight ``[out, ...]``.
        stages: number of rounding stages, with two bits per complex weight each.
        granularity: scales per row (``row``) or per tensor (``tensor``, as in the papers).
        least_scale: lower bound of the scales.
        scale_dtype: dtype that scales are rounded to before the next stage, saturating; default float32 or better.
        joint: replace the scales of all stages by ``joint_scales``, which the papers do not do.

    Returns:
        Codes ``[stages, out, ...]`` of int8 and scales ``[stages, 2, out or 1]``, the real axis first.

    Raises:
        ValueError: an unknown ``granularity``.
    """
    rounded = _rounded(real, imag, stages, granularity, least_scale, scale_dtype, joint)
    with torch.autocast(real.device.type, enabled=False):  # CPU autocast cannot stack integers
        codes = torch.stack([_codes(*units) for units in rounded.units])
        return codes.view(stages, *real.shape), torch.stack(rounded.scales)


def rounded_values(
    real: Tensor,
    imag: Tensor,
    stages: int,
    granularity: str,
    least_scale: float = 0.0,
    scale_dtype: torch.dtype | None = None,
    joint: bool = False,
) -> tuple[Tensor, Tensor]:
    """Compute ``unit_values`` of ``unit_stages`` without the codes, faster."""
    rounded = _rounded(real, imag, stages, granularity, least_scale, scale_dtype, joint)
    values: list[Tensor] = []
    for axis in (0, 1):
        first, *others = [
            part[axis] * CF.wide(scale[axis]).unsqueeze(-1)
            for part, scale in zip(rounded.parts, rounded.scales, strict=True)
        ]
        values.append(sum(others, start=first))
    return values[0].view_as(real), values[1].view_as(imag)


class _Rounded(NamedTuple):
    """Stages of a rounded weight.

    Attributes:
        units: axis and sign of the units of each stage, see ``_nearest_units``.
        parts: their real and imaginary parts, 1, 0 or -1, ``[rows, n]`` each.
        scales: ``[2, rows]`` per stage.
    """

    units: list[tuple[Tensor, Tensor]]
    parts: list[tuple[Tensor, Tensor]]
    scales: list[Tensor]


def _rounded(
    real: Tensor,
    imag: Tensor,
    stages: int,
    granularity: str,
    least_scale: float,
    scale_dtype: torch.dtype | None,
    joint: bool,
) -> _Rounded:
    check_choice("granularity", granularity, GRANULARITIES)
    check_positive(stages=stages)
    rows = real.shape[0] if granularity == "row" else 1
    weight = [CF.wide(part).reshape(rows, -1) for part in (real, imag)]
    found, left = _Rounded([], [], []), weight
    for stage in range(stages):
        vertical, sign = _nearest_units(*left)
        axes = 1 - vertical, vertical
        scale = torch.stack([_mean_modulus(part, axis) for part, axis in zip(left, axes, strict=True)])
        scale = scale.clamp(min=least_scale)
        found.units.append((vertical, sign))
        found.parts.append((sign * axes[0], sign * axes[1]))
        found.scales.append(scale if scale_dtype is None else CF.narrow(scale, scale_dtype))
        if stage + 1 < stages:
            scale = CF.wide(found.scales[-1]).unsqueeze(-1)
            left = [part - unit * s for part, unit, s in zip(left, found.parts[-1], scale, strict=True)]
    if not joint or stages == 1:
        return found
    with torch.autocast(real.device.type, enabled=False):
        scales = joint_scales(found.parts, weight, torch.stack(found.scales)).clamp(min=least_scale)
    return found._replace(scales=list(scales if scale_dtype is None else CF.narrow(scales, scale_dtype)))


def joint_scales(
    units: Sequence[Sequence[Tensor]], weight: Sequence[Tensor], otherwise: Tensor, importance: Tensor | None = None
) -> Tensor:
    """Fit the scales of all stages at once: argmin_s sum_j h_j |w_j - sum_t s_t u_tj|^2 per row and axis.

    They err less than scales that are fitted stage by stage, and a sum of scaled units that keeps its codes keeps its
    scales. Rows where a stage lacks an axis, the system is singular or a scale would be negative keep ``otherwise``.

    Args:
        units: real and imaginary parts of the units of each stage, ``[rows, n]``.
        weight: both parts of w, ``[rows, n]``.
        otherwise: scales ``[stages, 2, rows]``.
        importance: h ``[n]``, default 1.
    """
    fitted = []
    for axis in (0, 1):
        columns = torch.stack([parts[axis] for parts in units], dim=1).to(weight[axis].dtype)
        weighted = columns if importance is None else columns * importance
        gram, wanted = weighted @ columns.mT, weighted @ weight[axis].unsqueeze(-1)
        found, singular = torch.linalg.solve_ex(gram, wanted.squeeze(-1))
        usable = (singular == 0) & (found.isfinite() & (found >= 0)).all(-1)
        fitted.append(torch.where(usable, found.t(), CF.wide(otherwise[:, axis]).to(found.dtype)))
    return torch.stack(fitted, dim=1)


@torch.no_grad()  # both are constant around almost every weight
def _nearest_units(real: Tensor, imag: Tensor) -> tuple[Tensor, Tensor]:
    """Return 1 where the unit nearest by phase is i or -i, else 0, and the sign of the unit, see ``unit_codes``.

    Both are floats: on the CPU, selecting by masks takes much longer than products.
    """
    first, second = (imag - real).sign_(), (imag + real).sign_()  # side of the diagonals of 45 and -45 degrees
    beside = second.abs()  # 0 on the second diagonal
    vertical = (first * second).clamp_(max=0).add_(beside)
    on_second = first.add_(first.abs()).neg_().add_(1)  # the sign on the second diagonal: 1 below the first and at 0
    return vertical, second.addcmul_(beside.neg_().add_(1), on_second)


def unit_codes(real: Tensor, imag: Tensor) -> Tensor:
    """Return c (int8) of the unit i^c nearest by phase: 0 for [-45, 45) degrees and for w = 0, 1 for [45, 135)."""
    return _codes(*_nearest_units(real, imag))


def _codes(vertical: Tensor, sign: Tensor) -> Tensor:
    return (vertical + 1 - sign).to(torch.int8)


def unit_values(codes: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    """Compute both parts of sum_t s_t i^c_t: ``[stages, out, ...], [stages, 2, out or 1] -> [out, ...]``."""
    scales = CF.wide(scales)
    total = _unit_parts(codes[0], scales[0])
    for code, scale in zip(codes[1:], scales[1:], strict=True):
        real, imag = _unit_parts(code, scale)
        total = total[0] + real, total[1] + imag
    return total


def _unit_parts(code: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Compute both parts of s i^c for one stage, ``[out, ...], [2, out or 1] -> [out, ...]``."""
    odd = code & 1
    scale = scale.view(2, -1, *(1,) * (code.dim() - 1))
    return (1 - code) * (1 - odd) * scale[0], (2 - code) * odd * scale[1]


def _mean_modulus(part: Tensor, selected: Tensor) -> Tensor:
    """Average |part| over the elements of each row that are selected by 1, not by 0."""
    return part.abs().mul_(selected).sum(-1) / selected.sum(-1).clamp(min=1)


def check_activation_bits(bits: int | None) -> None:
    """Raise unless ``bits`` is None or at least 2."""
    if bits is not None and bits < 2:
        raise ValueError(f"activation_bits must be 2 or more, or None for no rounding, got {bits}")


def round_parts(x: Tensor, bits: int | None, num_parts: int = 2) -> Tensor:
    """Quantize activations to multiples of max|part| / (2^(bits - 1) - 1) per token and part (iFairy, 8 bits).

    ``[..., 2d] -> [..., 2d]``; the gradient is passed straight through.

    Args:
        x: halves, or real features.
        bits: bits per element, including the sign; None: no rounding.
        num_parts: 2 for halves, 1 for real features.
    """
    if bits is None:
        return x
    parts = CF.wide(x).detach().unflatten(-1, (num_parts, -1))
    steps = (2 ** (bits - 1) - 1) / parts.abs().amax(-1, keepdim=True).clamp(min=1e-5)
    rounded = (parts * steps).round() / steps
    return x + (rounded.flatten(-2).to(x.dtype) - x).detach()
