# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Moduli of complex attention scores, and blocked attention with modulus scores and softmax or sigmoid weights.

Queries and keys are ``[B, H, T, 2 d]`` with ``[real | imag]`` halves on the last axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product, repeat
from typing import NamedTuple

import torch
from torch import Tensor

from .attention_weights import Sigmoid, Softmax, draw_factors, make_weights, plain_weights
from .dispatch import by_formula, gradients_with_graph, without_autocast
from .modulus import modulus_of_halves

__all__ = ["BlockedModulusAttention", "ScoreModulus", "modulus_gradient_", "stack", "unstack"]


def _split(x: Tensor) -> tuple[Tensor, Tensor]:
    real, imag = x.chunk(2, dim=-1)
    return real, imag


def _join(real: Tensor, imag: Tensor) -> Tensor:
    return torch.cat([real, imag], dim=-1)


def rotate_back(query: Tensor) -> Tensor:
    """Compute -i q, whose real products with k are the imaginary parts of q k^H: ``[..., 2d]``."""
    real, imag = _split(query)
    return _join(imag, -real)


def stack(query: Tensor, bilinear: bool = False) -> Tensor:
    """Stack queries whose real products with k are Re and Im of the score: ``[..., T, 2d] -> [..., 2 T, 2d]``.

    q k^H = ([q_re | q_im] . k) + i ([q_im | -q_re] . k), q k^T = ([q_re | -q_im] . k) + i ([q_im | q_re] . k).
    """
    real, imag = _split(query)
    return torch.cat([_join(real, -imag), _join(imag, real)] if bilinear else [query, rotate_back(query)], dim=-2)


def unstack(grad: Tensor, bilinear: bool) -> Tensor:
    """Apply the adjoint of ``stack`` to a gradient of the stacked queries, ``[..., 2 T, 2d] -> [..., T, 2d]``."""
    (real_a, real_b), (imag_a, imag_b) = (_split(part) for part in grad.chunk(2, dim=-2))
    if bilinear:
        return _join(real_a + imag_b, imag_a - real_b)
    return _join(real_a - imag_b, real_b + imag_a)


def least_modulus(dtype: torch.dtype) -> float:
    """Return the modulus (1e-19 in float32) below which the gradient decreases linearly to 0."""
    return torch.finfo(dtype).tiny ** 0.5


def modulus_gradient_(parts: Tensor, modulus: Tensor, grad: Tensor) -> Tensor:
    """Compute the gradient of (Re, Im), ``[..., 2 T, S]``, from the gradient of a positive modulus, in place."""
    parts.unflatten(-2, (2, -1)).mul_(grad.div_(modulus).unsqueeze(-3))
    return parts


def moduli(real: Tensor, imag: Tensor) -> Tensor:
    """Compute |re + i im| with differentiable operations."""
    return modulus_of_halves(_join(real, imag))


def _score_moduli(query: Tensor, key: Tensor, bilinear: bool) -> tuple[Tensor]:
    return (moduli(*(stack(query, bilinear) @ key.mT).chunk(2, dim=-2)),)


