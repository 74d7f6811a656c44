# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""States of unit norm and the maps that keep them so (Thesis 4.15, 4.36)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..kernels.exporting import inverse, is_exporting
from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_ids, check_positive

__all__ = ["UnitNorm", "UnitaryLinear", "unit_norm", "vector_norm"]


def _real_numbers(x: Tensor) -> Tensor:
    """``x`` in float32 or better; halves of any width, but no complex dtype."""
    if x.is_complex():
        CF.check_halves(x)
    return CF.wide(x)


def vector_norm(x: Tensor) -> Tensor:
    """||z|| = sqrt(sum_j |z_j|^2) of the last axis, ``[..., width] -> [..., 1]``, in float32 or better.

    Of halves and of real numbers alike. Computed from z / max |z|, so that no square overflows; gradient 0 at z = 0.
    """
    x = _real_numbers(x)
    peak = x.detach().abs().amax(-1, keepdim=True)
    peak = torch.where(peak > 0.0, peak, torch.ones_like(peak))
    norm = torch.linalg.vector_norm(x / peak, dim=-1, keepdim=True) * peak
    return norm.clamp(max=torch.finfo(norm.dtype).max)


def unit_norm(x: Tensor) -> Tensor:
    """z / ||z|| over the last axis, ``[..., width] -> [..., width]``, a state of unit norm (Thesis 4.15).

    Of halves and of real numbers alike. A vector shorter than 1e-12 (1e-3 in float16) has no direction: 0, with
    gradient 0: its slope 1 / ||z|| would leave the range of the dtype.
    """
    wide = _real_numbers(x)
    peak = wide.detach().abs().amax(-1, keepdim=True)
    no_direction = peak < (1e-3 if x.dtype == torch.float16 else 1e-12)  # false of NaN, which stays one
    # z / peak is of size 1: dividing by a constant does not change the direction, nor its slope.
    scaled = wide.masked_fill(no_direction, 0.0) / peak.masked_fill(no_direction, 1.0)
    return (scaled * scaled.square().sum(-1, keepdim=True).clamp(min=1.0).rsqrt()).to(x.dtype)


class UnitNorm(nn.Module):
    """``unit_norm`` as a layer without parameters: the state that a vector points at (Thesis 4.15, 6.2.1)."""

    def forward(self, x: Tensor) -> Tensor:
        return unit_norm(x)


def cayley(skew: Tensor, symmetric: Tensor | None, size: int, columns: int | None = None) -> Tensor:
    """The first columns of W = (I + A)^-1 (I - A), which is unitary for every skew-Hermitian A = S + iT.

    S is antisymmetric with the entries ``skew [..., d (d - 1) / 2]`` below its diagonal, T symmetric with ``symmetric
    [..., d (d + 1) / 2]`` on and below it: d^2 real numbers. Solved over the real numbers by the block matrix of
    I + A, in float32 or better; I + A has no singular value below 1, so there is always a solution.

    Args:
        skew, symmetric: entries of A; without ``symmetric`` W is real and orthogonal, of determinant 1.
        size: d.
        columns: of W, default all.

    Returns:
        ``[..., d, columns]``, or the parts of a complex W one below the other, ``[..., 2d, columns]``.
    """
    skew = CF.wide(skew)
    columns = size if columns is None else columns
    identity = torch.eye(size, dtype=skew.dtype, device=skew.device)
    below = _lower(skew, size, -1)
    real = below - below.mT
    if symmetric is None:
        return _solve(identity + real, (identity - real)[..., :columns])
    on_and_below = _lower(CF.wide(symmetric), size, 0)
    imag = on_and_below + on_and_below.tril(-1).mT
    parts = (part.movedim((-2, -1), (0, 1)) for part in (identity + real, imag))
    left = CF.block_matrix(*parts).movedim((0, 1), (-2, -1))
    return _solve(left, torch.cat([identity - real, -imag], dim=-2)[..., :columns])


def _solve(left: Tensor, right: Tensor) -> Tensor:
    return inverse(left) @ right if is_exporting() else torch.linalg.solve(left, right)


def _lower(entries: Tensor, size: int, diagonal: int) -> Tensor:
    """Matrices with these entries on and below a diagonal, row by row: ``[..., entries] -> [..., size, size]``."""
    rows, columns = torch.tril_indices(size, size, diagonal, device=entries.device)
    matrix = entries.new_zeros(*entries.shape[:-1], size * size)
    return matrix.index_copy(-1, rows * size + columns, entries).unflatten(-1, (size, size))


