# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounding of complex weights that knows what a layer reads: the error of its output counts, not of its weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from . import functional as CF
from .rounding import unit_codes, unit_values
from .unit_linear import check_parts, rounded_weights

__all__ = ["calibrated_weights", "gram_matrix", "squared_errors", "stored_gram"]

BLOCK = 64  # columns that the errors of all before them reach together, as one product


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
) -> list[tuple[Tensor, Tensor]]:
    """Codes and scales of W, or of U and V together, that keep |X (W - W_q)^T|^2 small (GPTQ, Frantar et al. 2023).

    Scales are those of the nearest units. Columns are rounded one by one, those that read the most first, and each
    makes up for the errors of those before it: with H = X^H X + damping = T^H T and T lower triangular, the error of
    the output is |T d|^2 for d = w - q, and q_j is nearest to w_j + sum_{k < j} T_jk d_k / T_jj. Where that has not
    helped a row, its nearest units stay, so no row is worse than by ``rounded_weights``; for white features, H = c I,
    the two are the same.

    Args:
        parts: A, B (and C, D) of the weights, ``[out, in]`` each.
        gram: X^H X, ``[in, in]``; of a widely linear layer ``[2 in, 2 in]``, see ``gram_matrix``.
        stages, granularity: see ``unit_stages``.
        damping: added to the diagonal of X^H X, in parts of its mean.

    Returns:
        As ``rounded_weights``.

    Raises:
        ValueError: a matrix of another size, features that are all zero, weights or features that are not finite,
            ``damping`` that is not positive.
    """
    check_parts(parts)
    if damping <= 0.0:
        raise ValueError(f"damping must be positive, got {damping}: it keeps the matrix of few features invertible")
    matrices = [torch.complex(CF.wide(a), CF.wide(b)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    weight = torch.cat(matrices, dim=1)
    if gram.shape != (weight.shape[1],) * 2:
        raise ValueError(
            f"the layer reads {weight.shape[1]} complex features, and the calibration has a matrix of shape "
            f"{tuple(gram.shape)}: calibrate with what this layer reads"
        )
    diagonal = gram.diagonal().real
    if not (0.0 < diagonal.mean().item() < torch.inf):
        raise ValueError(
            f"the mean square of the calibration's features is {diagonal.mean().item()}: nothing can be told from it"
        )
    nearest = rounded_weights(parts, stages, granularity)
    damped = gram + damping * diagonal.mean() * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    codes = _round_columns(weight, _column_scales(nearest, weight.shape[1]), damped)
    halves = zip(codes.chunk(len(nearest), dim=-1), nearest, strict=True)
    calibrated = [(code, scales) for code, (_, scales) in halves]
    errors = [squared_errors(weight - _complex_weight(found), gram) for found in (nearest, calibrated)]
    worse = errors[1] > errors[0]
    return [
        (torch.where(worse[:, None], near, code), scales)
        for (near, scales), (code, _) in zip(nearest, calibrated, strict=True)
    ]


def _complex_weight(weights: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """The matrix [U | V], or W, of codes and scales."""
    return torch.cat([torch.complex(*unit_values(codes, scales)) for codes, scales in weights], dim=1)


def _column_scales(weights: Sequence[tuple[Tensor, Tensor]], width: int) -> Tensor:
    """The scales of every column, ``[columns, stages, 2, out or 1]``: those of U, then those of V."""
    each = width // len(weights)
    return torch.cat([CF.wide(scales).expand(each, *scales.shape) for _, scales in weights])


def _round_columns(weight: Tensor, scales: Tensor, gram: Tensor) -> Tensor:
    """Codes ``[stages, out, n]`` of the columns of ``weight [out, n]``, each after the errors of those before it."""
    order = gram.diagonal().real.argsort(descending=True, stable=True)
    columns = weight.t()[order]
    factor = _lower_factor(gram[order][:, order])
    factor = factor / factor.diagonal().unsqueeze(1)
    codes = torch.empty(len(order), scales.shape[1], weight.shape[0], dtype=torch.int8, device=weight.device)
    errors = torch.zeros_like(columns)
    for start in range(0, len(order), BLOCK):
        stop = min(start + BLOCK, len(order))
        wanted = columns[start:stop] + factor[start:stop, :start] @ errors[:start]
        for index in range(start, stop):
            target = wanted[index - start] + factor[index, start:index] @ errors[start:index]
            codes[index], value = _round_column(target, scales[order[index]])
            errors[index] = columns[index] - value
    return codes[order.argsort()].permute(1, 2, 0)


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