class ScoreModulus(torch.autograd.Function):
    """|q k^H| or |q k^T| with a gradient in one pass over the scores, which is 0 at a score of 0.

    It takes three quarters of the time of ``hypot`` of ``complex_scores`` under autograd.
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


# Size of a block: enough queries to amortise a call, few enough scores to stay in the cache.
BLOCK_QUERIES = 256
BLOCK_SCORES = 2**18
# Minimum number of heads per thread, since threads split the products of a block by heads.
HEADS_PER_THREAD = 1


class Group(NamedTuple):
    """Heads that are computed together: all heads of some samples, or some heads of one sample."""

    samples: slice
    heads: slice

    def select(self, x: Tensor) -> Tensor:
        """Select these P heads, ``[B, H, ...] -> [P, ...]``, as a view if they are contiguous."""
        return x[self.samples, self.heads].flatten(0, 1)

    def masks(self, masks: Tensor | None, seen: list[int]) -> Iterator[Tensor | None]:
        """Split a mask ``[B, H, T, S]`` into blocks, each with the ``seen`` keys."""
        if masks is None:
            return repeat(None)
        rows = blocks(masks[self.samples, self.heads])
        return (mask[..., :count] for mask, count in zip(rows, seen, strict=True))


def groups(query: Tensor, key: Tensor) -> Iterator[Group]:
    """Group the heads of queries ``[B, H, T, 2d]`` so that a block has about ``BLOCK_SCORES`` scores."""
    batch, heads, length, _ = query.shape
    if not length:
        return
    scores = min(length, BLOCK_QUERIES) * key.shape[2]
    pairs = max(1, BLOCK_SCORES // max(1, scores), HEADS_PER_THREAD * torch.get_num_threads())
    samples, some = max(1, pairs // heads), min(pairs, heads)  # whole samples, or heads of one sample
    for first, head in product(range(0, batch, samples), range(0, heads, some)):
        yield Group(slice(first, first + samples), slice(head, head + some))


def blocks(x: Tensor) -> Iterator[Tensor]:
    """Split ``[..., T, *]`` into blocks of queries."""
    return iter(x.split(BLOCK_QUERIES, dim=-2))


def whole_mask(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """Broadcast a mask to a view ``[B, H, T, S]``."""
    return None if mask is None else mask.expand(*query.shape[:-1], key.shape[-2])


def seen_keys(mask: Tensor | None, query: Tensor, key: Tensor, is_softmax: bool) -> list[int]:
    """Return for each block of queries the number of keys up to the last one with a weight, over all heads.

    ``mask`` is additive, ``[B or 1, H or 1, T or 1, S]``, and hides a key by the least finite number. A softmax over
    hidden keys alone has equal weights, so it needs them all.
    """
    size = key.shape[-2]
    if mask is None or not size:
        return [size for _ in blocks(query)]
    seen = mask > torch.finfo(mask.dtype).min
    some = seen.any(0).any(0)
    if is_softmax:
        some = some | (~seen.any(-1, keepdim=True)).any(0).any(0)
    keys = [rows.any(0).nonzero() for rows in blocks(some.expand(query.shape[-2], size))]
    return [int(found[-1]) + 1 if len(found) else 1 for found in keys]


class Buffers:
    """Named buffers that all blocks reuse, since touching fresh memory is slow."""

    def __init__(self, like: Tensor) -> None:
        self.like = like
        self.arrays: dict[str, Tensor] = {}

    def __call__(self, name: str, *shape: int) -> Tensor:
        """Return the buffer of this name in a shape, with arbitrary content."""
        size = math.prod(shape)
        if name not in self.arrays or len(self.arrays[name]) < size:
            self.arrays[name] = self.like.new_empty(size)
        return self.arrays[name][:size].view(shape)


def whole_factors(query: Tensor, key: Tensor, seen: list[int], dropout: float, seed: int) -> Tensor:
    """Return the dropout factors that the blocks of these queries draw, ``[B, H, T, S]``; 0 for keys not ``seen``."""
    generator = torch.Generator().manual_seed(seed)
    keep = query.new_zeros(*query.shape[:-1], key.shape[-2])
    for group in groups(query, key):
        for own, count in zip(blocks(group.select(keep)), seen, strict=True):
            own[..., :count] = draw_factors(own[..., :count], dropout, generator)
    return keep


class Scratch(Buffers):
    """Buffers, and a bound of modulus scores.

    ``squares_fit [B, H, 1, 1]``: no squared score can overflow, by |<k|q>| <= |k| |q|. Squaring a cached block is then
    faster than ``hypot``. Squares underflow only for scores below 1e-19, where the gradient tends to 0 anyway.
    """

    def __init__(self, query: Tensor, key: Tensor) -> None:
        super().__init__(query)
        self.least_square = query.new_tensor(torch.finfo(query.dtype).tiny)
        norms = [torch.linalg.vector_norm(x, dim=-1) for x in (query, key)]
        bound = math.prod(norm.amax(-1) if norm.shape[-1] else norm.new_zeros(norm.shape[:2]) for norm in norms)
        self.squares_fit = (bound < 0.5 * torch.finfo(query.dtype).max ** 0.5)[..., None, None]
        self.all_fit = bool(self.squares_fit.all())

    def scores(self, query: Tensor, rotated: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Compute Re and Im of q k^H, ``[P, R, S]``, from queries ``[P, R, 2d]`` and -i q in ``rotated``."""
        shape = *query.shape[:2], key.shape[1]
        return (
            torch.bmm(query, key.mT, out=self("real", *shape)),
            torch.bmm(rotated, key.mT, out=self("imag", *shape)),
        )