class CayleyMatrix(nn.Module):
    """The d^2 real numbers of a unitary matrix (d (d - 1) / 2 of an orthogonal one), none of them constrained.

    With ``num_maps`` those of as many matrices, one behind the other on a first axis.
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
        """Normal entries of A."""
        torch.nn.init.normal_(self.skew, std=self.std)
        if self.symmetric is not None:
            torch.nn.init.normal_(self.symmetric, std=self.std)

    def forward(self, count: int | None = None) -> Tensor:
        """The first ``count`` columns of W, as ``cayley`` returns them; not in half precision, even under autocast."""
        with torch.autocast(self.skew.device.type, enabled=False):
            return cayley(self.skew, self.symmetric, self.size, count)


class UnitaryLinear(nn.Module):
    """W z with a unitary W, ``[..., 2d] -> [..., 2d]``: the evolution of a state, which keeps norms (Thesis 4.36).

    W = (I + A)^-1 (I - A) (Cayley; Helfrich et al. 2018) of a skew-Hermitian A of d^2 free real numbers: W^H W = I to
    1e-5 whatever the optimiser does. No W with an eigenvalue -1 is reached, others as near as one likes. In the real
    field W is a rotation of d (d - 1) / 2 numbers.

    With ``num_maps`` there is a W for each of as many kinds of states, and each state says by ``map_ids`` which is its
    own: words evolve by their grammatical role before they are mixed (Thesis 4.63).

    Args:
        features: stored width of input and output.
        std: standard deviation of the entries of A at the start; small ones start near the identity.
        number_field: ``"complex"`` or ``"real"``.
        num_maps: None for one map of all states.

    Raises:
        ValueError: an odd width of halves, no feature, no map; map ids that are missing, unwanted, outside
            ``[0, num_maps)`` or of another shape than the states.
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
        check_positive(features=features)
        if num_maps is not None:
            check_positive(num_maps=num_maps)
        self.features = features
        self.number_field = number_field
        self.num_maps = num_maps
        size = arithmetic(number_field).num_features(features)
        self.generator = CayleyMatrix(size, std, number_field, num_maps, device=device, dtype=dtype)

    def matrix(self) -> Tensor:
        """W ``[d, d]``, or the parts of a complex W one below the other, ``[2d, d]``; float32 or better.

        With ``num_maps`` all of them, ``[num_maps, d or 2d, d]``.
        """
        matrix: Tensor = self.generator()
        return matrix

    def forward(self, x: Tensor, map_ids: Tensor | None = None) -> Tensor:
        """States ``[..., features]`` and, with ``num_maps``, the map of each, ``[...]``."""
        if self.number_field == "complex":
            CF.check_halves(x)
        matrix = self.matrix().to(x.dtype)
        if self.num_maps is None:
            if map_ids is not None:
                raise ValueError("this layer has one map for all states: leave out map_ids, or give it num_maps")
            return self._turn(x, matrix)
        self._check_maps(x, map_ids)
        assert map_ids is not None
        if is_exporting():  # whose parts have sizes that are known: every state goes through all maps
            turned = torch.stack([self._turn(x, own) for own in matrix.unbind(0)], dim=-2)
            index = map_ids.long()[..., None, None].expand(*map_ids.shape, 1, self.features)
            return turned.gather(-2, index).squeeze(-2)
        ids = map_ids.flatten()
        order = ids.argsort(stable=True)  # states of one map go through it together: no state has a matrix of its own
        parts = x.flatten(0, -2)[order].split(torch.bincount(ids, minlength=self.num_maps).tolist())
        turned = torch.cat([self._turn(part, own) for part, own in zip(parts, matrix, strict=True)])
        return turned[order.argsort()].view_as(x)

    def _turn(self, x: Tensor, matrix: Tensor) -> Tensor:
        return F.linear(x, matrix) if self.number_field == "real" else CF.linear(x, *matrix.chunk(2))

    def _check_maps(self, x: Tensor, map_ids: Tensor | None) -> None:
        if map_ids is None:
            raise ValueError(f"map_ids are missing: each state goes through one of {self.num_maps} maps")
        if map_ids.shape != x.shape[:-1]:
            raise ValueError(f"map_ids must be {tuple(x.shape[:-1])}, one for each state, got {tuple(map_ids.shape)}")
        check_ids("map_ids", map_ids, self.num_maps or 0, "use a larger num_maps, or ids below it")

    def extra_repr(self) -> str:
        maps = "" if self.num_maps is None else f", num_maps={self.num_maps}"
        return f"{self.features}, number_field={self.number_field!r}{maps}"
