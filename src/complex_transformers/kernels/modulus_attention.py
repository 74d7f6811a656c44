# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The moduli of complex scores, and attention with them a block of queries at a time.

Queries and keys are ``[B, H, T, 2 d]`` with ``[real | imag]`` halves on the last axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from .dispatch import by_formula, gradients_with_graph, without_autocast
from .modulus import modulus_of_halves

__all__ = ["BlockedModulusAttention", "ScoreModulus", "modulus_gradient_", "stack", "unstack"]


def _split(x: Tensor) -> tuple[Tensor, Tensor]:
    real, imag = x.chunk(2, dim=-1)
    return real, imag


def _join(real: Tensor, imag: Tensor) -> Tensor:
    return torch.cat([real, imag], dim=-1)


def stack(query: Tensor, bilinear: bool = False) -> Tensor:
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


def least_modulus(dtype: torch.dtype) -> float:
    """Keeps grad / modulus finite; below it (1e-19 in float32) the gradient fades to 0 at a score of 0."""
    return torch.finfo(dtype).tiny ** 0.5


def modulus_gradient_(parts: Tensor, modulus: Tensor, grad: Tensor) -> Tensor:
    """Gradient of (Re, Im), ``[..., 2 T, S]``, from that of a modulus above 0; overwrites ``parts`` and ``grad``."""
    parts.unflatten(-2, (2, -1)).mul_(grad.div_(modulus).unsqueeze(-3))
    return parts


def moduli(real: Tensor, imag: Tensor) -> Tensor:
    """|re + i im| by operations that autograd knows."""
    return modulus_of_halves(_join(real, imag))


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
    @without_autocast
    def backward(ctx, grad: Tensor, _):  # type: ignore[no-untyped-def]
        query, key, modulus, parts = ctx.saved_tensors
        if by_formula(grad):
            return gradients_with_graph(_score_moduli, (query, key, ctx.bilinear), ctx.needs_input_grad, (grad,))
        modulus = modulus.clamp(min=least_modulus(modulus.dtype))
        grad_parts = modulus_gradient_(parts.clone(), modulus, grad.clone())
        grad_query = unstack(grad_parts @ key, ctx.bilinear)
        return grad_query, grad_parts.transpose(-1, -2) @ stack(query, ctx.bilinear), None


# Of a block: queries, so many that a product is worth its call, and scores, so few that they stay in a cache.
BLOCK_QUERIES = 256
BLOCK_SCORES = 2**18
# Heads that a thread has at least: the products of a block are shared out by heads.
HEADS_PER_THREAD = 1


class Group(NamedTuple):
    """Heads that are computed together, those of some samples or some of one, and the blocks of their queries."""

    samples: slice
    heads: slice
    blocks: list[slice]

    def own(self, x: Tensor) -> Tensor:
        """What belongs to these P heads, ``[B, H, ...] -> [P, ...]``: a view where they lie side by side."""
        return x[self.samples, self.heads].flatten(0, 1)

    def mask(self, masks: Tensor | None, rows: slice) -> Tensor | None:
        """The part of a mask ``[B, H, T, S]`` for a block."""
        return None if masks is None else masks[self.samples, self.heads, rows]