class BlockedModulusAttention(torch.autograd.Function):
    """softmax(|q k^H| + mask) v by blocks of queries and heads, with memory linear in the length.

    With a bias b ``[1]`` the weights are sigmoid(|q k^H| + mask + b). Nothing of size T x S is saved: the backward
    pass recomputes the scores of a block (Rabe & Staats 2021, with whole rows of the softmax). Blocks stay in the
    cache, which saves more than the recomputation costs. Dropout draws from a separate generator, so that both passes
    drop the same weights.

    With the gradient of the scores G = G_re + i G_im, dq = G k and dk = G^H q. Each takes three real products instead
    of four (Gauss), and both use the sum s = G_re + G_im::

        G k   = s k_re - G_im (k_re + k_im)      + i (s k_re + G_re (k_im - k_re))
        G^H q = s^T q_re + G_im^T (q_im - q_re)  + i (G_re^T (q_re + q_im) - s^T q_re)

    Inputs must be float32 or better and the caller disables autocast; the backward pass disables it itself.
    """

    @staticmethod
    def _weights(
        scores: tuple[Tensor, Tensor],
        mask: Tensor | None,
        fit: Tensor,
        scratch: Scratch,
        normalize: Softmax | Sigmoid,
        out: Tensor,
        inverse: Tensor | None = None,
    ) -> Tensor:
        """Compute the weights of |s| + mask, s ``[P, R, S]``, in ``out`` and 1 / max(|s|, 1e-19) in ``inverse``."""
        real, imag = scores
        exact = None if scratch.all_fit else torch.hypot(real, imag).clamp_(min=least_modulus(real.dtype))
        torch.addcmul(scratch.least_square, real, real, out=out).addcmul_(imag, imag)
        if inverse is None:
            out.sqrt_()
        else:
            out.mul_(torch.rsqrt(out, out=inverse))  # |s|^2 / |s|, faster than a root and a division
        if exact is not None:  # per head, so that heads do not affect each other
            torch.where(fit, out, exact, out=out)
            if inverse is not None:
                torch.where(fit, inverse, exact.reciprocal_(), out=inverse)
        if mask is not None:
            out.view(mask.shape).add_(mask)
        return normalize.apply_(out)

    @staticmethod
    def _formula(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        dropout: float,
        seed: int,
    ) -> tuple[Tensor]:
        """Compute the same without blocks, with differentiable operations."""
        (scores,) = _score_moduli(query, key, bilinear=False)
        weights = plain_weights(scores, mask, bias)
        if dropout:
            weights = weights * whole_factors(query, key, seen_keys(mask, query, key, bias is None), dropout, seed)
        return (weights @ value,)

    @staticmethod
    def forward(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        dropout: float,
        seed: int,
    ) -> Tensor:
        """Compute ``[B, H, T, d_v]`` from ``[B, H, T, 2d]``, ``[B, H, S, 2d]`` and ``[B, H, S, d_v]``."""
        blocked, scratch, normalize = BlockedModulusAttention, Scratch(query, key), make_weights(bias)
        masks, generator = whole_mask(normalize.added(mask), query, key), torch.Generator().manual_seed(seed)
        seen = seen_keys(mask, query, key, bias is None)
        out = value.new_empty(*query.shape[:-1], value.shape[-1])
        for group in groups(query, key):
            own_out, q, k, v, fit = (group.select(x) for x in (out, query, key, value, scratch.squares_fit))
            rows = zip(*map(blocks, (q, rotate_back(q), own_out)), seen, strict=True)
            for (own_q, rotated, to, count), own_mask in zip(rows, group.masks(masks, seen), strict=False):
                scores = scratch.scores(own_q, rotated, k[:, :count])
                weights = blocked._weights(scores, own_mask, fit, scratch, normalize, out=scores[0])
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
            return gradients_with_graph(BlockedModulusAttention._formula, inputs, ctx.needs_input_grad, (grad,))
        blocked, scratch, normalize = BlockedModulusAttention, Scratch(query, key), make_weights(bias)
        masks, seen = whole_mask(normalize.added(mask), query, key), seen_keys(mask, query, key, bias is None)
        generator = torch.Generator().manual_seed(ctx.seed)
        new = torch.Tensor.new_empty if query.shape[2] else torch.Tensor.new_zeros
        grads = [new(x, x.shape) for x in (query, key, value)]
        for group in groups(query, key):
            q, k, v, own_grad, fit = (group.select(x) for x in (query, key, value, grad, scratch.squares_fit))
            grad_q, grad_k, grad_v = (group.select(x) for x in grads)
            (q_real, q_imag), (k_real, k_imag) = _split(q), _split(k)
            q_sum, q_difference = q_real + q_imag, q_imag - q_real
            k_sum, k_difference = k_real + k_imag, k_imag - k_real
            # Sums over the blocks, features before keys, for faster accumulating products.
            of_v = scratch("of v", *v.mT.shape).zero_()
            of_common, of_real, of_imag = (
                scratch(f"of {name}", *k_real.mT.shape).zero_() for name in ("s", "real", "imag")
            )
            queries = q, rotate_back(q), own_grad, q_real, q_sum, q_difference, grad_q
            rows = zip(*map(blocks, queries), seen, strict=True)
            for (own_q, rotated, own_g, *of_own, to, n), own_mask in zip(rows, group.masks(masks, seen), strict=False):
                real, imag = scratch.scores(own_q, rotated, k[:, :n])
                weights, inverse = (scratch(name, *real.shape) for name in ("weights", "inverse"))
                kept = blocked._weights((real, imag), own_mask, fit, scratch, normalize, weights, inverse)
                of_weights = torch.bmm(own_g, v[:, :n].mT, out=scratch("grad", *real.shape))
                if ctx.dropout:
                    keep = draw_factors(weights, ctx.dropout, generator)
                    of_weights, kept = of_weights.mul_(keep), keep.mul_(weights)
                of_v[..., :n].baddbmm_(own_g.mT, kept)
                of_scores = normalize.gradient_(of_weights, weights).mul_(inverse)
                real.mul_(of_scores)  # now G
                imag.mul_(of_scores)
                total = torch.add(real, imag, out=of_scores)
                common = torch.bmm(total, k_real[:, :n])
                to_real, to_imag = _split(to)
                to_real.copy_(torch.baddbmm(common, imag, k_sum[:, :n], alpha=-1))
                to_imag.copy_(common.baddbmm_(real, k_difference[:, :n]))
                for of_keys, own, part in zip((of_common, of_real, of_imag), of_own, (total, real, imag), strict=True):
                    of_keys[..., :n].baddbmm_(own.mT, part)
            grad_real, grad_imag = grad_k.mT.chunk(2, dim=-2)
            torch.add(of_common, of_imag, out=grad_real)
            torch.sub(of_real, of_common, out=grad_imag)
            grad_v.copy_(of_v.mT)
        return *grads, None, normalize.of_bias(), None, None
