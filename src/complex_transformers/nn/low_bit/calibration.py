# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Calibrated rounding of complex weights, which minimises the error of a layer's output (GPTQ)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .. import (
    functional as CF,
)
from ..checks import check_shape
from .quantized_linear import SCALE_DTYPE, packable_weights
from .rounding import joint_scales, unit_codes, unit_values

__all__ = ["calibrated_weights", "gram_matrix", "squared_errors", "stored_gram"]

FITS = 2  # fits of the scales after the nearest-unit scales
BLOCK = 64  # columns whose targets are updated by one product
# Codes and scales of W, or of U and V.
Weights = list[tuple[Tensor, Tensor]]
# Rounds a column [out], given its place in the order; returns its codes and its value.
RoundColumn = Callable[[int, Tensor], tuple[Tensor, Tensor]]


def stored_gram(x: Tensor) -> Tensor:
    """Compute the real Gram matrix x^T x of stored features in float32 or better: ``[..., 2n] -> [2n, 2n]``.

    Raises:
        ValueError: ``x`` has no rows.
    """
    rows = CF.wide(x).flatten(0, -2)
    if not len(rows):
        raise ValueError("calibration must have at least one token, got only padding. Add texts.")
    return rows.t() @ rows


def gram_matrix(stored: Tensor, linear_type: str) -> Tensor:
    """Compute the Gram matrix X^H X of the complex inputs of a layer, Hermitian ``[n, n]`` or ``[2n, 2n]``.

    X is z for a ``complex`` layer, conj(z) for ``conjugate`` and [z | conj(z)] for ``widely_linear``, whose U and V
    are calibrated together. With the parts z = a + ib, Z^H Z = a^T a + b^T b + i (a^T b - b^T a) and
    Z^H conj(Z) = a^T a - b^T b - i (a^T b + b^T a).

    Args:
        stored: ``stored_gram`` of z, the blocks [[a^T a, a^T b], [b^T a, b^T b]].
        linear_type: type of the layer, see ``linear_layer``.
    """
    (aa, ab), (ba, bb) = (block.chunk(2, dim=1) for block in stored.chunk(2, dim=0))
    direct = torch.complex(aa + bb, ab - ba)
    if linear_type == "complex":
        return direct
    if linear_type == "conjugate":
        return direct.conj().resolve_conj()
    crossed = torch.complex(aa - bb, -ab - ba)
    upper = torch.cat([direct, crossed], dim=1)
    return torch.cat([upper, torch.cat([crossed.conj(), direct.conj()], dim=1)], dim=0)


def squared_errors(difference: Tensor, gram: Tensor) -> Tensor:
    """Compute |X d|^2 = d^H X^H X d for every row d of W - W_q: complex ``[out, n], [n, n] -> [out]``."""
    return ((difference.conj() @ gram) * difference).sum(-1).real


