# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Blocked attention with real scores, also for keys wider than values, which PyTorch's fused attention refuses.

Queries and keys are ``[B, H, T, 2 d]`` with ``[real | imag]`` halves on the last axis, or real features.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .attention_weights import draw_factors, make_weights, plain_weights
from .dispatch import by_formula, gradients_with_graph, without_autocast
from .modulus_attention import Buffers, blocks, groups, seen_keys, whole_factors, whole_mask

__all__ = ["BlockedRealAttention"]


class BlockedRealAttention(torch.autograd.Function):
    """softmax(Re(q k^H) + mask) v by blocks of queries and heads, with memory linear in the length.

    With a bias b ``[1]`` the weights are sigmoid(Re(q k^H) + mask + b). The backward pass recomputes the scores of a
    block, as ``BlockedModulusAttention``. Inputs must be float32 or better and the caller disables autocast.
    """

    @staticmethod
    def _scores(buffers: Buffers, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """Compute masked scores ``[P, R, S]`` of queries ``[P, R, 2d]``."""
        scores = torch.bmm(query, key.mT, out=buffers("scores", *query.shape[:2], key.shape[1]))
        if mask is not None:
            scores.view(mask.shape).add_(mask)
        return scores

    @staticmethod
    def _formula(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None, dropout: float, seed: int
    ) -> tuple[Tensor]:
        """Compute the same without blocks, with differentiable operations."""
        weights = plain_weights(query @ key.mT, mask, bias)
        if dropout:
            weights = weights * whole_factors(query, key, seen_keys(mask, query, key, bias is None), dropout, seed)
        return (weights @ value,)

    @staticmethod
    def forward(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None, dropout: float, seed: int
    ) -> Tensor:
        """Compute ``[B, H, T, d_v]`` from ``[B, H, T, 2d]``, ``[B, H, S, 2d]`` and ``[B, H, S, d_v]``."""
        buffers, normalize = Buffers(query), make_weights(bias)
        masks, seen = whole_mask(normalize.added(mask), query, key), seen_keys(mask, query, key, bias is None)
        generator = torch.Generator().manual_seed(seed)
        out = value.new_empty(*query.shape[:-1], value.shape[-1])
        for group in groups(query, key):
            own_out, q, k, v = (group.select(x) for x in (out, query, key, value))
            rows = zip(blocks(q), blocks(own_out), seen, strict=True)
            for (own_q, to, count), own_mask in zip(rows, group.masks(masks, seen), strict=False):
                weights = normalize.apply_(BlockedRealAttention._scores(buffers, own_q, k[:, :count], own_mask))
                if dropout:
                    weights.mul_(draw_factors(weights, dropout, generator))
                to.copy_(weights @ v[:, :count])
        return out

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        *tensors, ctx.dropout, ctx.seed = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    @without_autocast
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        """Compute the gradients of query, key, value and bias; the mask has none."""
        query, key, value, mask, bias = ctx.saved_tensors
        if by_formula(grad):
            inputs = query, key, value, mask, bias, ctx.dropout, ctx.seed
            return gradients_with_graph(BlockedRealAttention._formula, inputs, ctx.needs_input_grad, (grad,))
        buffers, normalize = Buffers(query), make_weights(bias)
        masks, seen = whole_mask(normalize.added(mask), query, key), seen_keys(mask, query, key, bias is None)
        generator = torch.Generator().manual_seed(ctx.seed)
        new = torch.Tensor.new_empty if query.shape[2] else torch.Tensor.new_zeros
        grads = [new(x, x.shape) for x in (query, key, value)]
        for group in groups(query, key):
            q, k, v, own_grad = (group.select(x) for x in (query, key, value, grad))
            grad_q, grad_k, grad_v = (group.select(x) for x in grads)
            # Sums over the blocks, features before keys, for faster accumulating products.
            of_v, of_k = (buffers(name, *x.mT.shape).zero_() for name, x in (("of v", v), ("of k", k)))
            rows = zip(*map(blocks, (q, own_grad, grad_q)), seen, strict=True)
            for (own_q, own_g, to, count), own_mask in zip(rows, group.masks(masks, seen), strict=False):
                own_k, own_v = k[:, :count], v[:, :count]
                weights = kept = normalize.apply_(BlockedRealAttention._scores(buffers, own_q, own_k, own_mask))
                of_weights = torch.bmm(own_g, own_v.mT, out=buffers("grad", *weights.shape))
                if ctx.dropout:
                    keep = draw_factors(weights, ctx.dropout, generator)
                    of_weights, kept = of_weights.mul_(keep), keep.mul_(weights)
                of_v[..., :count].baddbmm_(own_g.mT, kept)
                of_scores = normalize.gradient_(of_weights, weights)
                to.copy_(of_scores @ own_k)
                of_k[..., :count].baddbmm_(own_q.mT, of_scores)
            grad_k.copy_(of_k.mT)
            grad_v.copy_(of_v.mT)
        return *grads, None, normalize.of_bias(), None, None
