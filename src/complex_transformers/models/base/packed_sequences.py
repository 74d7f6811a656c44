# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed sequences: several sequences in a row without padding, as ``DataCollatorWithFlattening`` creates them."""

from __future__ import annotations

import torch
from torch import Tensor

from .inputs import padding_mask

__all__ = ["check_one_sequence", "counted_from_one", "sequence_ids"]


def counted_from_one(position_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor | None:
    """Return positions that count from 1; a row with a token at position 0, as in Transformers, is shifted by 1."""
    if position_ids is None:
        return None
    first = position_ids == 0
    tokens = padding_mask(attention_mask)
    if tokens is not None and tokens.shape == first.shape:  # positions of padding are arbitrary
        first = first & tokens
    return position_ids + first.any(-1, keepdim=True)


def sequence_ids(position_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor | None:
    """Return the index of the packed sequence of every token, ``[B, N]``; None if every row is one sequence.

    A sequence starts where positions return to the first one of the row. With a mask a row is one sequence, as in
    Transformers: positions of padding are arbitrary.
    """
    if position_ids is None or attention_mask is not None:
        return None
    begins = position_ids == position_ids[:, :1]
    if not torch.compiler.is_compiling() and int(begins.sum()) == len(begins):
        return None
    return begins.cumsum(-1)


def check_one_sequence(position_ids: Tensor | None, attention_mask: Tensor | None) -> None:
    """Raise if a row has several packed sequences, for heads with one output per row."""
    if not torch.compiler.is_compiling() and sequence_ids(position_ids, attention_mask) is not None:
        raise ValueError(
            "This head gives one output per row, but position_ids restart within a row (packed sequences). "
            "Pad instead: one sequence per row."
        )
