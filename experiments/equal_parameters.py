# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Sizes of networks that have as many parameters as another one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

__all__ = ["even_size"]


def even_size(count: Callable[[int], int], wanted: int) -> int:
    """Return the even size up to 2,048 whose count, which grows with the size, is nearest to the wanted one."""
    sizes = range(2, 2049, 2)
    place = bisect_left(sizes, wanted, key=count)
    return min(sizes[max(place - 1, 0) : place + 1], key=lambda size: abs(count(size) - wanted))
