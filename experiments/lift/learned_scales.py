# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of quantized real weights with learned scales: LSQ and ParetoQ's stretched elastic quantization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from experiments.lift.gptq import Grid
from experiments.lift.real_rules import layers_to_round

__all__ = ["LEARNED", "Learned", "LearnedScale", "round_with_learned_scales"]


@dataclass(frozen=True)
class Learned:
    """A grid of levels with one learned scale per row.

    Weights w / s are clipped to [low - margin, high + margin] before rounding, and have gradients only in between.
    The learned parameter is s (LSQ), or the half width a = s (high - low + 1) / 2 of all cells (``stretched``).
    """

    grid: Grid
    stretched: bool = False

    @property
    def margin(self) -> float:
        """Half a cell with ``stretched``, whose outer cells are as wide as the others; otherwise 0."""
        return 0.5 if self.stretched else 0.0

    @property
    def step(self) -> float:
        """The scale s as a multiple of the learned parameter."""
        return 2 / (self.grid.high - self.grid.low + 1) if self.stretched else 1.0

    def scale(self, parameter: Tensor) -> Tensor:
        """Return s as stored in float16, at least its smallest normal value."""
        return (self.step * parameter).clamp(min=2.0**-14).half().to(parameter.dtype)

    def first(self, weight: Tensor) -> Tensor:
        """Return the first parameters ``[out, 1]``: max|w| (ParetoQ), or 2 mean|w| / sqrt(Q_p) (LSQ, Section 2.1)."""
        if self.stretched:
            return weight.abs().amax(-1, keepdim=True)
        return 2 * weight.abs().mean(-1, keepdim=True) / math.sqrt(self.grid.high)


# LSQ at two bits: -2, -1, 0, 1. ParetoQ at two bits and at 1.58 bits: -1.5, -0.5, 0.5, 1.5 and -1, 0, 1.
LEARNED = {
    "lsq": Learned(Grid(-2.0, 1.0)),
    "seq": Learned(Grid(-1.5, 1.5), stretched=True),
    "ternary_learned": Learned(Grid(-1.0, 1.0), stretched=True),
}


class LearnedRounding(torch.autograd.Function):
    """q = s round(clip(w / s)) with s = step * parameter, and the gradients of LSQ; keeps no copy of the weight."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, parameter: Tensor, learned: Learned) -> Tensor:
        ctx.save_for_backward(weight, parameter)
        ctx.learned = learned
        scale = learned.scale(parameter)
        return scale * learned.grid.levels(weight, scale, torch.zeros_like(scale))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        (weight, parameter), learned = ctx.saved_tensors, ctx.learned
        grid, scale = learned.grid, learned.scale(parameter)
        levels = grid.levels(weight, scale, torch.zeros_like(scale))
        steps = weight / scale
        inside = (steps > grid.low - learned.margin) & (steps < grid.high + learned.margin)
        along = (gradient * (levels - steps * inside)).sum(-1, keepdim=True)
        size = math.sqrt(weight.shape[1] * math.floor(grid.high))
        return gradient * inside, along * learned.step / size, None


class LearnedScale(nn.Module):
    """Round weights ``[out, in]`` to s l with learned float16 scales s per row.

    The value is q = s round(clip(w / s)), where rounding has the straight-through gradient. Hence dq/ds is
    l - w / s for a weight inside the clipping range and the outermost level outside (Esser et al. 2020, Eq. 3), and
    dq/dw is 1 inside and 0 outside (Eq. 5). The gradient of s is multiplied by 1 / sqrt(n Q_p) for n weights per
    scale (Section 2.2). ``stretched`` grids are those of Liu et al. 2025 (ParetoQ, arXiv:2502.02631, Section 3.2):
    q = a (round(clip(w / a, -1, 1) k / 2 - 1/2) + 1/2) 2 / k with k = 4 levels, here with s = 2 a / k.
    """

    def __init__(self, learned: Learned, first: Tensor) -> None:
        super().__init__()
        self.learned = learned
        self.scale = nn.Parameter(first.detach().clone())

    def forward(self, weight: Tensor) -> Tensor:
        return LearnedRounding.apply(weight, self.scale, self.learned)


def round_with_learned_scales(model: nn.Module, learned: Learned, scales: Sequence[Tensor] | None = None) -> None:
    """Make the dense layers of a real decoder compute with quantized weights; weights and scales are trained.

    ``scales`` are first values of s ``[out, 1]`` per layer.
    """
    for index, layer in enumerate(list(layers_to_round(model))):
        first = learned.first(layer.weight) if scales is None else scales[index] / learned.step
        parametrize.register_parametrization(layer, "weight", LearnedScale(learned, first))
