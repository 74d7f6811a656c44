# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The moduli of complex scores, and attention with them a block of queries at a time.

Queries and keys are ``[B, H, T, 2 d]`` with ``[real | imag]`` halves on the last axis.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .dispatch import gradients_with_graph
from .modulus import Modulus

__all__ = ["BlockedModulusAttention", "ScoreModulus", "modulus_gradient_", "stack", "unstack"]


def _split(x: Tensor) -> tuple[Tensor, Tensor]:
    real, imag = x.chunk(2, dim=-1)
    return real, imag


def _join(real: Tensor, imag: Tensor) -> Tensor:
    return torch.cat([real, imag], dim=-1)


def stack(query: Tensor, bilinear: bool) -> Tensor:
    """Queries whose real products with k are Re and Im of the score: ``[..., T, 2d] -> [..., 2 T, 2d]``.

    q k^H = ([q_re | q_im] . k) + i ([q_im | -q_re] . k), q k^T = ([q_re | -q_im] . k) + i ([q_im | q_re] . k).
    """
    real, imag = _split(query)
    for_real = torch.cat([real, -imag], dim=-1) if bilinear else query
    for_imag = torch.cat([imag, real if bilinear else -real], dim=-1)
    return torch.cat([for_real, for_imag], dim=-2)


def unstack(grad: Tensor, bilinear: bool) -> Tensor:
    """The adjoint of ``stack``: the gradient of q from that of the stacked queries, ``[..., 2 T, 2d]``."""
    (real_a, real_b), (imag_a, imag_b) = (_split(part) for part in grad.chunk(2, dim=-2))
    if bilinear:
        return _join(real_a + imag_b, imag_a - real_b)
    return _join(real_a - imag_b, real_b + imag_a)


def modulus_gradient_(parts: Tensor, modulus: Tensor, grad: Tensor) -> Tensor:
    """Gradient of (Re, Im), ``[..., 2 T, S]``, from that of the modulus; overwrites ``parts``. 0 at a score of 0."""
    # The floor keeps grad / modulus finite; below it (1e-19 in float32) the gradient fades to 0 at a score of 0.
    unit = grad / modulus.clamp(min=torch.finfo(modulus.dtype).tiny ** 0.5)
    for part in parts.chunk(2, dim=-2):
        part.mul_(unit)
    return parts


def moduli(real: Tensor, imag: Tensor) -> Tensor:
    """|re + i im| by operations that autograd knows."""
    return Modulus.apply(_join(real, imag))


def _score_moduli(query: Tensor, key: Tensor, bilinear: bool) -> tuple[Tensor]:
    return (moduli(*(stack(query, bilinear) @ key.mT).chunk(2, dim=-2)),)


class ScoreModulus(torch.autograd.Function):
    """|q k^H| or |q k^T|: the modulus and its gradient in one pass over the scores, 0 where the score is 0.

    The same as ``hypot`` of ``complex_scores`` under autograd, in three quarters of the time.
    """

    @staticmethod
    def forward(query: Tensor, key: Tensor, bilinear: bool) -> tuple[Tensor, Tensor]:
        parts = stack(query, bilinear) @ key.transpose(-1, -2)
        return torch.hypot(*parts.chunk(2, dim=-2)), parts

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        query, key, ctx.bilinear = inputs
        modulus, parts = output
        ctx.mark_non_differentiable(parts)
        ctx.save_for_backward(query, key, modulus, parts)

    @staticmethod
    def backward(ctx, grad: Tensor, _):  # type: ignore[no-untyped-def]
        query, key, modulus, parts = ctx.saved_tensors
        if torch.is_grad_enabled():  # a graph of the gradient is wanted
            return gradients_with_graph(_score_moduli, (query, key, ctx.bilinear), ctx.needs_input_grad, (grad,))
        grad_parts = modulus_gradient_(parts.clone(), modulus, grad)
        grad_query = unstack(grad_parts @ key, ctx.bilinear)
        return grad_query, grad_parts.transpose(-1, -2) @ stack(query, ctx.bilinear), None


# Scores in a block of queries: small enough for a cache, large enough to occupy the threads.
BLOCK_SCORES = 2**19


