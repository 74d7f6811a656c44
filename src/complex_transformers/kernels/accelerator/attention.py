# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention by complex scores as a Triton kernel: which inputs it takes, how it is called, and its gradients.

Queries are ``[B, H, T, D]``, keys ``[B, H / G, S, D]``, values ``[B, H / G, S, D_v]``; D holds ``[real | imag]``
halves.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..dispatch import gradients_with_graph, run
from ..modulus_attention import moduli, stack
from . import switch
from .switch import DTYPES, is_compiled, may_run

__all__ = [
    "LARGEST_TILE",
    "LARGEST_WIDTH",
    "KernelAttention",
    "attention",
    "backward",
    "forward",
    "results",
    "takes_attention",
    "tile_sizes",
    "whole_mask",
]

LARGEST_WIDTH = 256  # 128 complex features
LARGEST_TILE = (64, 64)  # queries by keys
# What operands of a tile may take of a processor's shared memory, which is 99 KiB or more; what the smallest tiles of
# 256 float32 numbers take.
TILE_BYTES, WIDE_FLOAT32_BYTES = 2**16, 136 * 2**10
SCORES = ("real", "modulus", "bilinear_modulus")  # by number, as in the kernels


def takes_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, groups: int, score: str, is_causal: bool
) -> bool:
    """True where the kernel computes ``attention`` of these inputs."""
    if not may_run(query, key, value, in_graphs=True) or not query.dim() == key.dim() == value.dim() == 4:
        return False
    batch, heads, length, width = query.shape
    size = key.shape[2]
    if key.shape != (batch, heads // groups, size, width) or value.shape[:3] != key.shape[:3] or heads % groups:
        return False
    if max(width, value.shape[3]) > largest_width(query) or (width % 2 and score != "real"):
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
) -> Tensor:
    """softmax(|q k^H| scaling + mask) v, |q k^T| or Re(q k^H) by ``score``: the context ``[B, T, H, D_v]``.

    A mask is boolean (true attends) or additive; ``is_causal`` without one is that of T queries at the end of S keys.
    Memory is linear in both lengths, forward and backward.
    """
    number, seed = SCORES.index(score), torch.randint(2**62, ()) if dropout else None
    if is_compiled():
        from .attention_operator import attend  # registers it, which takes a while

        out, _, _ = attend(query, key, value, mask, number, scaling, groups, is_causal, dropout, seed)
    else:
        whole = whole_mask(mask, query, key)
        drop = (dropout, 0 if seed is None else int(seed))
        out, _, _ = run(KernelAttention, query, key, value, whole, number, scaling, groups, is_causal, *drop)
    return out.transpose(1, 2)


def whole_mask(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """A view ``[B, H, T, S]`` of a mask that broadcasts to it, or that goes on behind the keys."""
    size = key.shape[2]
    return None if mask is None else mask[..., :size].expand(*query.shape[:3], size)


def largest_width(query: Tensor) -> int:
    """Numbers of a head whose smallest tiles fit into the shared memory of the processor."""
    if query.element_size() == 2 or query.device.type != "cuda":
        return LARGEST_WIDTH
    memory = getattr(torch.cuda.get_device_properties(query.device), "shared_memory_per_block_optin", 0)
    return LARGEST_WIDTH if memory >= WIDE_FLOAT32_BYTES else LARGEST_WIDTH // 2


def tile_sizes(width: int, item_bytes: int) -> tuple[int, int]:
    """Queries and keys of a tile: powers of 2 whose operands fit, the queries' two and twice the keys' and values'."""
    queries, keys = LARGEST_TILE
    # float32 numbers are cut in three for their products: as many bytes again.
    budget = TILE_BYTES if item_bytes == 2 else TILE_BYTES // 2
    while (2 * queries + 4 * keys) * width * item_bytes > budget and max(queries, keys) > 16:
        queries, keys = (queries, keys // 2) if keys >= queries else (queries // 2, keys)
    return queries, keys


class Call:
    """The arguments that all kernels have in common, and a launch with them."""

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        score: int,
        scaling: float,
        groups: int,
        is_causal: bool,
        dropout: float,
        seed: int,
    ) -> None:
        _, heads, self.length, width = query.shape
        self.size, value_width = value.shape[2:]
        lowest = 0.0 if mask is None or mask.dtype == torch.bool else torch.finfo(mask.dtype).min
        sizes = (self.length, self.size, width, value_width)
        self.numbers = (heads, groups, *sizes, float(scaling), lowest, float(dropout), seed)
        padded = [max(16, 1 << (n - 1).bit_length()) for n in (width, value_width)]
        self.rows, self.columns = tile_sizes(max(padded), query.element_size())
        wide = max(padded) * query.element_size() > 256
        self.constants = {
            "SCORE": score,
            "MASK": 0 if mask is None else 1 if mask.dtype == torch.bool else 2,
            "CAUSAL": is_causal,
            "DROPOUT": dropout > 0.0,
            "PRECISION": precision(query.dtype),
            "M": self.rows,
            "N": self.columns,
            "D": padded[0],
            "V": padded[1],
            "num_warps": 8 if wide else 4,
            "num_stages": 1 if wide else 2,
        }

    def launch(self, kernel: Any, programs: int, tensors: list[Tensor], matrices: list[Tensor]) -> None:
        """Run ``kernel`` on ``tensors``, with the strides of ``matrices``."""
        strides = [tuple(matrix.stride()) for matrix in matrices]
        switch.launch(kernel, (programs,), *tensors, *strides, *self.numbers, **self.constants)


def precision(dtype: torch.dtype) -> str:
    """How float32 numbers are multiplied: as exactly as ``torch.set_float32_matmul_precision`` asks for."""
    return "tf32x3" if dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest" else "tf32"


def _readable(mask: Tensor | None, otherwise: Tensor) -> Tensor:
    """A mask as bytes or floating numbers; any tensor where there is none, for it is not read."""
    if mask is None:
        return otherwise
    return mask.view(torch.uint8) if mask.dtype == torch.bool else mask


def _plain(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    score: int,
    scaling: float,
    groups: int,
    is_causal: bool,
    dropout: float,
    seed: int,
) -> tuple[Tensor]:
    """The same by operations that autograd knows, with all scores at once; dropout drops the same weights."""
    length, size = query.shape[2], key.shape[2]
    q, k, v = (x.float() for x in (query, key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)))
    if SCORES[score] == "real":
        scores = q @ k.mT
    else:
        scores = moduli(*(stack(q, SCORES[score] == "bilinear_modulus") @ k.mT).chunk(2, dim=-2))
    scores, lowest = scores * scaling, torch.finfo(torch.float32).min
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, lowest)
    elif mask is not None:
        scores = (scores + mask.float()).masked_fill(mask <= torch.finfo(mask.dtype).min, lowest)
    if is_causal:
        after = torch.ones(length, size, dtype=torch.bool, device=query.device).triu(size - length + 1)
        scores = scores.masked_fill(after, lowest)
    weights = torch.softmax(scores, dim=-1)
    if dropout:
        weights = weights * keep_factors(weights, dropout, seed)
    return ((weights @ v).to(value.dtype),)


