# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Packing of 2-bit codes, four per byte."""

from __future__ import annotations

import torch
from torch import Tensor

from ..checks import check_shape

__all__ = ["pack_codes", "packed_width", "unpack_codes"]

CODES_PER_BYTE = 4


def packed_width(width: int) -> int:
    """Return the number of bytes that hold ``width`` codes."""
    return -(-width // CODES_PER_BYTE)


def pack_codes(codes: Tensor) -> Tensor:
    """Pack four codes per byte, the first in the lowest bits: ``[..., n] -> uint8 [..., ceil(n / 4)]``.

    Unused bits of the last byte are 0.

    Args:
        codes: integers in [0, 4).

    Raises:
        ValueError: a code outside [0, 4).
    """
    if (outside := codes[(codes < 0) | (codes > 3)]).numel():
        raise ValueError(f"codes must lie in [0, 4), got {outside[0]}")
    padding = CODES_PER_BYTE * packed_width(codes.shape[-1]) - codes.shape[-1]
    fours = torch.nn.functional.pad(codes.to(torch.uint8), (0, padding)).unflatten(-1, (-1, CODES_PER_BYTE))
    return fours[..., 0] | fours[..., 1] << 2 | fours[..., 2] << 4 | fours[..., 3] << 6


def unpack_codes(packed: Tensor, width: int) -> Tensor:
    """Invert ``pack_codes``: ``uint8 [..., ceil(n / 4)] -> int8 [..., n]`` for ``width`` n.

    Raises:
        ValueError: ``packed`` has another number of bytes than ``width`` needs.
    """
    check_shape("packed", packed, (*packed.shape[:-1], packed_width(width)), f" for width={width}")
    fours = torch.stack([(packed >> shift) & 3 for shift in (0, 2, 4, 6)], dim=-1)
    return fours.flatten(-2)[..., :width].to(torch.int8)
