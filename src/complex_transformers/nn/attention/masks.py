# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Masks of attention: boolean ones, additive ones and causality."""

from __future__ import annotations

import math
from functools import reduce

import torch
from torch import Tensor, nn


def join_masks(*masks: Tensor | None) -> Tensor | None:
    """Return one mask that hides what any of ``masks`` (boolean with True = attend, or additive) hides."""
    given = [mask for mask in masks if mask is not None]
    if len(given) < 2:
        return given[0] if given else None
    if all(mask.dtype == torch.bool for mask in given):
        return reduce(torch.logical_and, given)
    zero = next(mask.new_zeros(()) for mask in given if mask.dtype != torch.bool)
    return reduce(torch.add, [zero.where(mask, -math.inf) if mask.dtype == torch.bool else mask for mask in given])


def check_mask_dtype(name: str, mask: Tensor, meaning: str) -> None:
    """Raise for an integer mask: conventions differ on what 1 means."""
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise TypeError(
            f"{name} must be boolean (True {meaning}) or floating point (added to scores), got {mask.dtype}. "
            f"Use {name}.bool() if 1 {meaning}."
        )


def torch_mask(name: str, mask: Tensor | None) -> Tensor | None:
    """Return a mask of ``torch.nn``, where True hides, as one where True attends; floating-point masks stay."""
    if mask is None:
        return None
    check_mask_dtype(name, mask, "hides")
    return ~mask if mask.dtype == torch.bool else mask


def causal_mask(length: int, size: int, device: torch.device) -> Tensor:
    """Return which of ``size`` keys each of the last ``length`` positions attends to, ``[length, size]``."""
    return torch.ones(length, size, dtype=torch.bool, device=device).tril(size - length)


def resolve_causality(
    module: nn.Module, mask: Tensor | None, is_causal: bool | None, query: Tensor, key: Tensor
) -> tuple[Tensor | None, bool]:
    """Return the mask, and whether later keys must be hidden in addition: only without a mask."""
    length, size = query.shape[-2], key.shape[-2]
    if is_causal is None:
        is_causal = mask is None and getattr(module, "is_causal", False)
    if is_causal and mask is not None:
        return join_masks(mask, causal_mask(length, size, query.device)), False
    return mask, is_causal and length > 1


def additive_mask(mask: Tensor | None, is_causal: bool, length: int, size: int, like: Tensor) -> Tensor | None:
    """Return a mask (None, boolean with True = attend, or additive) as an additive one of the dtype of ``like``."""
    if mask is None:
        if not is_causal:
            return None
        mask = causal_mask(length, size, like.device)
    check_mask_dtype("attention_mask", mask, "attends")
    if mask.dtype == torch.bool:
        removed, mask = ~mask, torch.zeros(mask.shape, dtype=like.dtype, device=mask.device)
    else:  # the lowest value of a narrow dtype is not low enough for wide scores
        removed, mask = mask <= torch.finfo(mask.dtype).min, mask.to(like.dtype)
    return mask.masked_fill(removed, torch.finfo(like.dtype).min)[..., :size]
