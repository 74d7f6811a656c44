# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Launches of the attention kernels, their gradients, and the autograd function of eager mode.

Queries are ``[B, H, T, D]``, keys ``[B, H / G, S, D]``, values ``[B, H / G, S, D_v]``; D holds ``[real | imag]``
halves.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..attention_weights import plain_weights
from ..dispatch import gradients_with_graph
from ..modulus_attention import moduli, stack
from . import attention_tuning, switch

__all__ = ["LARGEST_TILE", "SCORES", "KernelAttention", "backward", "forward", "results", "tile_sizes", "whole_mask"]

LARGEST_TILE = (64, 64)  # queries by keys
TILE_BYTES = 2**16  # of shared memory for the operands of a tile; a processor has 99 KiB or more
SMALLEST_SCALING = 1e-6  # a smaller or negative factor is multiplied before the softmax takes differences
SCORES = ("modulus", "bilinear_modulus", "real")  # the index is the SCORE constant of the kernels


def whole_mask(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """Broadcast a mask to a view ``[B, H, T, S]``, without the columns beyond the keys."""
    size = key.shape[2]
    return None if mask is None else mask[..., :size].expand(*query.shape[:3], size)


def tile_sizes(width: int, item_bytes: int) -> tuple[int, int]:
    """Return queries and keys per tile: powers of 2 whose operands fit (2 of queries, 4 of keys and values)."""
    queries, keys = LARGEST_TILE
    # tf32x3 splits a float32 operand in three, which takes twice the bytes.
    budget = TILE_BYTES if item_bytes == 2 else TILE_BYTES // 2
    while (2 * queries + 4 * keys) * width * item_bytes > budget and max(queries, keys) > 16:
        queries, keys = (queries, keys // 2) if keys >= queries else (queries // 2, keys)
    return queries, keys


class Call:
    """Arguments common to all kernels, and a launch with them."""

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        score: int,
        scaling: float,
        groups: int,
        is_causal: bool,
        dropout: float,
        seed: int | Tensor,
    ) -> None:
        _, heads, self.length, width = query.shape
        self.size, value_width = value.shape[2:]
        lowest = 0.0 if mask is None or mask.dtype == torch.bool else torch.finfo(mask.dtype).min
        sizes = (self.length, self.size, width, value_width)
        self.length_class = attention_tuning.bucket(self.length, self.size)
        self.numbers = (heads, groups, *sizes, float(scaling), lowest, float(dropout), seed, self.length_class)
        padded = [max(16, 1 << (n - 1).bit_length()) for n in (width, value_width)]
        queries, keys = tile_sizes(max(padded), query.element_size())
        mask_kind = 0 if mask is None else 1 if mask.dtype == torch.bool else 2
        wide = max(padded) * query.element_size() > 256
        self.constants = {
            "SCORE": score,
            "SIGMOID": bias is not None,
            "SCALED": bias is not None or mask_kind == 2 or scaling < SMALLEST_SCALING,
            "MASK": mask_kind,
            "CAUSAL": is_causal,
            "DROPOUT": dropout > 0.0,
            "PRECISION": precision(query.dtype),
            "D": padded[0],
            "V": padded[1],
        }
        self.fixed = {"M": queries, "N": keys, "num_warps": 8 if wide else 4, "num_stages": 1 if wide else 2}

    def launch(self, kernel: Any, heads: int, side: str, tensors: list[Tensor], matrices: list[Tensor]) -> None:
        """Run ``kernel`` on ``tensors``, with the strides of ``matrices`` and one program per tile of a side."""
        count = self.length if side == "M" else self.size
        arguments = [*tensors, *(tuple(matrix.stride()) for matrix in matrices), *self.numbers]

        def grid(constants: dict[str, Any]) -> tuple[int]:
            return (heads * -(-count // constants[side]),)

        chosen = attention_tuning.tiles(kernel, grid, arguments, self.constants, self.fixed, self.length_class)
        switch.launch(kernel, grid(chosen), *arguments, **self.constants, **chosen)


def precision(dtype: torch.dtype) -> str:
    """Return Triton's ``input_precision`` for ``torch.set_float32_matmul_precision``."""
    return "tf32x3" if dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest" else "tf32"


def _readable(mask: Tensor | None, otherwise: Tensor) -> Tensor:
    """Return a boolean mask as bytes; without a mask any tensor, since the kernel does not read it."""
    if mask is None:
        return otherwise
    return mask.view(torch.uint8) if mask.dtype == torch.bool else mask


def _plain(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    score: int,
    scaling: float,
    groups: int,
    is_causal: bool,
    dropout: float,
    seed: int | Tensor,
) -> tuple[Tensor]:
    """Compute the same with differentiable operations and a full score matrix; dropout uses the same factors."""
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
    weights = plain_weights(scores, None, None if bias is None else bias.float())
    if dropout:
        weights = weights * keep_factors(weights, dropout, seed)
    return ((weights @ v).to(value.dtype),)


def keep_factors(weights: Tensor, dropout: float, seed: int | Tensor) -> Tensor:
    """Return the dropout factors of the kernels, 0 or 1 / (1 - dropout), for ``weights [B, H, T, S]``."""
    from . import attention_kernels as kernels

    batch, heads, length, size = weights.shape
    out = torch.empty(weights.shape, dtype=torch.float32, device=weights.device)
    programs = batch * heads * -(-length // 16) * -(-size // 16)
    switch.launch(kernels.keep_factors, (programs,), out, length, size, dropout, seed, M=16, N=16)
    return out


def results(query: Tensor, value: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Allocate the context ``[B, H, T, D_v]`` and, per query, the maximum and the sum of a softmax.

    With the bias of a sigmoid there are no maxima and sums: two tensors without elements.
    """
    batch, heads, length, _ = query.shape
    out = value.new_empty(batch, length, heads, value.shape[-1]).transpose(1, 2)
    shape = (batch, heads, length) if bias is None else (0,)
    row_max, row_sum = (query.new_empty(shape, dtype=torch.float32) for _ in range(2))
    return out, row_max, row_sum


def forward(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None, *rest: Any
) -> tuple[Tensor, ...]:
    """Run the forward kernel with the arguments of ``Call``; return the outputs of ``results``."""
    from . import attention_kernels as kernels

    call = Call(query, key, value, mask, bias, *rest)
    out, row_max, row_sum = results(query, value, bias)
    inputs = [query, key, value, _readable(mask, query)]
    tensors = [*inputs, _readable(bias, query), out, row_max, row_sum]
    call.launch(kernels.forward, query.shape[0] * query.shape[1], "M", tensors, [*inputs, out])
    return out, row_max, row_sum


def backward(given: tuple[Any, ...], found: tuple[Tensor, ...], grad: Tensor) -> list[Tensor]:
    """Compute the gradients of queries, keys, values and bias from the arguments and results of ``forward``.

    Without a bias its gradient has no elements.
    """
    from . import attention_kernels as kernels

    call, (query, key, value, mask, bias) = Call(*given), given[:5]
    out, row_max, row_sum = found
    grads = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in (query, key, value)]
    inner = query.new_empty(query.shape[:3], dtype=torch.float32)
    inputs, shift = [query, key, value, _readable(mask, query)], _readable(bias, query)
    tensors = [*inputs, shift, out, row_max, row_sum, grad, inner, grads[0]]
    matrices = [*inputs, out, grad, grads[0]]
    call.launch(kernels.backward_query, query.shape[0] * query.shape[1], "M", tensors, matrices)
    tensors = [*inputs, shift, row_max, row_sum, grad, inner, *grads[1:]]
    matrices = [*inputs, grad, *grads[1:]]
    call.launch(kernels.backward_key, key.shape[0] * key.shape[1], "N", tensors, matrices)
    return [*grads, query.new_empty(0) if bias is None else inner.sum().to(bias.dtype).view(bias.shape)]


class KernelAttention(torch.autograd.Function):
    """Attention with recomputed scores: returns the context ``[B, H, T, D_v]``, row maxima and row sums.

    The backward pass recomputes the weights from maxima and sums, or from the bias of a sigmoid: once for the queries,
    once for keys and values.
    """

    @staticmethod
    def forward(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None, *rest: Any
    ) -> tuple[Tensor, ...]:
        return forward(query, key, value, mask, bias, *rest)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        query, key, value, mask, bias, *ctx.rest = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # no zeros for maxima and sums
        ctx.save_for_backward(query, key, value, mask, bias, *output)

    @staticmethod
    def backward(ctx, grad: Tensor, *_):  # type: ignore[no-untyped-def]
        query, key, value, mask, bias, *found = ctx.saved_tensors
        given = query, key, value, mask, bias, *ctx.rest
        if torch.is_grad_enabled():  # create_graph=True
            return gradients_with_graph(_plain, given, ctx.needs_input_grad, (grad,))
        *grads, of_bias = backward(given, tuple(found), grad)
        return *grads, None, None if bias is None else of_bias, *(None for _ in ctx.rest)
