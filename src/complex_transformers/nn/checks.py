# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The checks of arguments that many layers share; each error names the argument, its value and what is valid."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from ..kernels.dispatch import shows_values

__all__ = ["check_choice", "check_ids", "check_mask", "check_positive"]


def check_choice(name: str, value: str, valid: Collection[str], hint: str = "") -> None:
    """Raise a ValueError that lists the valid values."""
    if value not in valid:
        raise ValueError(f"{name} must be one of {sorted(valid)}, got {value!r}{hint}")


def check_positive(**sizes: int) -> None:
    """Raise a ValueError that names all ``sizes`` unless each is at least 1."""
    if min(sizes.values()) < 1:
        *first, last = sizes
        *values, value = sizes.values()
        names = f"{', '.join(first)} and {last}" if first else last
        raise ValueError(f"{names} must be positive, got {', '.join(map(str, values))}{' and ' * bool(first)}{value}")


def check_ids(name: str, ids: Tensor, size: int, remedy: str, or_else: str = "") -> None:
    """Raise for ids outside ``[0, size)`` where their values can be read (``shows_values``).

    ``or_else`` says what else ids may be that are not given here.
    """
    if ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} must be integers (int64 or int32), got dtype {ids.dtype}")
    if ids.numel() == 0 or not shows_values(ids):
        return
    low, high = (int(v) for v in torch.aminmax(ids))
    if low < 0 or high >= size:
        raise ValueError(f"{name} must lie in [0, {size}){or_else}, got {low if low < 0 else high}; {remedy}")


def check_mask(mask: Tensor, x: Tensor) -> None:
    """Raise unless ``mask`` has the shape of ``x`` without its axis 1, the channels."""
    if mask.shape != x.shape[:1] + x.shape[2:]:
        raise ValueError(
            f"mask must have the shape of x without its channels, got {tuple(mask.shape)} for {tuple(x.shape)}"
        )
