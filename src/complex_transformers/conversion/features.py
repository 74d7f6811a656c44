# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Reorder the features of real networks into ``[real | imag]`` halves, and split real matrices accordingly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ..kernels.linear import widely_parts
from ..nn.checks import check_choice

__all__ = ["PAIRINGS", "halves_of_heads", "learned", "moved", "pairing_order", "widely_linear_state"]

PAIRINGS = ("halves", "interleaved")
PARTS = ("real", "imag", "conj_real", "conj_imag")
# Buffers that are computed from the configuration; older files hold them.
_BUFFERS = ("rotary_emb.inv_freq", "embeddings.position_ids", "embeddings.token_type_ids")


def learned(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the parameters of a state dict, without buffers that are computed from the configuration."""
    return {name: value for name, value in weights.items() if not name.endswith(_BUFFERS)}


def pairing_order(pairing: str | Sequence[int] | Tensor, width: int) -> Tensor:
    """Return the features of the residual stream in the order of halves: real parts, then imaginary parts.

    Raises:
        ValueError: an unknown name, or indices that are not a permutation of the features.
    """
    if isinstance(pairing, str):
        check_choice("pairing", pairing, PAIRINGS, "; or give the features in their new order")
        order = torch.arange(width)
        return order if pairing == "halves" else order.view(-1, 2).t().flatten()
    order = torch.as_tensor(pairing)
    if order.dim() != 1 or sorted(order.tolist()) != list(range(width)):
        raise ValueError(f"pairing must be a permutation of range({width}), got shape {tuple(order.shape)}: {pairing}")
    return order.long()


def halves_of_heads(heads: int, width: int, rotary_dim: int | None = None) -> Tensor:
    """Return the features of real heads in the order of halves: real parts of all heads, then imaginary parts.

    Rotary positions pair feature k with k + R/2 of the first R = ``rotary_dim`` features of a head (default: all). The
    features without rotation follow, paired in the same way.
    """
    part = width if rotary_dim is None else rotary_dim
    head = torch.arange(width)
    rotated, others = head[:part].view(2, -1), head[part:].view(2, -1)
    pairs = torch.cat([rotated, others], dim=1)  # [2, width / 2]
    return (pairs.unsqueeze(1) + width * torch.arange(heads).view(1, -1, 1)).flatten()


def moved(name: str, value: Tensor, axes: Sequence[str], orders: Mapping[str, Tensor]) -> Tensor:
    """Return a tensor with the features along each axis reordered.

    Raises:
        ValueError: another shape (``index_select`` would silently drop features), or integers.
    """
    shape = tuple(len(orders[axis]) for axis in axes)
    if value.shape != shape or not value.is_floating_point():
        raise ValueError(f"{name} must have floats of shape {shape}, got {value.dtype} of {tuple(value.shape)}.")
    for axis, features in enumerate(axes):
        value = value.index_select(axis, orders[features].to(value.device))
    return value


def widely_linear_state(layer: str, matrix: Tensor) -> dict[str, Tensor]:
    """Return the state dict of a ``WidelyLinear`` of this name that equals a real matrix."""
    return {f"{layer}.{part}.weight": value for part, value in zip(PARTS, widely_parts(matrix), strict=True)}
