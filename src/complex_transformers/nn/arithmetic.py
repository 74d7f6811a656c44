# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The operations that differ between the two number fields, so that layers above are written once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from . import functional as CF
from .checks import check_choice

__all__ = ["Arithmetic", "arithmetic"]


@dataclass(frozen=True)
class Arithmetic:
    """Storage of one number field on the last axis, and its elementary functions.

    Attributes:
        num_parts: stored values per feature: 2 for ``[real | imag]`` halves, 1 in the real field.
        parts: ``x -> (real, imag)`` or ``(x,)``.
        modulus: ``[..., num_parts * d] -> [..., d]``, |z| or |x|.
        squared_modulus: ``[..., num_parts * d] -> [..., d]``, |z|^2 or x^2.
        scale: multiply each feature by a real factor ``[..., d]``.
        from_real: real values ``[..., d]`` as features of the field (imaginary part 0).
        concatenate: concatenate the features of several tensors on the last axis.
    """

    name: str
    num_parts: int
    parts: Callable[[Tensor], tuple[Tensor, ...]]
    modulus: Callable[[Tensor], Tensor]
    squared_modulus: Callable[[Tensor], Tensor]
    scale: Callable[[Tensor, Tensor], Tensor]
    from_real: Callable[[Tensor], Tensor]
    concatenate: Callable[[Sequence[Tensor]], Tensor]

    def num_features(self, width: int) -> int:
        """Return the number of features in a stored ``width``; raise ValueError if halves need an even one."""
        if width % self.num_parts:
            raise ValueError(f"width of [real | imag] halves must be even, got {width}. Use {width + 1}.")
        return width // self.num_parts


def _complex_from_real(m: Tensor) -> Tensor:
    return CF.join(m, torch.zeros_like(m))


def _real_parts(x: Tensor) -> tuple[Tensor, ...]:
    return (x,)


def _real_from_real(m: Tensor) -> Tensor:
    return m


def _real_concatenate(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat(list(tensors), dim=-1)


def _real_squared_modulus(x: Tensor) -> Tensor:
    limit = torch.finfo(x.dtype).max ** 0.5 * 0.999
    return x.clamp(-limit, limit).square()


ARITHMETIC: dict[str, Arithmetic] = {
    "complex": Arithmetic(
        name="complex",
        num_parts=2,
        parts=CF.split,
        modulus=CF.modulus,
        squared_modulus=CF.squared_modulus,
        scale=CF.scale,
        from_real=_complex_from_real,
        concatenate=CF.concatenate,
    ),
    "real": Arithmetic(
        name="real",
        num_parts=1,
        parts=_real_parts,
        modulus=torch.abs,
        squared_modulus=_real_squared_modulus,
        scale=torch.mul,
        from_real=_real_from_real,
        concatenate=_real_concatenate,
    ),
}

NUMBER_FIELDS = tuple(ARITHMETIC)


def arithmetic(number_field: str) -> Arithmetic:
    """Return the arithmetic of a number field; raise ValueError for an unknown name."""
    check_choice("number_field", number_field, ARITHMETIC)
    return ARITHMETIC[number_field]
