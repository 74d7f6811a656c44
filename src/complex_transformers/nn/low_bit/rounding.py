# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounding: weights to sums of scaled units 1, -1, i and -i; activations to a uniform grid."""

from __future__ import annotations

from collections.abc import Sequence

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
) -> tuple[Tensor, Tensor]:
    """Compute codes and scales of w ~ sum_t s_t i^c_t (iFairy and Fairy2i, Wang et al. 2025).

    Stage t rounds the residual of the stages before it to the nearest of i^c = 1, i, -1, -i by phase, see
    ``unit_codes``. Elements on the real axis (c = 0, 2) share a scale, the mean of their |Re w|, and elements on the
    imaginary axis (c = 1, 3) share the mean of their |Im w|: the least-squares scales of one stage. An axis without
    elements has the least scale. Scales per row are then replaced by ``joint_scales``, which the papers do not do.

    Args:
        real, imag: parts of a weight ``[out, ...]``.
        stages: number of rounding stages, with two bits per complex weight each.
        granularity: scales per row (``row``) or per tensor (``tensor``, as in the papers).
        least_scale: lower bound of the scales.
        scale_dtype: dtype that scales are rounded to before the next stage, saturating; default float32 or better.

    Returns:
        Codes ``[stages, out, ...]`` of int8 and scales ``[stages, 2, out or 1]``, the real axis first.

    Raises:
        ValueError: an unknown ``granularity``.
    """
    units, scales = _rounded(real, imag, stages, granularity, least_scale, scale_dtype)
    codes = [_codes(*parts).view_as(real) for parts in units]
    with torch.autocast(real.device.type, enabled=False):  # CPU autocast cannot stack integers
        return torch.stack(codes), torch.stack(scales)


def rounded_values(
    real: Tensor,
    imag: Tensor,
    stages: int,
    granularity: str,
    least_scale: float = 0.0,
    scale_dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute ``unit_values`` of ``unit_stages`` without the codes, faster."""
    units, scales = _rounded(real, imag, stages, granularity, least_scale, scale_dtype)
    total: list[Tensor] = []
    for parts, scale in zip(units, scales, strict=True):
        values = [part * each.unsqueeze(-1) for part, each in zip(parts, CF.wide(scale), strict=True)]
        total = [sum_.add_(value) for sum_, value in zip(total, values, strict=True)] if total else values
    return total[0].view_as(real), total[1].view_as(imag)


# Real and imaginary parts of the units of one stage, 1, 0 or -1, ``[rows, n]`` each.
Units = tuple[Tensor, Tensor]


def _rounded(
    real: Tensor, imag: Tensor, stages: int, granularity: str, least_scale: float, scale_dtype: torch.dtype | None
) -> tuple[list[Units], list[Tensor]]:
    """Return the units of each stage and their scales ``[2, rows]``."""
    check_choice("granularity", granularity, GRANULARITIES)
    check_positive(stages=stages)
    rows = real.shape[0] if granularity == "row" else 1
    weight = [CF.wide(part).reshape(rows, -1) for part in (real, imag)]
    units: list[Units] = []
    scales: list[Tensor] = []
    left = weight
    for stage in range(stages):
        vertical, sign = _nearest_units(*left)
        axes = 1 - vertical, vertical
        scale = torch.stack([_mean_modulus(part, axis) for part, axis in zip(left, axes, strict=True)])
        scale = scale.clamp(min=least_scale)
        units.append((sign * axes[0], sign * axes[1]))
        scales.append(scale if scale_dtype is None else CF.narrow(scale, scale_dtype))
        if stage + 1 < stages:
            wide = CF.wide(scales[-1]).unsqueeze(-1)
            left = [part - unit * each for part, unit, each in zip(left, units[-1], wide, strict=True)]
    if granularity == "row" and stages > 1:
        scales = [scale.clamp(min=least_scale) for scale in joint_scales(units, weight, scales)]
    return units, scales


def joint_scales(
    units: Sequence[Units], weight: Sequence[Tensor], scales: Sequence[Tensor], importance: Tensor | None = None
) -> list[Tensor]:
    """Fit the scales of all stages together: argmin_s sum_j h_j |w_j - sum_t s_t u_tj|^2 per row and axis.

    If w is a sum of scaled units whose codes are found again, so are its scales.

    Args:
        units: real and imaginary parts of the units of each stage, 1, 0 or -1, ``[rows, n]``.
        weight: both parts of w, ``[rows, n]``.
        scales: scales of each stage ``[2, rows]``, kept in rows and axes where the fit is not unique, negative or not
            better in their dtype.
        importance: h ``[n]``, default 1.
    """
    fitted = torch.stack([_fit(units, weight, scales, importance, axis) for axis in (0, 1)])
    return [CF.narrow(scale, scales[0].dtype) for scale in fitted.unbind(-1)]


def _fit(
    units: Sequence[Units], weight: Sequence[Tensor], scales: Sequence[Tensor], importance: Tensor | None, axis: int
) -> Tensor:
    """Return the fitted scales ``[rows, stages]`` of one axis."""
    columns = [parts[axis].to(weight[axis].dtype) for parts in units]
    weighted = columns if importance is None else [column * importance for column in columns]
    gram = [[(ours * theirs).sum(-1) for theirs in columns] for ours in weighted]
    wanted = [(column * weight[axis]).sum(-1) for column in weighted]
    matrix, right = torch.stack([torch.stack(row, -1) for row in gram], -2), torch.stack(wanted, -1)
    found, singular = torch.linalg.solve_ex(matrix, right)
    found = found.where((singular == 0).unsqueeze(-1), -1.0).nan_to_num(-1.0, -1.0, -1.0)
    given = torch.stack([CF.wide(scale[axis]) for scale in scales], -1).to(found.dtype)
    rounded = CF.narrow(found.clamp(min=0.0), scales[0].dtype).to(found.dtype)

    def error(fit: Tensor) -> Tensor:  # less the constant sum_j h_j w_j^2
        return (fit * ((matrix * fit.unsqueeze(-2)).sum(-1) - 2 * right)).sum(-1)

    better = (found >= 0).all(-1) & (error(rounded) < error(given))
    return torch.where(better.unsqueeze(-1), rounded, given)


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
    vertical, sign = _nearest_units(real, imag)
    return _codes(sign * (1 - vertical), sign * vertical)


def _codes(real: Tensor, imag: Tensor) -> Tensor:
    """Return c of units given by their parts."""
    return (imag.abs() + 1 - real - imag).to(torch.int8)


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
