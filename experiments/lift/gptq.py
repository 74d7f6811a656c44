# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Uniform grids for real weights: nearest rounding, and GPTQ with the error feedback of the complex rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from complex_transformers.nn import functional as CF
from complex_transformers.nn.low_bit.calibration import (
    FITS,
    RoundColumn,
    damped_gram,
    ordered_factor,
    round_columns,
    squared_errors,
)
from complex_transformers.quantization.calibration import calibration_inputs, gram_matrices
from experiments.lift.real_rules import layers_to_round

__all__ = ["Grid", "Rounding", "bits_of_grid", "gptq", "nearest", "round_to_grid"]

SHARES = torch.linspace(0.98, 0.3, 35).tolist()  # shares of the whole range that the search tries
DAMPING = 0.01  # the default of the complex rule, and of the authors' code


@dataclass(frozen=True)
class Grid:
    """Values s l + z with levels l = low, low + 1, ..., high: float16 scales s, and offsets z if ``shifted``.

    Each row has one scale (and offset) per ``group_size`` consecutive columns, or one for all columns. With
    ``published``, ranges are those of the weights and are not fitted, as in the paper; otherwise the range of the
    least squared error is the start of the fits.
    """

    low: float
    high: float
    shifted: bool = False
    group_size: int | None = None
    published: bool = False

    def levels(self, values: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
        """Return the nearest levels; a group whose scale is 0 has the lowest level."""
        steps = (values - offset) / scale.clamp(min=torch.finfo(scale.dtype).tiny) - self.low
        return steps.round().clamp(0.0, self.high - self.low) + self.low


@dataclass(frozen=True)
class Rounding:
    """Levels ``[out, in]``, and scales and offsets ``[out, groups]`` in float32 with values of float16."""

    levels: Tensor
    scale: Tensor
    offset: Tensor
    groups: Tensor  # the group of each column, [in]

    def values(self) -> Tensor:
        """Compute the rounded weight ``[out, in]``."""
        return self.scale[:, self.groups] * self.levels + self.offset[:, self.groups]

    def where(self, rows: Tensor, other: Rounding) -> Rounding:
        """Return these rows ``[out]``, and the others from ``other``."""
        pairs = ((self.levels, other.levels), (self.scale, other.scale), (self.offset, other.offset))
        return Rounding(*(torch.where(rows[:, None], ours, theirs) for ours, theirs in pairs), self.groups)


def _groups(columns: int, grid: Grid) -> Tensor:
    """Return the group of each column."""
    return torch.arange(columns) // (grid.group_size or columns)


def _sums(values: Tensor, groups: Tensor) -> Tensor:
    """Sum over the columns of each group: ``[out, in] -> [out, groups]``."""
    return values.new_zeros(len(values), int(groups[-1]) + 1).index_add_(1, groups, values)


def _half(x: Tensor) -> Tensor:
    """Round to float16, as stored."""
    return CF.narrow(x, torch.float16).to(x.dtype)


def _rounded(weight: Tensor, grid: Grid, scale: Tensor, offset: Tensor) -> Rounding:
    groups = _groups(weight.shape[1], grid)
    return Rounding(grid.levels(weight, scale[:, groups], offset[:, groups]), scale, offset, groups)


def _in_range(weight: Tensor, grid: Grid, share: float = 1.0) -> Rounding:
    """Round to the nearest levels, with scales that cover a share of the range of each group."""
    parts = weight.split(grid.group_size or weight.shape[1], dim=1)
    low = share * torch.stack([part.amin(1) for part in parts], dim=1).clamp(max=0)
    high = share * torch.stack([part.amax(1) for part in parts], dim=1).clamp(min=0)
    if grid.shifted:
        return _rounded(weight, grid, _half((high - low) / (grid.high - grid.low)), _half(low))
    scale = _half(torch.maximum(high, -low) / max(grid.high, -grid.low))
    return _rounded(weight, grid, scale, torch.zeros_like(scale))


def nearest(weight: Tensor, grid: Grid) -> Rounding:
    """Round to the nearest levels, with the range of the least squared error in each group, or the whole range."""
    best = _in_range(weight, grid)
    if grid.published:
        return best
    scale, offset, least = best.scale, best.offset, _sums((weight - best.values()).square(), best.groups)
    for share in SHARES:
        found = _in_range(weight, grid, share)
        error = _sums((weight - found.values()).square(), found.groups)
        scale = torch.where(error < least, found.scale, scale)
        offset = torch.where(error < least, found.offset, offset)
        least = torch.minimum(error, least)
    return _rounded(weight, grid, scale, offset)


def _fitted(targets: Tensor, found: Rounding, weights: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
    """Fit scales and offsets to given levels, by column-weighted least squares in each group."""
    levels, groups = found.levels, found.groups
    center = torch.zeros_like(found.offset), torch.zeros_like(found.offset)
    if grid.shifted:
        total = _sums(weights.expand_as(levels), groups)
        center = _sums(weights * levels, groups) / total, _sums(weights * targets, groups) / total
    from_center = levels - center[0][:, groups]
    along = _sums(weights * from_center * (targets - center[1][:, groups]), groups)
    square = _sums(weights * from_center.square(), groups)
    scale = _half((along / square.clamp(min=torch.finfo(square.dtype).tiny)).clamp(min=0))
    return scale, _half(center[1] - scale * center[0])


def _rule(grid: Grid, scales: Tensor, offsets: Tensor) -> RoundColumn:
    """Return the rule that rounds a column with its scales and offsets ``[in, out]``."""

    def rule(index: int, column: Tensor) -> tuple[Tensor, Tensor]:
        levels = grid.levels(column, scales[index], offsets[index])
        return levels, scales[index] * levels + offsets[index]

    return rule


@torch.no_grad()
def gptq(weight: Tensor, gram: Tensor, grid: Grid, damping: float = DAMPING) -> Rounding:
    """Round so that |X (W - W_q)^T|^2 is small (GPTQ, Frantar et al. 2023): ``[out, in], X^T X [in, in]``.

    The steps of ``nn.calibrated_weights``: columns in the order of decreasing input energy, scales refitted twice
    (never with ``published``), and of all roundings, the nearest included, the one of least error in each row. Groups
    consist of neighbouring columns in the order of the layer, so that no order of columns is stored.
    """
    order, factor = ordered_factor(damped_gram(gram, damping))
    back, square = order.argsort(), factor.diagonal().square()
    plain = nearest(weight, grid)
    groups, scale, offset = plain.groups, plain.scale, plain.offset
    best, least = plain, torch.full_like(weight[:, 0], torch.inf)
    for _ in range(1 if grid.published else 1 + FITS):
        rule = _rule(grid, scale[:, groups[order]].t(), offset[:, groups[order]].t())
        levels, targets, errors = round_columns(weight.t()[order], factor, rule)
        found = Rounding(levels[back].t(), scale, offset, groups)
        best, least = found.where(errors < least, best), torch.minimum(errors, least)
        scale, offset = _fitted(targets[back].t(), found, square[back], grid)
    errors = [squared_errors(weight - rounding.values(), gram) for rounding in (best, plain)]
    return best.where(errors[0] < errors[1], plain)


@torch.no_grad()
def round_to_grid(model: nn.Module, grid: Grid, texts: Sequence[Tensor] | None = None) -> list[Rounding]:
    """Round the dense layers of a real decoder, in place: by GPTQ on ``texts``, in one pass, or to nearest levels."""
    layers = {str(index): layer for index, layer in enumerate(layers_to_round(model))}
    if texts is None:
        made = [nearest(layer.weight, grid) for layer in layers.values()]
    else:
        grams = gram_matrices(model, layers, calibration_inputs(model, texts))
        made = [gptq(layer.weight, grams[name], grid) for name, layer in layers.items()]
    for layer, rounding in zip(layers.values(), made, strict=True):
        layer.weight.copy_(rounding.values())
    return made


def bits_of_grid(model: nn.Module, grid: Grid) -> float:
    """Return the bits per weight of the quantized layers, with 16-bit scales and offsets."""
    shapes = [layer.weight.shape for layer in layers_to_round(model)]
    groups = sum(rows * math.ceil(columns / (grid.group_size or columns)) for rows, columns in shapes)
    levels = round(grid.high - grid.low) + 1
    scales = 16 * (1 + grid.shifted) * groups / sum(rows * columns for rows, columns in shapes)
    return math.ceil(math.log2(levels)) + scales
