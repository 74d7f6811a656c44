# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""States of unit norm and norm-preserving maps (Thesis 4.15, 4.36)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..kernels.exporting import inverse, is_exporting
from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_ids, check_shape

__all__ = ["UnitNorm", "UnitaryLinear", "unit_norm", "vector_norm"]


def _real_numbers(x: Tensor) -> Tensor:
    """Cast to float32 or better; raise for complex dtypes."""
    if x.is_complex():
        CF.check_halves(x)
    return CF.wide(x)


def vector_norm(x: Tensor) -> Tensor:
    """Compute ||z|| = sqrt(sum_j |z_j|^2) over the last axis, ``[..., width] -> [..., 1]``, in float32 or better.

    Works for halves and for real features. Squares cannot overflow; the gradient at z = 0 is 0.
    """
    x = _real_numbers(x)
    peak = x.detach().abs().amax(-1, keepdim=True)
    peak = torch.where(peak > 0.0, peak, torch.ones_like(peak))
    norm = torch.linalg.vector_norm(x / peak, dim=-1, keepdim=True) * peak
    return norm.clamp(max=torch.finfo(norm.dtype).max)


def unit_norm(x: Tensor) -> Tensor:
    """Compute z / ||z|| over the last axis, ``[..., width] -> [..., width]``, a state of unit norm (Thesis 4.15).

    Works for halves and for real features. Vectors shorter than 1e-12 (1e-3 in float16) give 0 with gradient 0, since
    the gradient 1 / ||z|| could overflow.
    """
    wide = _real_numbers(x)
    peak = wide.detach().abs().amax(-1, keepdim=True)
    no_direction = peak < (1e-3 if x.dtype == torch.float16 else 1e-12)  # False for NaN, which propagates
    # Division by the detached peak changes neither the direction nor its gradient.
    scaled = wide.masked_fill(no_direction, 0.0) / peak.masked_fill(no_direction, 1.0)
    return (scaled * scaled.square().sum(-1, keepdim=True).clamp(min=1.0).rsqrt()).to(x.dtype)


class UnitNorm(nn.Module):
    """``unit_norm`` as a layer without parameters (Thesis 4.15, 6.2.1)."""

    def forward(self, x: Tensor) -> Tensor:
        return unit_norm(x)


def cayley(skew: Tensor, symmetric: Tensor | None, size: int, columns: int | None = None) -> Tensor:
    """Compute the first columns of W = (I + A)^-1 (I - A), which is unitary for every skew-Hermitian A = S + iT.

    S is antisymmetric with the entries ``skew [..., d (d - 1) / 2]`` below its diagonal, T symmetric with ``symmetric
    [..., d (d + 1) / 2]`` on and below it: d^2 real parameters. The system is solved with the real block matrix of
    I + A in float32 or better. All singular values of I + A are at least 1, so it is never singular.

    Args:
        skew, symmetric: entries of A; without ``symmetric`` W is real and orthogonal with determinant 1.
        size: d.
        columns: number of columns of W, default all.

    Returns:
        ``[..., d, columns]``, or the stacked parts of a complex W, ``[..., 2d, columns]``.
    """
    skew = CF.wide(skew)
    columns = size if columns is None else columns
    identity = torch.eye(size, dtype=skew.dtype, device=skew.device)
    below = _lower(skew, size, -1)
    real = below - below.mT
    if symmetric is None:
        return _solve(identity + real, columns)
    on_and_below = _lower(CF.wide(symmetric), size, 0)
    imag = on_and_below + on_and_below.tril(-1).mT
    parts = (part.movedim((-2, -1), (0, 1)) for part in (identity + real, imag))
    left = CF.block_matrix(*parts).movedim((0, 1), (-2, -1))
    return _solve(left, columns)


def _solve(left: Tensor, columns: int) -> Tensor:
    right = left.mT[..., :columns]  # I - A = (I + A)^H
    return inverse(left) @ right if is_exporting() else torch.linalg.solve(left, right)


def _lower(entries: Tensor, size: int, diagonal: int) -> Tensor:
    """Fill matrices on and below a diagonal, row by row: ``[..., entries] -> [..., size, size]``."""
    rows, columns = torch.tril_indices(size, size, diagonal, device=entries.device)
    matrix = entries.new_zeros(*entries.shape[:-1], size * size)
    return matrix.index_copy(-1, rows * size + columns, entries).unflatten(-1, (size, size))


