# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Features of real networks in the order of halves: which become real and imaginary parts, and weights that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ..kernels.linear import widely_parts
from ..nn.checks import check_choice

__all__ = ["PAIRINGS", "halves_of_heads", "learned", "moved", "pairing_order", "widely_linear_state"]

PAIRINGS = ("halves", "interleaved")
PARTS = ("real", "imag", "conj_real", "conj_imag")
# Numbers that follow from the configuration; older files hold them.
_BUFFERS = ("rotary_emb.inv_freq", "embeddings.position_ids", "embeddings.token_type_ids")


def learned(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that a network has learned, without those that follow from its configuration."""
    return {name: value for name, value in weights.items() if not name.endswith(_BUFFERS)}


def pairing_order(pairing: str | Sequence[int] | Tensor, width: int) -> Tensor:
    """The features of the real stream in the order of halves: real parts, then imaginary parts.

    Raises:
        ValueError: an unknown name, or not every feature once.
    """
    if isinstance(pairing, str):
        check_choice("pairing", pairing, PAIRINGS, "; or give the features in their new order")
        order = torch.arange(width)
        return order if pairing == "halves" else order.view(-1, 2).t().flatten()
    try:
        order = torch.as_tensor(pairing)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"pairing must be one of {PAIRINGS}, or numbers of features, got {pairing!r}") from error
    if order.is_floating_point() or order.is_complex() or order.dtype == torch.bool:
        raise ValueError(f"pairing must hold whole numbers, the features in their new order, got {order.dtype}")
    if order.shape != (width,) or not torch.equal(order.sort().values, torch.arange(width, device=order.device)):
        raise ValueError(f"pairing must hold each of the {width} features once, got a sequence of shape "
                         f"{tuple(order.shape)} with {len(order.unique())} different ones")  # fmt: skip
    return order


def halves_of_heads(heads: int, width: int, rotary_dim: int | None = None) -> Tensor:
    """Return the order in which features of heads become halves: real parts of all heads, then imaginary parts.

    Rotary positions pair feature k with k + R/2 of the first R = ``rotary_dim`` features of a head, default all; the
    features that do not rotate follow, paired in the same way.
    """
    part = width if rotary_dim is None else rotary_dim
    head = torch.arange(width)
    rotated, others = head[:part].view(2, -1), head[part:].view(2, -1)
    pairs = torch.cat([rotated, others], dim=1)  # [2, width / 2]
    return (pairs.unsqueeze(1) + width * torch.arange(heads).view(1, -1, 1)).flatten()


def moved(value: Tensor, axes: Sequence[str], orders: Mapping[str, Tensor]) -> Tensor:
    """A tensor with the features along each of its axes in their new order."""
    for axis, features in enumerate(axes):
        value = value.index_select(axis, orders[features].to(value.device))
    return value


def widely_linear_state(layer: str, matrix: Tensor) -> dict[str, Tensor]:
    """The weights of the ``WidelyLinear`` of this name that is a real matrix."""
    return {f"{layer}.{part}.weight": value for part, value in zip(PARTS, widely_parts(matrix), strict=True)}