class BlockedModulusAttention(torch.autograd.Function):
    """softmax(|q k^H| + mask) v, a few samples or a block of queries at a time: memory linear in the length.

    Nothing of size T x S is kept: the backward pass computes the scores of a block again (Rabe & Staats 2021, with
    whole rows of the softmax). Blocks stay in the cache, which is worth more than the second product costs. Dropout
    draws from a generator of its own, so that both passes drop the same weights.

    Inputs are float32 or better, and autocast is off while it is called; in the backward pass it turns it off itself.
    """

    @staticmethod
    def _blocks(query: Tensor, key: Tensor, mask: Tensor | None):  # type: ignore[no-untyped-def]
        batch, heads, length, _ = query.shape
        scores = max(1, heads * key.shape[2])  # of a query
        samples = max(1, BLOCK_SCORES // (scores * max(1, length)))
        rows = max(1, BLOCK_SCORES // scores)  # more than there are where samples are more than one
        for first in range(0, batch, samples):
            own = slice(first, first + samples)
            own_mask = mask if mask is None or mask.shape[0] == 1 else mask[own]
            for start in range(0, length, rows):
                part = slice(start, start + rows)
                if own_mask is None or own_mask.shape[-2] == 1:
                    yield own, part, own_mask
                else:
                    yield own, part, own_mask[:, :, part]

    @staticmethod
    def _weights(
        stacked: Tensor, key: Tensor, mask: Tensor | None, modulus_of: Callable[..., Tensor] = torch.hypot
    ) -> tuple[Tensor, Tensor, Tensor]:
        parts = stacked @ key.transpose(-1, -2)
        modulus = modulus_of(*parts.chunk(2, dim=-2))
        return parts, modulus, torch.softmax(modulus if mask is None else modulus + mask, dim=-1)

    @staticmethod
    def _keep(weights: Tensor, dropout: float, generator: torch.Generator) -> Tensor | None:
        """Factors on the weights: 0 with probability ``dropout``, else 1 / (1 - dropout)."""
        if dropout == 0.0:
            return None
        return torch.empty_like(weights).bernoulli_(1.0 - dropout, generator=generator).div_(1.0 - dropout)

    @staticmethod
    def _attend(
        modulus_of: Callable[..., Tensor],
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        bilinear: bool,
        dropout: float,
        seed: int,
    ) -> Tensor:
        blocked = BlockedModulusAttention
        generator = torch.Generator().manual_seed(seed)
        out = value.new_empty(*query.shape[:-1], value.shape[-1])
        for own, rows, own_mask in blocked._blocks(query, key, mask):
            stacked = stack(query[own, :, rows], bilinear)
            weights = blocked._weights(stacked, key[own], own_mask, modulus_of)[-1]
            keep = blocked._keep(weights, dropout, generator)
            out[own, :, rows] = (weights if keep is None else weights * keep) @ value[own]
        return out

    @staticmethod
    def forward(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bilinear: bool, dropout: float, seed: int
    ) -> Tensor:
        return BlockedModulusAttention._attend(torch.hypot, query, key, value, mask, bilinear, dropout, seed)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        query, key, value, mask, ctx.bilinear, ctx.dropout, ctx.seed = inputs
        ctx.save_for_backward(query, key, value, mask, output)

    @staticmethod
    @torch.autocast("cpu", enabled=False)
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        blocked = BlockedModulusAttention
        generator = torch.Generator().manual_seed(ctx.seed)
        query, key, value, mask, out = ctx.saved_tensors
        if torch.is_grad_enabled():  # a graph of the gradient is wanted
            inputs = query, key, value, mask, ctx.bilinear, ctx.dropout, ctx.seed
            return gradients_with_graph(
                lambda *inputs: (blocked._attend(moduli, *inputs),), inputs, ctx.needs_input_grad, (grad,)
            )
        grad_query, grad_key, grad_value = (x.new_zeros(x.shape) for x in (query, key, value))
        for own, rows, own_mask in blocked._blocks(query, key, mask):
            stacked = stack(query[own, :, rows], ctx.bilinear)
            parts, modulus, weights = blocked._weights(stacked, key[own], own_mask)
            keep = blocked._keep(weights, ctx.dropout, generator)
            own_grad = grad[own, :, rows]
            _add_product_(grad_value[own], (weights if keep is None else weights * keep).mT, own_grad)
            # softmax: dS = w (dW - sum w dW), and sum w dW = out . dout
            inner = (own_grad * out[own, :, rows]).sum(dim=-1, keepdim=True)
            grad_weights = own_grad @ value[own].transpose(-1, -2)
            grad_weights = grad_weights if keep is None else grad_weights.mul_(keep)
            grad_scores = grad_weights.sub_(inner).mul_(weights)
            grad_parts = modulus_gradient_(parts, modulus, grad_scores)
            grad_query[own, :, rows] = unstack(grad_parts @ key[own], ctx.bilinear)
            _add_product_(grad_key[own], grad_parts.mT, stacked)
        return grad_query, grad_key, grad_value, None, None, None, None


def _add_product_(total: Tensor, a: Tensor, b: Tensor) -> None:
    """total += a b for contiguous ``total [B, H, ...]``, in place."""
    total.flatten(0, 1).baddbmm_(a.flatten(0, 1), b.flatten(0, 1))