class CayleyMatrix(nn.Module):
    """Unconstrained parameters of a unitary matrix: d^2 real ones, or d (d - 1) / 2 for an orthogonal matrix.

    With ``num_maps`` the parameters of several matrices are stacked on a first axis.
    """

    def __init__(
        self, size: int, std: float, number_field: str, num_maps: int | None = None, **options: object
    ) -> None:
        super().__init__()
        self.size = size
        self.std = std
        maps = () if num_maps is None else (num_maps,)
        skew = torch.empty(*maps, size * (size - 1) // 2, **options)  # type: ignore[call-overload]
        symmetric = torch.empty(*maps, size * (size + 1) // 2, **options)  # type: ignore[call-overload]
        self.skew = nn.Parameter(skew)
        self.symmetric = nn.Parameter(symmetric) if number_field == "complex" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the entries of A from a normal."""
        torch.nn.init.normal_(self.skew, std=self.std)
        if self.symmetric is not None:
            torch.nn.init.normal_(self.symmetric, std=self.std)

    def forward(self, count: int | None = None) -> Tensor:
        """Return the first ``count`` columns of W, see ``cayley``, in float32 or better even under autocast."""
        with torch.autocast(self.skew.device.type, enabled=False):
            return cayley(self.skew, self.symmetric, self.size, count)


class UnitaryLinear(nn.Module):
    """W z with a unitary W, ``[..., 2d] -> [..., 2d]``: the norm-preserving evolution of a state (Thesis 4.36).

    W = (I + A)^-1 (I - A) (Cayley; Helfrich et al. 2018) with a skew-Hermitian A of d^2 free real parameters, so
    W^H W = I to 1e-5 throughout training. W cannot have an eigenvalue -1 but can come arbitrarily close. In the real
    field W is a rotation with d (d - 1) / 2 parameters.

    With ``num_maps`` there are several W, and ``map_ids`` selects one per state, for example by the grammatical role
    of a word (Thesis 4.63).

    Args:
        features: stored width of input and output.
        std: standard deviation of the initial entries of A; a small one starts near the identity.
        number_field: ``"complex"`` or ``"real"``.
        num_maps: number of maps; None for a single map without ``map_ids``.

    Raises:
        ValueError: an odd width of halves; map ids that are missing, unexpected, outside ``[0, num_maps)`` or of
            another shape than the states.
    """

    def __init__(
        self,
        features: int,
        std: float = 0.02,
        number_field: str = "complex",
        num_maps: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.features = features
        self.number_field = number_field
        self.num_maps = num_maps
        size = arithmetic(number_field).num_features(features)
        self.generator = CayleyMatrix(size, std, number_field, num_maps, device=device, dtype=dtype)

    def matrix(self) -> Tensor:
        """Return W ``[d, d]``, or the stacked parts of a complex W, ``[2d, d]``; float32 or better.

        With ``num_maps`` it is ``[num_maps, d or 2d, d]``.
        """
        matrix: Tensor = self.generator()
        return matrix

    def forward(self, x: Tensor, map_ids: Tensor | None = None) -> Tensor:
        """Map states ``[..., features]``; with ``num_maps``, ``map_ids [...]`` selects the map of each."""
        if self.number_field == "complex":
            CF.check_halves(x)
        matrix = self.matrix().to(x.dtype)
        if (map_ids is None) != (self.num_maps is None):
            valid = "None without num_maps, got ids" if self.num_maps is None else "given with num_maps, got None"
            raise ValueError(f"map_ids must be {valid}")
        if self.num_maps is None or map_ids is None:
            return self._apply_map(x, matrix)
        check_shape("map_ids", map_ids, x.shape[:-1])
        check_ids("map_ids", map_ids, self.num_maps, "Use a larger num_maps, or smaller ids")
        if is_exporting():  # group sizes would be unknown, so every state goes through all maps
            mapped = torch.stack([self._apply_map(x, own) for own in matrix.unbind(0)], dim=-2)
            index = map_ids.long()[..., None, None].expand(*map_ids.shape, 1, self.features)
            return mapped.gather(-2, index).squeeze(-2)
        ids = map_ids.flatten()
        order = ids.argsort(stable=True)  # grouped by map, so that no matrix is copied per state
        parts = x.flatten(0, -2)[order].split(torch.bincount(ids, minlength=self.num_maps).tolist())
        mapped = torch.cat([self._apply_map(part, own) for part, own in zip(parts, matrix, strict=True)])
        return mapped[order.argsort()].view_as(x)

    def _apply_map(self, x: Tensor, matrix: Tensor) -> Tensor:
        return F.linear(x, matrix) if self.number_field == "real" else CF.linear(x, *matrix.chunk(2))

    def extra_repr(self) -> str:
        maps = "" if self.num_maps is None else f", num_maps={self.num_maps}"
        return f"{self.features}, number_field={self.number_field!r}{maps}"
