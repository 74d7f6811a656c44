# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Graph convolution over tokens, in both number fields (Kipf & Welling 2017; ComplexOrder slides)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..kernels.dispatch import shows_values
from .arithmetic import arithmetic
from .checks import check_positive, check_shape
from .linear import ComplexLinear, RealLinear

__all__ = ["GraphConvolution", "normalize_adjacency", "window_adjacency"]


def window_adjacency(mask: Tensor, window: int) -> Tensor:
    """Connect real tokens at most ``window`` apart: ``[B, N] -> [B, N, N]`` of 0 and 1, without loops.

    Distances count real tokens only, so padding changes nothing.

    Raises:
        ValueError: ``window`` below 1.
    """
    check_positive(window=window)
    keep = mask.to(torch.bool)
    position = keep.long().cumsum(-1)
    distance = (position.unsqueeze(-1) - position.unsqueeze(-2)).abs()
    edges = (distance <= window) & (distance > 0) & _pairs(keep)
    return edges.to(torch.get_default_dtype())


def normalize_adjacency(adjacency: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute D^(-1/2) (A + I) D^(-1/2) with the row sums D of A + I (Kipf & Welling 2017, Eq. 2), ``[B, N, N]``.

    A directed edge counts in both directions. Tokens where ``mask [B, N]`` is false have no edge and no loop.

    Raises:
        ValueError: an adjacency that is not square or does not fit the mask; on the CPU, a negative or non-finite
            weight.
    """
    if adjacency.dim() != 3 or adjacency.shape[-1] != adjacency.shape[-2]:
        raise ValueError(f"adjacency must be [batch, length, length], got shape {tuple(adjacency.shape)}")
    if mask is not None:
        check_shape("mask", mask, adjacency.shape[:2], " (the batch and length of adjacency)")
    adjacency = adjacency if adjacency.is_floating_point() else adjacency.to(torch.get_default_dtype())
    if shows_values(adjacency):
        weights = adjacency if mask is None else adjacency.masked_fill(~_pairs(mask), 0.0)
        if (wrong := weights[~torch.isfinite(weights) | (weights < 0)]).numel():
            raise ValueError(f"adjacency must be finite and non-negative, got {wrong[0]:g}")
    adjacency = torch.maximum(adjacency, adjacency.transpose(-1, -2))
    adjacency = adjacency + torch.eye(adjacency.shape[-1], dtype=adjacency.dtype, device=adjacency.device)
    if mask is not None:
        adjacency = adjacency.masked_fill(~_pairs(mask), 0.0)
    root = adjacency.sum(-1).clamp(min=torch.finfo(adjacency.dtype).tiny).rsqrt()
    return adjacency * root.unsqueeze(-1) * root.unsqueeze(-2)


def _pairs(mask: Tensor) -> Tensor:
    """Return which pairs of tokens are both real: ``[B, N] -> [B, N, N]``."""
    keep = mask.to(torch.bool)
    return keep.unsqueeze(-1) & keep.unsqueeze(-2)


class GraphConvolution(nn.Module):
    """Graph convolution A Z W + b with a normalised adjacency A (Kipf & Welling 2017), ``[B, N, in] -> [B, N, out]``.

    In the complex field W is complex; A is real, mixes tokens and does not rotate features.

    Args:
        in_features, out_features: stored widths.
        bias: add b.
        number_field: ``"complex"`` or ``"real"``.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, number_field: str = "complex") -> None:
        super().__init__()
        arithmetic(number_field)
        linear = {"complex": ComplexLinear, "real": RealLinear}[number_field]
        self.linear = linear(in_features, out_features, bias=bias)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """Convolve with ``adjacency [B, N, N]`` of ``normalize_adjacency``; ``x`` must be finite at padding too."""
        return self.linear(adjacency.to(x.dtype) @ x)