def groups(query: Tensor, key: Tensor) -> Iterator[Group]:
    """The heads of queries ``[B, H, T, 2d]``, so many at a time that a block has about ``BLOCK_SCORES`` scores."""
    batch, heads, length, _ = query.shape
    if not length:
        return
    rows = min(length, BLOCK_QUERIES)
    blocks = [slice(start, start + rows) for start in range(0, length, rows)]
    pairs = max(1, BLOCK_SCORES // max(1, rows * key.shape[2]), HEADS_PER_THREAD * torch.get_num_threads())
    samples, some = max(1, pairs // heads), min(pairs, heads)  # whole samples, or heads of one
    for first, head in product(range(0, batch, samples), range(0, heads, some)):
        yield Group(slice(first, first + samples), slice(head, head + some), blocks)


def whole_mask(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """A mask that is broadcast as a view ``[B, H, T, S]``."""
    return None if mask is None else mask.expand(*query.shape[:-1], key.shape[-2])


def mix(x: Tensor, for_keys: bool = False) -> Tensor:
    """What G_re and G_im meet, of queries [re + im, im - re], of keys [im - re, re + im]: [P, T, 2d] -> [2P, T, d]."""
    real, imag = _split(x)
    total, difference = real + imag, imag - real
    return torch.stack([difference, total] if for_keys else [total, difference], dim=1).flatten(0, 1)


def softmax_gradient_(grad: Tensor, weights: Tensor) -> Tensor:
    """w (g - sum w g), from the gradient g of the weights w, in one pass over it; overwrites it."""
    return torch.ops.aten._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)


class Scratch:
    """Arrays by name that all blocks compute in: memory that is new to a process is slow to touch.

    ``squares_fit [B, H, 1, 1]``: no score is so large that its square overflows, by |<k|q>| <= |k| |q|; then some
    passes over a block that lies in the cache take the place of ``hypot``, which is slower. Squares that vanish are
    those of scores below 1e-19, where the gradient fades to 0 anyway.
    """

    def __init__(self, query: Tensor, key: Tensor) -> None:
        self.like = query
        self.arrays: dict[str, Tensor] = {}
        self.least_square = query.new_tensor(torch.finfo(query.dtype).tiny)
        norms = [torch.linalg.vector_norm(x, dim=-1) for x in (query, key)]
        bound = math.prod(norm.amax(-1) if norm.shape[-1] else norm.new_zeros(norm.shape[:2]) for norm in norms)
        self.squares_fit = (bound < 0.5 * torch.finfo(query.dtype).max ** 0.5)[..., None, None]
        self.all_fit = bool(self.squares_fit.all())

    def __call__(self, name: str, *shape: int) -> Tensor:
        """The array of that name, of any content."""
        size = math.prod(shape)
        if name not in self.arrays or self.arrays[name].numel() < size:  # the first block is the largest
            self.arrays[name] = self.like.new_empty(size)
        return self.arrays[name][:size].view(shape)


class BlockedModulusAttention(torch.autograd.Function):
    """softmax(|q k^H| + mask) v, a block of queries of a few heads at a time: memory linear in the length.

    Nothing of size T x S is kept: the backward pass computes the scores of a block again (Rabe & Staats 2021, with
    whole rows of the softmax). Blocks stay in the cache, which is worth more than the second product costs. Dropout
    draws from a generator of its own, so that both passes drop the same weights.

    With G = G_re + i G_im, the gradient of the scores, dq = G k and dk = G^H q. Each is three real products instead of
    four (Gauss), and both use the sum s = G_re + G_im::

        G k   = s k_re - G_im (k_re + k_im)      + i (s k_re + G_re (k_im - k_re))
        G^H q = s^T q_re + G_im^T (q_im - q_re)  + i (G_re^T (q_re + q_im) - s^T q_re)

    Inputs are float32 or better, and autocast is off while it is called; in the backward pass it turns it off itself.
    """

    @staticmethod
    def _weights(
        query: Tensor, key: Tensor, mask: Tensor | None, fit: Tensor, scratch: Scratch
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Both parts of the scores ``[P, 2, rows, S]``, 1 over their moduli (0 is 1e-19) and the softmax of those."""
        pairs, rows, length = query.shape[0], query.shape[1], key.shape[1]
        parts = torch.bmm(stack(query), key.mT, out=scratch("parts", pairs, 2 * rows, length)).unflatten(1, (2, rows))
        real, imag = parts.unbind(1)
        weights, inverse = (scratch(name, pairs, rows, length) for name in ("weights", "inverse"))
        torch.addcmul(scratch.least_square, real, real, out=weights).addcmul_(imag, imag)
        weights.mul_(torch.rsqrt(weights, out=inverse))  # |s|^2 / |s|, sooner than a root and a division
        if not scratch.all_fit:  # a head is computed alike whatever the others hold
            exact = torch.hypot(real, imag).clamp_(min=least_modulus(weights.dtype))
            torch.where(fit, weights, exact, out=weights)
            torch.where(fit, inverse, exact.reciprocal_(), out=inverse)
        if mask is not None:
            weights.view(mask.shape).add_(mask)
        return parts, inverse, torch.softmax(weights, dim=-1, out=weights)

    @staticmethod
    def _keep(weights: Tensor, dropout: float, generator: torch.Generator) -> Tensor:
        """Factors on the weights: 0 with probability ``dropout``, else 1 / (1 - dropout)."""
        keep = torch.empty_like(weights).bernoulli_(1.0 - dropout, generator=generator)
        return keep if dropout == 1.0 else keep.div_(1.0 - dropout)

    @staticmethod
    def _formula(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, seed: int
    ) -> tuple[Tensor]:
        """The same as a whole, by operations that autograd knows."""
        (scores,) = _score_moduli(query, key, bilinear=False)
        weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)
        if dropout:
            generator = torch.Generator().manual_seed(seed)
            keep = torch.empty_like(weights)
            for group in groups(query, key):
                for rows in group.blocks:
                    own = group.own(keep)[:, rows]
                    own.copy_(BlockedModulusAttention._keep(own, dropout, generator))
            weights = weights * keep
        return (weights @ value,)

    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, seed: int) -> Tensor:
        """The result ``[B, H, T, d_v]`` of ``[B, H, T, 2d]``, ``[B, H, S, 2d]`` and ``[B, H, S, d_v]``."""
        blocked, scratch, masks = BlockedModulusAttention, Scratch(query, key), whole_mask(mask, query, key)
        generator = torch.Generator().manual_seed(seed)
        out = value.new_empty(*query.shape[:-1], value.shape[-1])
        for group in groups(query, key):
            own_out, q, k, v, fit = (group.own(x) for x in (out, query, key, value, scratch.squares_fit))
            for rows in group.blocks:
                weights = blocked._weights(q[:, rows], k, group.mask(masks, rows), fit, scratch)[-1]
                if dropout:
                    weights.mul_(blocked._keep(weights, dropout, generator))
                own_out[:, rows] = weights @ v
        return out

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        *tensors, ctx.dropout, ctx.seed = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    @without_autocast
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        """Gradients of query, key and value from that of the result, ``[B, H, T, d_v]``; the mask has none."""
        query, key, value, mask = ctx.saved_tensors
        if by_formula(grad):
            inputs = query, key, value, mask, ctx.dropout, ctx.seed
            return gradients_with_graph(BlockedModulusAttention._formula, inputs, ctx.needs_input_grad, (grad,))
        blocked, scratch, masks = BlockedModulusAttention, Scratch(query, key), whole_mask(mask, query, key)
        generator = torch.Generator().manual_seed(ctx.seed)
        new = torch.Tensor.new_empty if query.shape[2] else torch.Tensor.new_zeros
        grads = [new(x, x.shape) for x in (query, key, value)]
        for group in groups(query, key):
            q, k, v, own_grad, fit = (group.own(x) for x in (query, key, value, grad, scratch.squares_fit))
            grad_q, grad_k, grad_v = (group.own(x) for x in grads)
            (k_real, _), k_mixed = _split(k), mix(k, for_keys=True)
            # Sums over the blocks, features before words: so the products that add to them are fast.
            sum_v, sum_k, sum_mixed = (
                scratch(name, *x.mT.shape) for name, x in (("values", v), ("keys", k_real), ("mixed keys", k_mixed))
            )
            for rows in group.blocks:
                own_q, own_g = q[:, rows], own_grad[:, rows]
                parts, inverse, weights = blocked._weights(own_q, k, group.mask(masks, rows), fit, scratch)
                kept, of_weights = weights, torch.bmm(own_g, v.mT, out=scratch("grad", *weights.shape))
                if ctx.dropout:
                    keep = blocked._keep(weights, ctx.dropout, generator)
                    of_weights, kept = of_weights.mul_(keep), keep.mul_(weights)
                add = float(rows.start > 0)  # 0: there is no sum yet
                sum_v.baddbmm_(own_g.mT, kept, beta=add)
                of_scores = softmax_gradient_(of_weights, weights).mul_(inverse)
                parts.mul_(of_scores.unsqueeze(1))  # now G
                total = torch.add(*parts.unbind(1), out=of_scores)
                common = torch.bmm(total, k_real)
                imag, real = torch.bmm(parts.flatten(0, 1), k_mixed).unflatten(0, (-1, 2)).unbind(1)
                grad_real, grad_imag = _split(grad_q[:, rows])
                torch.sub(common, real, out=grad_real)
                torch.add(common, imag, out=grad_imag)
                sum_k.baddbmm_(_split(own_q)[0].mT, total, beta=add)
                sum_mixed.baddbmm_(mix(own_q).mT, parts.flatten(0, 1), beta=add)
            imag, real = sum_mixed.unflatten(0, (-1, 2)).unbind(1)
            grad_real, grad_imag = grad_k.mT.chunk(2, dim=-2)
            torch.add(sum_k, real, out=grad_real)
            torch.sub(imag, sum_k, out=grad_imag)
            grad_v.copy_(sum_v.mT)
        return *grads, None, None, None
