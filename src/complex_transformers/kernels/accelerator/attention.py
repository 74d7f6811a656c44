# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention with complex scores by Triton kernels: which inputs are supported, and the call.

Queries are ``[B, H, T, D]``, keys ``[B, H / G, S, D]``, values ``[B, H / G, S, D_v]``; D holds ``[real | imag]``
halves.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..dispatch import run
from .attention_launch import SCORES, KernelAttention, whole_mask
from .switch import DTYPES, draw_seed, is_compiled, may_run

__all__ = ["LARGEST_WIDTH", "attention", "takes_attention"]

LARGEST_WIDTH = 256  # 128 complex features
WIDE_FLOAT32_BYTES = 136 * 2**10  # shared memory of the smallest tiles with 256 float32 elements per row


def takes_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    groups: int,
    score: str,
    is_causal: bool,
    normalization: str = "softmax",
) -> bool:
    """Return whether the kernel supports these inputs of ``attention``; PyTorch has the softmax of real scores."""
    if normalization not in ("softmax", "sigmoid") or (score, normalization) == ("real", "softmax"):
        return False
    if score not in SCORES or not may_run(query, key, value, in_graphs=True):
        return False
    if not query.dim() == key.dim() == value.dim() == 4:
        return False
    batch, heads, length, width = query.shape
    size = key.shape[2]
    if key.shape != (batch, heads // groups, size, width) or value.shape[:3] != key.shape[:3] or heads % groups:
        return False
    if max(width, value.shape[3]) > largest_width(query) or width % 2:
        return False
    if is_causal and length > size:  # queries before the first key
        return False
    if torch.is_autocast_enabled(query.device.type) and query.dtype != torch.get_autocast_dtype(query.device.type):
        return False
    if mask is None:
        return True
    if mask.device != query.device or mask.dtype not in (torch.bool, *DTYPES) or mask.requires_grad or mask.dim() > 4:
        return False
    *shape, columns = (1,) * (4 - mask.dim()) + tuple(mask.shape)
    fits = all(given in (1, wanted) for given, wanted in zip(shape, (batch, heads, length), strict=True))
    return fits and (columns == 1 or columns >= size)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    score: str,
    scaling: float,
    groups: int = 1,
    *,
    is_causal: bool = False,
    dropout: float = 0.0,
    bias: Tensor | None = None,
) -> Tensor:
    """Compute softmax(s scaling + mask) v, the context ``[B, T, H, D_v]``.

    The score s is |q k^H| (``modulus``), |q k^T| (``bilinear_modulus``) or Re(q k^H) (``real``). With a bias ``[1]``
    the weights are sigmoid(s scaling + mask + bias). A mask is boolean (true attends) or additive. ``is_causal``
    aligns the last query with the last key. Memory is linear in both lengths, forward and backward.
    """
    number, seed = SCORES.index(score), draw_seed(query) if dropout else None
    if is_compiled():
        from .attention_operator import attend  # imported late: registering an operator is slow

        out, _, _ = attend(query, key, value, mask, bias, number, scaling, groups, is_causal, dropout, seed)
    else:
        whole = whole_mask(mask, query, key)
        drop = (dropout, 0 if seed is None else seed)
        out, _, _ = run(KernelAttention, query, key, value, whole, bias, number, scaling, groups, is_causal, *drop)
    return out.transpose(1, 2)


def largest_width(query: Tensor) -> int:
    """Return the largest head width whose smallest tiles fit into the GPU's shared memory."""
    if query.element_size() == 2 or query.device.type != "cuda":
        return LARGEST_WIDTH
    memory = getattr(torch.cuda.get_device_properties(query.device), "shared_memory_per_block_optin", 0)
    return LARGEST_WIDTH if memory >= WIDE_FLOAT32_BYTES else LARGEST_WIDTH // 2
