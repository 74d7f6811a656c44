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
BLOCK_QUERIES = 128
BLOCK_SCORES = 2**19
# Heads that a thread has at least: the products of a block are shared out by heads.
HEADS_PER_THREAD = 2


class Block(NamedTuple):
    """Some queries of some heads of some samples, and their part of the mask."""

    samples: slice
    heads: slice
    queries: slice
    mask: Tensor | None

    def keys(self, x: Tensor) -> Tensor:
        """What the queries meet, ``[B, H, S, ...] -> [P, S, ...]``: P heads, a view where they lie side by side."""
        return x[self.samples, self.heads].flatten(0, 1)

    def rows(self, x: Tensor) -> Tensor:
        """What belongs to the queries, ``[B, H, T, ...] -> [P, rows, ...]``."""
        return x[self.samples, self.heads, self.queries].flatten(0, 1)

    def put(self, target: Tensor, rows: Tensor) -> None:
        """Write ``[P, rows, ...]`` to its place in ``[B, H, T, ...]``."""
        place = target[self.samples, self.heads, self.queries]
        place.copy_(rows.view(place.shape))


class Scratch:
    """Arrays by name that all blocks compute in: memory that is new to a process is slow to touch.

    ``squares_fit [B, H]``: no score is so large that its square overflows, by |<k|q>| <= |k| |q|; then three passes
    over a block that lies in the cache take the place of ``hypot``, which is slower. Squares that vanish are those of
    scores below 1e-19, where the gradient fades to 0 anyway.
    """

    def __init__(self, query: Tensor, key: Tensor) -> None:
        self.like = query
        self.arrays: dict[str, Tensor] = {}
        self.least_square = query.new_tensor(torch.finfo(query.dtype).tiny)
        norms = [torch.linalg.vector_norm(x, dim=-1) for x in (query, key)]
        bound = math.prod(norm.amax(-1) if norm.shape[-1] else norm.new_zeros(norm.shape[:2]) for norm in norms)
        self.squares_fit = bound < 0.5 * torch.finfo(query.dtype).max ** 0.5
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

    Inputs are float32 or better, and autocast is off while it is called; in the backward pass it turns it off itself.
    """

    @staticmethod
    def _blocks(query: Tensor, key: Tensor, mask: Tensor | None) -> Iterator[Block]:
        """Queries ``[B, H, T, 2d]`` in blocks; an axis of one of the mask serves all."""
        batch, heads, length, _ = query.shape
        whole = None if mask is None else mask.expand(batch, heads, length, key.shape[2])
        rows = max(1, min(length, BLOCK_QUERIES))
        pairs = max(1, BLOCK_SCORES // max(1, rows * key.shape[2]), HEADS_PER_THREAD * torch.get_num_threads())
        samples, some = max(1, pairs // heads), min(pairs, heads)  # whole samples, or heads of one
        for first, head, start in product(range(0, batch, samples), range(0, heads, some), range(0, length, rows)):
            own = slice(first, first + samples), slice(head, head + some), slice(start, start + rows)
            yield Block(*own, None if whole is None else whole[own])

    @staticmethod
    def _weights(block: Block, stacked: Tensor, key: Tensor, scratch: Scratch) -> tuple[Tensor, Tensor, Tensor]:
        """Both parts of the scores ``[P, 2 rows, S]``, their moduli (0 is 1e-19) and the softmax of these."""
        pairs, rows, length = stacked.shape[0], stacked.shape[1] // 2, key.shape[1]
        parts = torch.bmm(stacked, key.mT, out=scratch("parts", pairs, 2 * rows, length))
        real, imag = parts.chunk(2, dim=-2)
        modulus = scratch("modulus", pairs, rows, length)
        torch.addcmul(scratch.least_square, real, real, out=modulus).addcmul_(imag, imag).sqrt_()
        if not scratch.all_fit:  # a head is computed alike whatever the others hold
            exact = torch.hypot(real, imag).clamp_(min=least_modulus(modulus.dtype))
            torch.where(block.keys(scratch.squares_fit)[:, None, None], modulus, exact, out=modulus)
        scores = modulus
        if block.mask is not None:
            shape = block.mask.shape
            scores = torch.add(modulus.view(shape), block.mask, out=scratch("scores", *shape)).view(modulus.shape)
        return parts, modulus, torch.softmax(scores, dim=-1, out=scratch("weights", pairs, rows, length))

    @staticmethod
    def _keep(weights: Tensor, dropout: float, generator: torch.Generator) -> Tensor:
        """Factors on the weights: 0 with probability ``dropout``, else 1 / (1 - dropout)."""
        keep = torch.empty_like(weights).bernoulli_(1.0 - dropout, generator=generator)
        return keep if dropout == 1.0 else keep.div_(1.0 - dropout)

    @staticmethod
    def _formula(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bilinear: bool, dropout: float, seed: int
    ) -> tuple[Tensor]:
        """The same as a whole, by operations that autograd knows."""
        (scores,) = _score_moduli(query, key, bilinear)
        weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)
        if dropout:
            generator = torch.Generator().manual_seed(seed)
            keep = torch.empty_like(weights)
            for block in BlockedModulusAttention._blocks(query, key, mask):
                block.put(keep, BlockedModulusAttention._keep(block.rows(keep), dropout, generator))
            weights = weights * keep
        return (weights @ value,)

    @staticmethod
    def forward(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bilinear: bool, dropout: float, seed: int
    ) -> Tensor:
        """The result ``[B, H, T, d_v]`` of ``[B, H, T, 2d]``, ``[B, H, S, 2d]`` and ``[B, H, S, d_v]``."""
        blocked, scratch = BlockedModulusAttention, Scratch(query, key)
        generator = torch.Generator().manual_seed(seed)
        out = value.new_empty(*query.shape[:-1], value.shape[-1])
        for block in blocked._blocks(query, key, mask):
            stacked = stack(block.rows(query), bilinear)
            weights = blocked._weights(block, stacked, block.keys(key), scratch)[-1]
            if dropout:
                weights.mul_(blocked._keep(weights, dropout, generator))
            block.put(out, weights @ block.keys(value))
        return out

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        query, key, value, mask, ctx.bilinear, ctx.dropout, ctx.seed = inputs
        ctx.save_for_backward(query, key, value, mask, output)

    @staticmethod
    @without_autocast
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        """Gradients of query, key and value from that of the result, ``[B, H, T, d_v]``; the mask has none."""
        query, key, value, mask, out = ctx.saved_tensors
        if by_formula(grad):
            inputs = query, key, value, mask, ctx.bilinear, ctx.dropout, ctx.seed
            return gradients_with_graph(BlockedModulusAttention._formula, inputs, ctx.needs_input_grad, (grad,))
        blocked, scratch = BlockedModulusAttention, Scratch(query, key)
        generator = torch.Generator().manual_seed(ctx.seed)
        grad_query = torch.empty_like(query)
        # Features before words: so the products that add to them are fast.
        new = torch.Tensor.new_empty if query.shape[2] else torch.Tensor.new_zeros
        grad_key, grad_value = (new(x, (*x.shape[:2], x.shape[3], x.shape[2])) for x in (key, value))
        for block in blocked._blocks(query, key, mask):
            stacked, own_key, own_grad = stack(block.rows(query), ctx.bilinear), block.keys(key), block.rows(grad)
            parts, modulus, weights = blocked._weights(block, stacked, own_key, scratch)
            grad_weights = torch.bmm(own_grad, block.keys(value).mT, out=scratch("grad", *weights.shape))
            # softmax: dS = w (dW - sum w dW), and sum w dW = out . dout
            inner = (own_grad * block.rows(out)).sum(dim=-1, keepdim=True)
            if ctx.dropout:
                keep = blocked._keep(weights, ctx.dropout, generator)
                grad_scores = grad_weights.mul_(keep).sub_(inner).mul_(weights)
                weights.mul_(keep)
            else:
                grad_scores = grad_weights.sub_(inner).mul_(weights)
            others = float(block.queries.start > 0)  # 0: these are the first queries of their heads
            block.keys(grad_value).baddbmm_(own_grad.mT, weights, beta=others)
            grad_parts = modulus_gradient_(parts, modulus, grad_scores)
            block.put(grad_query, unstack(grad_parts @ own_key, ctx.bilinear))
            block.keys(grad_key).baddbmm_(stacked.mT, grad_parts, beta=others)
        return grad_query, grad_key.mT, grad_value.mT, None, None, None, None
