# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention scores by content and by distance, added in place (Dai et al., *Transformer-XL*, ACL 2019, 3.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from .dispatch import by_formula, gradients_with_graph, without_autocast
from .modulus_attention import moduli, stack, unstack

__all__ = ["RelativeModulus", "RelativeScores", "relative_shift"]


def relative_shift(scores: Tensor) -> Tensor:
    """Convert scores by distance to scores by key: ``[..., T, S + 1] -> [..., T, S]``, as a view if possible.

    Column c of the input belongs to distance S - c. The last query is aligned with the last key, so query t and key j
    have distance S - T + t - j, and out[t, j] = in[t, T - t + j] (Dai et al., appendix B). In row-major memory this is
    element T + t S + j: the input without its first T elements, in rows of S. Entries with j > S - T + t, keys after
    the query, are meaningless and must be masked.
    """
    length, columns = scores.shape[-2:]
    return scores.flatten(-2)[..., length:].unflatten(-1, (length, columns - 1))


def _products(content: Tensor, key: Tensor, position: Tensor, distances: Tensor) -> Tensor:
    """Compute content key^T + shift(position distances^T), ``[B, H, T, S]``, with the first added in place."""
    scores = relative_shift(position @ distances.mT)
    scores.view(-1, *scores.shape[-2:]).baddbmm_(content.flatten(0, 1), key.flatten(0, 1).mT)
    return scores


def _scores(content: Tensor, key: Tensor, position: Tensor, distances: Tensor) -> tuple[Tensor]:
    """Compute ``_products`` with differentiable operations."""
    return (content @ key.mT + relative_shift(position @ distances.mT),)


def _score_moduli(content: Tensor, key: Tensor, position: Tensor, distances: Tensor, bilinear: bool) -> tuple[Tensor]:
    queries = (stack(query, bilinear).chunk(2, dim=-2) for query in (content, position))
    return (moduli(*(_scores(c, key, p, distances)[0] for c, p in zip(*queries, strict=True))),)


def _empty_gradient(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Allocate a gradient of ``scores`` by key and the same memory viewed by distance."""
    *batch, length, size = scores.shape
    by_distance = scores.new_empty(*batch, length, size + 1)
    by_distance.flatten(-2)[..., :length] = 0.0  # entries that the shift skips
    return relative_shift(by_distance), by_distance


def _gradients(by_key: Tensor, by_distance: Tensor, *inputs: Tensor, of_distances: bool) -> list[Tensor | None]:
    """Compute the gradients of the inputs of ``_products`` from the gradient of the scores, by key and by distance."""
    content, key, position, distances = inputs
    grads: list[Tensor | None] = [by_key @ key, by_key.mT @ content, by_distance @ distances, None]
    if of_distances:
        grads[-1] = (by_distance.mT @ position).sum_to_size(distances.shape)
    return grads


class RelativeScores(torch.autograd.Function):
    """``_products`` whose gradient is shifted in place, too."""

    @staticmethod
    def forward(content: Tensor, key: Tensor, position: Tensor, distances: Tensor) -> Tensor:
        return _products(content, key, position, distances)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    @without_autocast
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        if by_formula(grad):
            return gradients_with_graph(_scores, ctx.saved_tensors, ctx.needs_input_grad, (grad,))
        by_key, by_distance = _empty_gradient(grad)
        by_key.copy_(grad)
        return tuple(_gradients(by_key, by_distance, *ctx.saved_tensors, of_distances=ctx.needs_input_grad[3]))


class RelativeModulus(torch.autograd.Function):
    """Modulus of complex scores whose parts are ``_products`` of stacked queries; the gradient at 0 is 0."""

    @staticmethod
    def forward(
        content: Tensor, key: Tensor, position: Tensor, distances: Tensor, bilinear: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        queries = (stack(query, bilinear).chunk(2, dim=-2) for query in (content, position))
        real, imag = (_products(c, key, p, distances) for c, p in zip(*queries, strict=True))
        return torch.hypot(real, imag), real, imag

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        *tensors, ctx.bilinear = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*tensors, *output)

    @staticmethod
    @without_autocast
    def backward(ctx, grad: Tensor, *_):  # type: ignore[no-untyped-def]
        """Compute the gradients of content, key, position and distances: d|s| = Re(s* ds) / |s| for each score s."""
        content, key, position, distances, modulus, *parts = ctx.saved_tensors
        if by_formula(grad):
            given = content, key, position, distances, ctx.bilinear
            return gradients_with_graph(_score_moduli, given, ctx.needs_input_grad, (grad,))
        unit = grad / modulus.clamp(min=torch.finfo(modulus.dtype).tiny ** 0.5)  # as in ScoreModulus
        queries = (stack(query, ctx.bilinear).chunk(2, dim=-2) for query in (content, position))
        by_part = []
        for part, c, p in zip(parts, *queries, strict=True):
            by_key, by_distance = _empty_gradient(part)
            torch.mul(part, unit, out=by_key)
            inputs = c, key, p, distances
            by_part.append(_gradients(by_key, by_distance, *inputs, of_distances=ctx.needs_input_grad[3]))
        contents, keys, positions, of_distances = zip(*by_part, strict=True)
        return (
            unstack(torch.cat(contents, dim=-2), ctx.bilinear),
            keys[0] + keys[1],
            unstack(torch.cat(positions, dim=-2), ctx.bilinear),
            None if of_distances[0] is None else of_distances[0] + of_distances[1],
            None,
        )
