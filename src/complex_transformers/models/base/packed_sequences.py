# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Several texts in a row, one after the other without padding, as ``DataCollatorWithFlattening`` makes them."""

from __future__ import annotations

import torch
from torch import Tensor

from .inputs import (
    padding_mask,
)

__all__ = ["check_one_text", "counted_from_one", "text_numbers"]


def counted_from_one(position_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor | None:
    """Positions from 1 on: a row of those of Transformers, which has a token at 0, is one further."""
    if position_ids is None:
        return None
    first = position_ids == 0
    tokens = padding_mask(attention_mask)
    if tokens is not None and tokens.shape == first.shape:  # positions of padding say nothing
        first = first & tokens
    return position_ids + first.any(-1, keepdim=True)


def text_numbers(position_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor | None:
    """Which text of its row a token belongs to, ``[B, N]`` as positions are; None where every row is one text.

    A text begins where the positions are at the first one of the row again. With a mask a row is one text, as it is
    for Transformers: positions of padding say nothing.
    """
    if position_ids is None or attention_mask is not None:
        return None
    begins = position_ids == position_ids[:, :1]
    if not torch.compiler.is_compiling() and int(begins.sum()) == len(begins):
        return None
    return begins.cumsum(-1)


def check_one_text(position_ids: Tensor | None, attention_mask: Tensor | None) -> None:
    """Raise where a row has several texts: what is said of a whole row is said of one text."""
    if not torch.compiler.is_compiling() and text_numbers(position_ids, attention_mask) is not None:
        raise ValueError(
            "This head gives one output per row, but position_ids restart within a row (packed sequences). "
            "Pad instead: one sequence per row."
        )
