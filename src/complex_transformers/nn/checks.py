# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Argument checks shared by many layers. Each error names the argument, its value and the valid values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from ..kernels.dispatch import shows_values

__all__ = ["check_choice", "check_field_choice", "check_ids", "check_mask", "check_positive", "check_shape"]


def check_choice(name: str, value: str, valid: Collection[str], hint: str = "") -> None:
    """Raise a ValueError that lists the valid values unless ``value`` is one of them."""
    if value not in valid:
        raise ValueError(f"{name} must be one of {sorted(valid)}, got {value!r}{hint}")


def check_field_choice(name: str, value: str, valid: Collection[str], number_field: str, real: Sequence[str]) -> None:
    """Raise a ValueError unless ``value`` is valid, and one of ``real`` in the real field."""
    check_choice(name, value, valid)
    check_choice("number_field", number_field, ("complex", "real"))
    if number_field == "real" and value not in real:
        instead = " or ".join(map(repr, real))
        raise ValueError(f"{name} must be {instead} with number_field='real', got {value!r}")


def check_positive(**sizes: int) -> None:
    """Raise a ValueError that names all ``sizes`` unless each is at least 1."""
    if min(sizes.values()) < 1:
        *first, last = sizes
        *values, value = sizes.values()
        names = f"{', '.join(first)} and {last}" if first else last
        raise ValueError(f"{names} must be positive, got {', '.join(map(str, values))}{' and ' * bool(first)}{value}")


def check_shape(name: str, x: Tensor, shape: Sequence[int], remedy: str = "") -> None:
    """Raise a ValueError unless ``x`` has this shape."""
    if tuple(x.shape) != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {tuple(x.shape)}{remedy}")


def check_ids(name: str, ids: Tensor, size: int, remedy: str, or_else: str = "", first: int = 0) -> None:
    """Raise for ids that are not integers in ``[first, first + size)``.

    Values are checked on the CPU only, outside of compiled graphs (``shows_values``). ``or_else`` names further valid
    values in the message.
    """
    if ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} must be integers (int64 or int32), got dtype {ids.dtype}")
    if ids.numel() == 0 or not shows_values(ids):
        return
    low, high = (int(v) for v in torch.aminmax(ids))
    if low < first or high >= first + size:
        wrong = low if low < first else high
        raise ValueError(f"{name} must lie in [{first}, {first + size}){or_else}, got {wrong}. {remedy}.")


def check_mask(mask: Tensor, x: Tensor) -> None:
    """Raise unless ``mask`` has the shape of ``x`` without its channel axis 1."""
    check_shape("mask", mask, x.shape[:1] + x.shape[2:], f" for x of shape {tuple(x.shape)}")
