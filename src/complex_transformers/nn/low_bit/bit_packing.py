# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Two bits a complex weight: four codes of units in a byte."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["pack_codes", "packed_width", "unpack_codes"]

CODES_PER_BYTE = 4


def packed_width(width: int) -> int:
    """Bytes that hold ``width`` codes."""
    return -(-width // CODES_PER_BYTE)


def pack_codes(codes: Tensor) -> Tensor:
    """Four codes in a byte, the first in its lowest bits: ``[..., n] -> uint8 [..., ceil(n / 4)]``.

    Bits of the last byte that no code needs are 0.

    Args:
        codes: whole numbers in [0, 4).

    Raises:
        ValueError: a code that two bits do not hold.
    """
    if codes.numel():
        low, high = (int(value) for value in torch.aminmax(codes))
        if low < 0 or high > 3:
            raise ValueError(f"codes must lie in [0, 4), got {low if low < 0 else high}: two bits hold no other unit")
    padding = CODES_PER_BYTE * packed_width(codes.shape[-1]) - codes.shape[-1]
    fours = torch.nn.functional.pad(codes.to(torch.uint8), (0, padding)).unflatten(-1, (-1, CODES_PER_BYTE))
    return fours[..., 0] | fours[..., 1] << 2 | fours[..., 2] << 4 | fours[..., 3] << 6


def unpack_codes(packed: Tensor, width: int) -> Tensor:
    """The inverse of ``pack_codes``: ``uint8 [..., ceil(n / 4)] -> int8 [..., n]`` for ``width`` n.

    Raises:
        ValueError: another number of bytes than ``width`` needs.
    """
    if packed.shape[-1] != packed_width(width):
        raise ValueError(
            f"{width} codes are packed in {packed_width(width)} bytes, got {packed.shape[-1]}: give the width that "
            "was packed"
        )
    fours = torch.stack([(packed >> shift) & 3 for shift in (0, 2, 4, 6)], dim=-1)
    return fours.flatten(-2)[..., :width].to(torch.int8)
