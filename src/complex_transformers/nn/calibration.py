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

__all__ = ["calibrated_weights", "gram_matrix", "read_features", "squared_errors"]

BLOCK = 64  # columns whose errors reach the rest together, as one product


def read_features(x: Tensor, linear_type: str) -> Tensor:
    """What the columns of the weights multiply: halves ``[..., 2n] -> complex [N, n]``, or ``[N, 2n]``.

    z of a ``complex`` layer, conj(z) of a ``conjugate`` one, [z | conj(z)] of a ``widely_linear`` one: U and V are
    calibrated together.
    """
    z = CF.to_complex(x).flatten(0, -2)
    if linear_type == "complex":
        return z
    return z.conj() if linear_type == "conjugate" else torch.cat([z, z.conj()], dim=-1)


def gram_matrix(features: Tensor) -> Tensor:
    """X^H X of ``[N, n]`` features, Hermitian ``[n, n]``.

    Raises:
        ValueError: no features, or some that are not finite.
    """
    if not len(features):
        raise ValueError("the calibration is empty: give at least one text that is not padding")
    gram = features.mH @ features
    if not torch.view_as_real(gram).isfinite().all():
        raise ValueError(
            "the calibration holds NaN or infinite features: look for the layer that makes them, or compute in float32"
        )
    return gram


def squared_errors(difference: Tensor, gram: Tensor) -> Tensor:
    """|X d|^2 = d^H X^H X d of every row d of W - W_q: complex ``[out, n], [n, n] -> [out]``."""
    return ((difference.conj() @ gram) * difference).sum(-1).real


@torch.no_grad()
def calibrated_weights(
    parts: Sequence[Tensor], gram: Tensor, stages: int = 2, granularity: str = "row", damping: float = 0.01
) -> list[tuple[Tensor, Tensor]]:
    """Codes and scales of W, or of U and V together, that keep |X (W - W_q)^T|^2 small (GPTQ, Frantar et al. 2023).

    Scales are those of the nearest units. Columns are rounded one by one, those that read the most first; what the
    rounding of a column adds to the output is taken back as well as the columns that are left can: with G the inverse
    of H = X^H X + damping, w_k -= (w_j - q_j) conj(G_jk) / G_jj. Where that has not helped a row, its nearest units
    stay, so no row is worse than by ``rounded_weights``; for white features, H = c I, the two are the same.

    Args:
        parts: A, B (and C, D) of the weights, ``[out, in]`` each.
        gram: X^H X, ``[in, in]``; of a widely linear layer ``[2 in, 2 in]``, see ``read_features``.
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
    rest = weight[:, order].t().contiguous()  # a column in a row
    factor = _inverse_factor(gram[order][:, order])
    codes = torch.empty(len(order), scales.shape[1], weight.shape[0], dtype=torch.int8, device=weight.device)
    for start in range(0, len(order), BLOCK):
        block = slice(start, min(start + BLOCK, len(order)))
        errors = torch.empty_like(rest[block])
        for index in range(block.start, block.stop):
            column = rest[index]
            code, value = _round_column(column, scales[order[index]])
            codes[index] = code
            error = (column - value) / factor[index, index]
            errors[index - start] = error
            rest[index + 1 : block.stop] -= factor[index, index + 1 : block.stop, None].conj() * error
        rest[block.stop :] -= factor[block, block.stop :].mH @ errors
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


def _inverse_factor(gram: Tensor) -> Tensor:
    """U, upper triangular, of the inverse G = U^H U: row j is that of the inverse of what is left at j, over its root.

    By the Cholesky factor of the matrix read backwards: J H J = L L^H, so U = J L^(-1) J.
    """
    factor, failed = torch.linalg.cholesky_ex(gram.flip(0, 1))
    if failed:
        raise ValueError(
            f"the matrix of the calibration's {len(gram)} features has no Cholesky factor: give more texts, or more "
            "damping"
        )
    identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    return torch.linalg.solve_triangular(factor, identity, upper=False).flip(0, 1)