@torch.no_grad()
def calibrated_weights(
    parts: Sequence[Tensor], gram: Tensor, stages: int = 2, granularity: str = "row", damping: float = 0.01
) -> Weights:
    """Round W, or U and V together, so that |X (W - W_q)^T|^2 is small (GPTQ, Frantar et al. 2023).

    Columns are rounded one by one, in the order of decreasing input energy, and each compensates the errors of the
    columns before it. With H = X^H X + damping = T^H T and T lower triangular, the output error is |T d|^2 for
    d = w - q, and q_j is the value nearest to v_j = w_j + sum_{k < j} T_jk d_k / T_jj. The first scales come from
    ``rounded_weights``; they are then refitted to v twice by least squares with weights |T_jj|^2. The best candidate,
    including ``rounded_weights`` itself, is kept per row, or for all rows with per-tensor scales. The result is
    therefore never worse than ``rounded_weights``.

    Args:
        parts: A, B (and C, D) of the weight, ``[out, in]`` each.
        gram: X^H X, ``[in, in]``, or ``[2 in, 2 in]`` for a widely linear layer, see ``gram_matrix``.
        stages, granularity: see ``unit_stages``.
        damping: added to the diagonal of X^H X, as a fraction of its mean.

    Returns:
        Codes and scales as ``rounded_weights``.

    Raises:
        ValueError: a matrix of another size, features that are all zero or not finite, weights that are not finite or
            beyond the range of float16.
        torch.linalg.LinAlgError: the damped matrix is not positive definite.
    """
    if not damping > 0.0:
        raise ValueError(f"damping must be positive, got {damping}")
    nearest = packable_weights(parts, stages, granularity)
    matrices = [torch.complex(CF.wide(a), CF.wide(b)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    weight = torch.cat(matrices, dim=1)
    check_shape("gram", gram, (weight.shape[1],) * 2)
    found = _feed_back(weight, nearest, damped_gram(gram, damping), granularity)
    errors = [squared_errors(weight - _complex_weight(weights), gram) for weights in (nearest, found)]
    return _better(found, nearest, errors[1], errors[0], granularity)


def damped_gram(gram: Tensor, damping: float) -> Tensor:
    """Add ``damping`` times the mean of the diagonal to the diagonal of a Gram matrix.

    Raises:
        ValueError: features that are all zero or not finite.
    """
    mean = gram.diagonal().real.mean()
    if not 0.0 < mean.item() < torch.inf:
        raise ValueError(
            f"calibration features must be finite and not all zero, got a mean square of {mean.item()}. Check inputs."
        )
    return gram + damping * mean * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)


def ordered_factor(gram: Tensor) -> tuple[Tensor, Tensor]:
    """Return the order of decreasing input energy and T, lower triangular, with H = T^H T in this order."""
    order = gram.diagonal().real.argsort(descending=True, stable=True)
    return order, _lower_factor(gram[order][:, order])


def _feed_back(weight: Tensor, nearest: Weights, gram: Tensor, granularity: str) -> Weights:
    """Return the best rounding with the scales of ``nearest`` and with refitted scales."""
    order, factor = ordered_factor(gram)
    back = order.argsort()
    square = factor.diagonal().real.square()
    scales = [scale for _, scale in nearest]
    best, least = nearest, torch.full(weight.shape[:1], torch.inf, dtype=square.dtype, device=weight.device)
    for _ in range(1 + FITS):
        rule = _rounding(_column_scales(scales, len(order))[order])
        codes, targets, errors = round_columns(weight.t()[order], factor, rule)
        each = codes[back].permute(1, 2, 0).chunk(len(scales), dim=-1)
        best = _better(list(zip(each, scales, strict=True)), best, errors, least, granularity)
        least = torch.minimum(errors, least) if granularity == "row" else min(errors, least, key=torch.sum)
        parts = zip(targets[back].chunk(len(scales)), each, square[back].chunk(len(scales)), strict=True)
        scales = [_fitted_scales(target.t(), code, weights, granularity) for target, code, weights in parts]
    return best


def _better(ours: Weights, theirs: Weights, error: Tensor, other: Tensor, granularity: str) -> Weights:
    """Choose the weights of lower error, per row or for all rows; ``theirs`` if equal."""
    lower = error < other if granularity == "row" else (error.sum() < other.sum()).reshape(1)
    return [
        (torch.where(lower[:, None], codes, others), torch.where(lower, scales, other_scales))
        for (codes, scales), (others, other_scales) in zip(ours, theirs, strict=True)
    ]


def _complex_weight(weights: Weights) -> Tensor:
    """Compute the complex matrix [U | V], or W, from codes and scales."""
    return torch.cat([torch.complex(*unit_values(codes, scales)) for codes, scales in weights], dim=1)


def _column_scales(scales: Sequence[Tensor], width: int) -> Tensor:
    """Expand scales per column, ``[columns, stages, 2, out or 1]``: columns of U, then of V."""
    return torch.cat([CF.wide(scale).expand(width // len(scales), *scale.shape) for scale in scales])


def _fitted_scales(targets: Tensor, codes: Tensor, weights: Tensor, granularity: str) -> Tensor:
    """Fit scales ``[stages, 2, out or 1]`` to given codes by column-weighted least squares.

    Stage by stage, and scales per row then all together, see ``joint_scales``.
    """
    rows = len(targets) if granularity == "row" else 1
    importance = weights if granularity == "row" else weights.repeat(len(targets))
    ones = torch.ones(2, 1, device=targets.device)
    parts = [part.reshape(rows, -1) for part in (targets.real, targets.imag)]
    units, scales, left = [], [], parts
    for code in codes:
        real, imag = (part.reshape(rows, -1) for part in unit_values(code[None], ones[None]))
        units.append((real, imag))
        each = [_fitted_scale(*pair, importance) for pair in zip(left, units[-1], strict=True)]
        scales.append(CF.narrow(torch.stack(each), SCALE_DTYPE))
        wide = CF.wide(scales[-1]).unsqueeze(-1)
        left = [part - scale * unit for part, scale, unit in zip(left, wide, units[-1], strict=True)]
    return torch.stack(joint_scales(units, parts, scales, importance) if granularity == "row" else scales)


def _fitted_scale(part: Tensor, unit: Tensor, importance: Tensor) -> Tensor:
    """Fit one scale per row to the elements on an axis, at least 0."""
    counted = (unit.abs() * importance).sum(-1).clamp(min=torch.finfo(importance.dtype).tiny)
    return ((unit * part * importance).sum(-1) / counted).clamp(min=0)


def round_columns(columns: Tensor, factor: Tensor, rule: RoundColumn) -> tuple[Tensor, Tensor, Tensor]:
    """Round columns in order with error feedback (GPTQ, Frantar et al. 2023), real or complex, with any rule.

    Args:
        columns: the columns of W in the order of rounding, ``[n, out]``.
        factor: T of ``ordered_factor``, ``[n, n]``.
        rule: called with the index of a column and its target ``[out]``; returns its codes and its value ``[out]``.

    Returns:
        Stacked codes ``[n, ...]``, the compensated targets ``[n, out]`` and the error |T d|^2 of every row ``[out]``.
    """
    diagonal = factor.diagonal()
    factor = factor / diagonal.unsqueeze(1)
    codes = []
    targets, errors = torch.zeros_like(columns), torch.zeros_like(columns)
    for start in range(0, len(columns), BLOCK):
        stop = min(start + BLOCK, len(columns))
        wanted = columns[start:stop] + factor[start:stop, :start] @ errors[:start]
        for index in range(start, stop):
            targets[index] = wanted[index - start] + factor[index, start:index] @ errors[start:index]
            code, value = rule(index, targets[index])
            codes.append(code)
            errors[index] = columns[index] - value
    rest = targets - columns + errors  # rounding error of the targets
    return torch.stack(codes), targets, (rest * diagonal.unsqueeze(1)).abs().square().sum(0)


def _rounding(scales: Tensor) -> RoundColumn:
    """Return the rule that rounds a column to sums of units with scales ``[n, stages, 2, out or 1]``.

    Its codes are ``[stages, out]``.
    """

    def rule(index: int, column: Tensor) -> tuple[Tensor, Tensor]:
        left = column
        codes = []
        for scale in scales[index]:
            code = unit_codes(left.real, left.imag)
            left = left - torch.complex(*unit_values(code[None], scale[None]))
            codes.append(code)
        return torch.stack(codes), column - left

    return rule


def _lower_factor(gram: Tensor) -> Tensor:
    """Factor H = T^H T with a lower triangular T, by a Cholesky factorization in reverse order."""
    return torch.linalg.cholesky(gram.flip(0, 1)).mH.flip(0, 1).resolve_conj()