def keep_factors(weights: Tensor, dropout: float, seed: int) -> Tensor:
    """What the kernels multiply ``weights [B, H, T, S]`` by: 0 or 1 / (1 - dropout)."""
    from . import attention_kernels as kernels

    batch, heads, length, size = weights.shape
    out = torch.empty(weights.shape, dtype=torch.float32, device=weights.device)
    programs = batch * heads * -(-length // 16) * -(-size // 16)
    switch.launch(kernels.keep_factors, (programs,), out, length, size, dropout, seed, M=16, N=16)
    return out


def results(query: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Memory for the context ``[B, H, T, D_v]``, and for each query's largest score and sum of exponentials."""
    batch, heads, length, _ = query.shape
    out = value.new_empty(batch, length, heads, value.shape[-1]).transpose(1, 2)
    row_max, row_sum = (query.new_empty(batch, heads, length, dtype=torch.float32) for _ in range(2))
    return out, row_max, row_sum


def forward(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *rest: Any) -> tuple[Tensor, ...]:
    """Run the kernel: the arguments of ``Call`` to its ``results``."""
    from . import attention_kernels as kernels

    call = Call(query, key, value, mask, *rest)
    out, row_max, row_sum = results(query, value)
    matrices = [query, key, value, _readable(mask, query), out]
    programs = query.shape[0] * query.shape[1] * -(-call.length // call.rows)
    call.launch(kernels.forward, programs, [*matrices, row_max, row_sum], matrices)
    return out, row_max, row_sum


def backward(given: tuple[Any, ...], found: tuple[Tensor, ...], grad: Tensor) -> list[Tensor]:
    """Gradients of queries, keys and values, from the arguments and results of ``forward``."""
    from . import attention_kernels as kernels

    call, (query, key, value, mask) = Call(*given), given[:4]
    out, row_max, row_sum = found
    grads = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in (query, key, value)]
    inner = torch.empty_like(row_max)
    read, heads = _readable(mask, query), query.shape[0] * query.shape[1]
    inputs = [query, key, value, read]
    tensors = [*inputs, out, row_max, row_sum, grad, inner, grads[0]]
    matrices = [*inputs, out, grad, grads[0]]
    call.launch(kernels.backward_query, heads * -(-call.length // call.rows), tensors, matrices)
    tensors = [*inputs, row_max, row_sum, grad, inner, *grads[1:]]
    matrices = [*inputs, grad, *grads[1:]]
    key_heads = key.shape[0] * key.shape[1]
    call.launch(kernels.backward_key, key_heads * -(-call.size // call.columns), tensors, matrices)
    return grads


class KernelAttention(torch.autograd.Function):
    """The context ``[B, H, T, D_v]``, and of each query its largest score and its sum of exp(score - largest).

    The backward pass computes the scores again from these two: once for the queries, once for the keys and values.
    """

    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *rest: Any) -> tuple[Tensor, ...]:
        return forward(query, key, value, mask, *rest)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        query, key, value, mask, *ctx.rest = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # none are made for these
        ctx.save_for_backward(query, key, value, mask, *output)

    @staticmethod
    def backward(ctx, grad: Tensor, *_):  # type: ignore[no-untyped-def]
        query, key, value, mask, out, row_max, row_sum = ctx.saved_tensors
        if torch.is_grad_enabled():  # a graph of the gradient is wanted
            given = query, key, value, mask, *ctx.rest
            return gradients_with_graph(_plain, given, ctx.needs_input_grad, (grad,))
        grads = backward((query, key, value, mask, *ctx.rest), (out, row_max, row_sum), grad)
        return *grads, *(None for _ in ctx.rest), None
