# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounding of complex weights that knows what a layer reads: the error of its output counts, not of its weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import (
    functional as CF,
)
from .quantized_linear import SCALE_DTYPE, packable_weights
from .rounding import unit_codes, unit_values

__all__ = ["calibrated_weights", "gram_matrix", "squared_errors", "stored_gram"]

FITS = 2  # of scales, after those of the nearest units
BLOCK = 64  # columns that the errors of all before them reach together, as one product
# Codes and scales of W, or of U and V.
Weights = list[tuple[Tensor, Tensor]]


def stored_gram(x: Tensor) -> Tensor:
    """x^T x of the stored numbers of features, real, in float32 or better: ``[..., 2n] -> [2n, 2n]``.

    Raises:
        ValueError: no features, or some that are not finite.
    """
    numbers = CF.wide(x).flatten(0, -2)
    if not len(numbers):
        raise ValueError("the calibration is empty: give at least one text that is not padding")
    gram = numbers.t() @ numbers
    if not gram.isfinite().all():
        raise ValueError(
            "the calibration holds NaN or infinite features: look for the layer that makes them, or compute in float32"
        )
    return gram


def gram_matrix(stored: Tensor, linear_type: str) -> Tensor:
    """X^H X of the complex features that the columns of the weights multiply, Hermitian ``[n, n]`` or ``[2n, 2n]``.

    X is z of a ``complex`` layer, conj(z) of a ``conjugate`` one, [z | conj(z)] of a ``widely_linear`` one, whose
    U and V are calibrated together. With the parts z = a + ib, Z^H Z = a^T a + b^T b + i (a^T b - b^T a) and
    Z^H conj(Z) = a^T a - b^T b - i (a^T b + b^T a).

    Args:
        stored: ``stored_gram`` of z, the blocks [[a^T a, a^T b], [b^T a, b^T b]].
        linear_type: of the layer.
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
    """|X d|^2 = d^H X^H X d of every row d of W - W_q: complex ``[out, n], [n, n] -> [out]``."""
    return ((difference.conj() @ gram) * difference).sum(-1).real


@torch.no_grad()
def calibrated_weights(
    parts: Sequence[Tensor], gram: Tensor, stages: int = 2, granularity: str = "row", damping: float = 0.01
) -> Weights:
    """Codes and scales of W, or of U and V together, that keep |X (W - W_q)^T|^2 small (GPTQ, Frantar et al. 2023).

    Columns are rounded one by one, those that read the most first, and each makes up for the errors of those before
    it: with H = X^H X + damping = T^H T and T lower triangular, the error of the output is |T d|^2 for d = w - q, and
    q_j is nearest to v_j = w_j + sum_{k < j} T_jk d_k / T_jj. Scales are first those of the nearest units of w, then
    twice those that err least for v with the weights |T_jj|^2. The best of these, and of the nearest units
    themselves, is kept: for each row, or, with scales of the whole tensor, for all. So nothing is worse than by
    ``rounded_weights``; for white features, H = c I, the two are the same.

    Args:
        parts: A, B (and C, D) of the weights, ``[out, in]`` each.
        gram: X^H X, ``[in, in]``; of a widely linear layer ``[2 in, 2 in]``, see ``gram_matrix``.
        stages, granularity: see ``unit_stages``.
        damping: added to the diagonal of X^H X, in parts of its mean.

    Returns:
        As ``rounded_weights``.

    Raises:
        ValueError: a matrix of another size, features that are all zero, weights or features that are not finite,
            weights that 16 bits cannot hold, ``damping`` that is not positive.
    """
    nearest = packable_weights(parts, stages, granularity)
    if not damping > 0.0:
        raise ValueError(f"damping must be positive, got {damping}: it keeps the matrix of few features invertible")
    matrices = [torch.complex(CF.wide(a), CF.wide(b)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    weight = torch.cat(matrices, dim=1)
    if gram.shape != (weight.shape[1],) * 2:
        raise ValueError(
            f"the layer reads {weight.shape[1]} complex features, and the calibration has a matrix of shape "
            f"{tuple(gram.shape)}: calibrate with what this layer reads"
        )
    mean = gram.diagonal().real.mean()
    if not 0.0 < mean.item() < torch.inf:
        raise ValueError(
            f"the mean square of the calibration's features is {mean.item()}: nothing can be told from it"
        )
    damped = gram + damping * mean * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    found = _feed_back(weight, nearest, damped, granularity)
    errors = [squared_errors(weight - _complex_weight(weights), gram) for weights in (nearest, found)]
    return _better(found, nearest, errors[1], errors[0], granularity)


def _feed_back(weight: Tensor, nearest: Weights, gram: Tensor, granularity: str) -> Weights:
    """The best of rounding by the scales of ``nearest`` and by those that are fitted in turn."""
    order = gram.diagonal().real.argsort(descending=True, stable=True)
    back = order.argsort()
    factor = _lower_factor(gram[order][:, order])
    square = factor.diagonal().real.square()
    scales = [scale for _, scale in nearest]
    best, least = nearest, torch.full(weight.shape[:1], torch.inf, dtype=square.dtype, device=weight.device)
    for _ in range(1 + FITS):
        codes, targets, errors = _round_columns(weight.t()[order], _column_scales(scales, len(order))[order], factor)
        each = codes[back].permute(1, 2, 0).chunk(len(scales), dim=-1)
        best = _better(list(zip(each, scales, strict=True)), best, errors, least, granularity)
        least = torch.minimum(errors, least) if granularity == "row" else min(errors, least, key=torch.sum)
        parts = zip(targets[back].chunk(len(scales)), each, square[back].chunk(len(scales)), strict=True)
        scales = [_fitted_scales(target.t(), code, weights, granularity) for target, code, weights in parts]
    return best


def _better(ours: Weights, theirs: Weights, error: Tensor, other: Tensor, granularity: str) -> Weights:
    """Of every row, or of all, those of the lower error; theirs where both are equal."""
    lower = error < other if granularity == "row" else (error.sum() < other.sum()).reshape(1)
    return [
        (torch.where(lower[:, None], codes, others), torch.where(lower, scales, other_scales))
        for (codes, scales), (others, other_scales) in zip(ours, theirs, strict=True)
    ]


def _complex_weight(weights: Weights) -> Tensor:
    """The matrix [U | V], or W, of codes and scales."""
    return torch.cat([torch.complex(*unit_values(codes, scales)) for codes, scales in weights], dim=1)


def _column_scales(scales: Sequence[Tensor], width: int) -> Tensor:
    """The scales of every column, ``[columns, stages, 2, out or 1]``: those of U, then those of V."""
    return torch.cat([CF.wide(scale).expand(width // len(scales), *scale.shape) for scale in scales])


def _fitted_scales(targets: Tensor, codes: Tensor, weights: Tensor, granularity: str) -> Tensor:
    """Scales ``[stages, 2, out or 1]`` of the least squared error, weighted by column, of given codes, in turn."""
    rows = len(targets) if granularity == "row" else 1
    left, fitted = targets, []
    for code in codes:
        odd = code & 1
        along = torch.where(odd == 1, left.imag, left.real) * (1 - (code & 2))
        counted = torch.stack([(odd == axis) * weights for axis in (0, 1)])
        total = [(counted * values).reshape(2, rows, -1).sum(-1) for values in (along, torch.ones_like(along))]
        scale = CF.narrow((total[0] / total[1].clamp(min=torch.finfo(along.dtype).tiny)).clamp(min=0), SCALE_DTYPE)
        left = left - torch.complex(*unit_values(code[None], scale[None]))
        fitted.append(scale)
    return torch.stack(fitted)


def _round_columns(columns: Tensor, scales: Tensor, factor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Codes ``[n, stages, out]`` of columns ``[n, out]``, each after the errors of those before it.

    Also what they were rounded from, ``[n, out]``, and the error |T d|^2 of every row of the weight.
    """
    diagonal = factor.diagonal()
    factor = factor / diagonal.unsqueeze(1)
    codes = torch.empty(len(columns), scales.shape[1], columns.shape[1], dtype=torch.int8, device=columns.device)
    targets, errors = torch.zeros_like(columns), torch.zeros_like(columns)
    for start in range(0, len(columns), BLOCK):
        stop = min(start + BLOCK, len(columns))
        wanted = columns[start:stop] + factor[start:stop, :start] @ errors[:start]
        for index in range(start, stop):
            targets[index] = wanted[index - start] + factor[index, start:index] @ errors[start:index]
            codes[index], value = _round_column(targets[index], scales[index])
            errors[index] = columns[index] - value
    rest = targets - columns + errors  # what rounding left of the targets
    return codes, targets, (rest * diagonal.unsqueeze(1)).abs().square().sum(0)


def _round_column(column: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    """Codes ``[stages, out]`` of a column by given scales ``[stages, 2, out or 1]``, stage by stage, and its value."""
    left = column
    codes = []
    for scale in scales:
        code = unit_codes(left.real, left.imag)
        left = left - torch.complex(*unit_values(code[None], scale[None]))
        codes.append(code)
    return torch.stack(codes), column - left


def _lower_factor(gram: Tensor) -> Tensor:
    """T, lower triangular, of H = T^H T: the Cholesky factor of the matrix read backwards, read backwards."""
    factor, failed = torch.linalg.cholesky_ex(gram.flip(0, 1))
    if failed:
        raise ValueError(
            f"the matrix of the calibration's {len(gram)} features has no Cholesky factor: give more texts, or more "
            "damping"
        )
    return factor.mH.flip(0, 1).resolve_conj()
