# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention as a custom operator for ``torch.compile``, which would otherwise store the full score matrix.

Arguments as in ``attention_launch.Call``, with two differences: the mask may have any broadcastable shape, so that
graphs do not materialize it; the dropout seed is a tensor on the device, so that neither graphs of the compiler nor
CUDA graphs repeat it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .attention_launch import backward, forward, results, whole_mask

__all__ = ["attend"]

_GIVEN = (
    "Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor? bias, int score, float scaling, int groups, "
    "bool is_causal, float dropout, Tensor? seed"
)
_FOUND = "Tensor context, Tensor row_max, Tensor row_sum"


def _whole(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *rest: Any) -> tuple[Any, ...]:
    """Return the arguments of ``Call``."""
    *numbers, seed = rest
    return query, key, value, whole_mask(mask, query, key), *numbers, 0 if seed is None else seed


@torch.library.custom_op(
    "complex_transformers::attention", mutates_args=(), schema=f"({_GIVEN}) -> (Tensor, Tensor, Tensor)"
)
def attend(*given: Any) -> tuple[Tensor, ...]:
    """Return the context ``[B, H, T, D_v]`` and, per query, the maximum and the sum of a softmax."""
    return forward(*_whole(*given))


@attend.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, mask: Any, bias: Tensor | None, *rest: Any) -> tuple[Tensor, ...]:
    return results(query, value, bias)


@torch.library.custom_op(
    "complex_transformers::attention_backward",
    mutates_args=(),
    schema=f"({_GIVEN}, {_FOUND}, Tensor grad) -> (Tensor, Tensor, Tensor, Tensor)",
)
def attend_backward(*given: Any) -> tuple[Tensor, ...]:
    """Compute the gradients of queries, keys, values and bias."""
    *arguments, out, row_max, row_sum, grad = given
    return tuple(backward(_whole(*arguments), (out, row_max, row_sum), grad))


@attend_backward.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, mask: Any, bias: Tensor | None, *rest: Any) -> tuple[Tensor, ...]:
    grads = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in (query, key, value)]
    return *grads, query.new_empty(0) if bias is None else torch.empty_like(bias)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    query, key, value, mask, bias, *ctx.numbers, seed = inputs
    ctx.save_for_backward(query, key, value, mask, bias, seed, *output)


def _gradients(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    query, key, value, mask, bias, seed, *found = ctx.saved_tensors
    *grads, of_bias = attend_backward(query, key, value, mask, bias, *ctx.numbers, seed, *found, grad)
    return *grads, None, None if bias is None else of_bias, *(None for _ in (*ctx.numbers, seed))


attend.register_autograd(_gradients, setup_context=_keep)
