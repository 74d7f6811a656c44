# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Positions of new tokens after the tokens of a cache: real tokens are counted, padding is not."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...nn.embedding import positions_from_mask
from .inputs import check_position_ids, padding_mask, shows_values

__all__ = ["check_stream_positions", "packed_positions", "periodic", "token_positions"]

# Additive masks hide keys at this value and below: exp(-1e4) is 0 in every dtype.
HIDDEN = -1e4


def token_positions(input_ids: Tensor, attention_mask: Tensor | None, past_length: int | Tensor) -> Tensor:
    """Return positions, counted from 1, of new tokens ``[B, T]`` after cached ones: ``[B, T]`` or ``[1, T]``.

    ``attention_mask`` is ``[B, past + T]``, or ``[B, 1, T, keys]`` with True, or a value above ``HIDDEN``, for the
    keys that a token attends to: the keys up to its own are counted.

    Raises:
        ValueError: a 4-axis mask of another length, or with a sliding window, inside which positions would not grow.
    """
    if attention_mask is None:
        return positions_from_mask(input_ids) + past_length
    if attention_mask.dim() == 2:
        return positions_from_mask(input_ids, attention_mask)[:, -input_ids.shape[1] :]
    visible = (attention_mask if attention_mask.dtype == torch.bool else attention_mask > HIDDEN)[:, 0]
    count = input_ids.shape[1]
    if shows_values(visible) and (visible.shape[1] != count or visible.shape[2] < past_length + count):
        raise ValueError(
            f"attention_mask must be [batch, 1, {count} new tokens, {int(past_length) + count} or more keys], got "
            f"{tuple(attention_mask.shape)}."
        )
    keys = torch.arange(visible.shape[-1], device=visible.device)
    queries = past_length + torch.arange(visible.shape[-2], device=visible.device)
    positions = (visible & (keys <= queries.unsqueeze(-1))).sum(-1).clamp(min=1)
    if shows_values(visible):
        _check_windows(visible[:, 1:], queries[1:], positions.diff())
    return positions


def packed_positions(
    position_ids: Tensor | None, tokens: Tensor | None, cu_seq_lens_q: Tensor | None = None, **kwargs: Any
) -> Tensor | None:
    """Return ``position_ids`` or, without them, ``[1, N]`` from 0 that restart at ``cu_seq_lens_q``, if given.

    ``tokens [1, N, ...]`` are ids or embeddings.
    """
    if position_ids is not None or cu_seq_lens_q is None or tokens is None:
        return position_ids
    index = torch.arange(tokens.shape[1], device=cu_seq_lens_q.device)
    sequence = torch.searchsorted(cu_seq_lens_q.long(), index, right=True) - 1
    return (index - cu_seq_lens_q[sequence]).unsqueeze(0)


def check_stream_positions(
    position_ids: Tensor | None, input_ids: Tensor, attention_mask: Tensor | None, past_length: int
) -> None:
    """Raise unless ``position_ids [B or 1, T]`` count the tokens of a stream from 0, as the model itself does."""
    if position_ids is None or torch.compiler.is_compiling():
        return
    check_position_ids(position_ids, tuple(input_ids.shape))
    expected = token_positions(input_ids, attention_mask, past_length) - 1
    differs = position_ids != expected
    mask = padding_mask(attention_mask)
    wrong = differs if mask is None else differs & mask[:, -input_ids.shape[1] :]
    if bool(wrong.any()):
        found, right = (int(ids.expand_as(wrong)[wrong][0]) for ids in (position_ids, expected))
        raise ValueError(
            f"position_ids must count the tokens of a stream from 0, got {found} instead of {right}. Leave them out; "
            "pad instead of packing sequences."
        )


def periodic(positions: Tensor, period: int | None) -> Tensor:
    """Return positions from 1 that restart after ``period`` tokens; None for no restart."""
    return positions if period is None else (positions - 1) % period + 1


def _check_windows(visible: Tensor, queries: Tensor, steps: Tensor) -> None:
    """Raise if a token attends to itself and its predecessor, but not to all keys of its predecessor.

    Args:
        visible: ``[B, T, keys]``, the keys that each token attends to.
        queries: ``[T]``, the index of each token among the keys.
        steps: ``[B, T]``, the difference of its position to the position before.
    """
    to_itself, to_predecessor = (
        visible.gather(-1, index.view(1, -1, 1).expand(len(visible), -1, 1)).squeeze(-1)
        for index in (queries, queries - 1)
    )
    if bool((to_itself & to_predecessor & (steps != 1)).any()):
        raise ValueError(
            "attention_mask must not be a sliding window, since positions count visible keys. Let a token attend to "
            "all earlier tokens of its sequence."
        )
