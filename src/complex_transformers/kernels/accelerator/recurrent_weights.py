# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Real weights and biases of a complex recurrent layer for cuDNN, with one kernel launch for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..dispatch import by_formula, gradients_with_graph, run
from . import switch

__all__ = ["Direction", "flat_parameters", "takes_directions"]

TILE = (16, 64)  # rows, columns

# A, B and the bias ``[b_re | b_im]`` of the input, the same of the state, and alpha and beta of the gates,
# ``[2, gates - 1, d]``. Weights are ``[gates d, columns]``; biases and the last may be None.
Direction = tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor, Tensor | None, Tensor | None]
WEIGHTS, BIASES, LEARNED = (0, 3), (2, 5), 6
Formula = Callable[[Sequence[Direction], torch.dtype], Tensor]


def takes_directions(directions: Sequence[Direction]) -> bool:
    """Return whether the kernels support these parameters."""
    return switch.may_run(*(tensor for direction in directions for tensor in direction if tensor is not None))


def flat_parameters(directions: Sequence[Direction], dtype: torch.dtype, formula: Formula) -> Tensor:
    """Return all parameters of a real layer in cuDNN's order: weights of every direction, then biases.

    ``formula`` computes the same with differentiable operations, for second derivatives.
    """
    return run(_Flat, dtype, formula, *(tensor for direction in directions for tensor in direction))


class _Piece(NamedTuple):
    """A weight or bias of the real layer."""

    direction: int
    place: int  # of its first tensor in the direction
    rows: slice  # of the flat tensor

    def parts(self, direction: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Return the two parts of its tensors, ``[gates d, columns]``."""
        if self.place in BIASES:
            real, imag = direction[self.place].view(2, -1, 1)
            return real, imag
        return direction[self.place], direction[self.place + 1]

    def launch(self, kernel: Any, direction: Direction, others: list[Tensor], column_tiles: bool) -> None:
        """Run ``kernel`` on tiles of all rows, and of all columns unless a program loops over them."""
        (real, imag), learned, d = self.parts(direction), direction[LEARNED], direction[3].shape[1]
        rows, columns = real.shape
        tensors = [real, imag, real if learned is None else learned, *others]  # without alpha and beta one is not read
        flags = {"LEARNED": learned is not None, "BIAS": self.place in BIASES, "M": TILE[0], "N": TILE[1]}
        programs = -(-rows // TILE[0]), -(-columns // TILE[1]) if column_tiles else 1
        switch.launch(kernel, programs, *tensors, d, rows, columns, rows - d, **flags)


def _pieces(directions: Sequence[Direction]) -> tuple[list[_Piece], int]:
    """Return the pieces in cuDNN's order, without biases that are 0, and the size of the flat tensor."""
    pieces, size = [], 0
    has_bias = directions[0][BIASES[0]] is not None
    for places in (WEIGHTS, BIASES if has_bias else ()):
        for number, direction in enumerate(directions):
            for place in places:
                tensor, start = direction[place], size
                size += 2 * len(direction[0]) if tensor is None or place in BIASES else 4 * tensor.numel()
                if tensor is not None:
                    pieces.append(_Piece(number, place, slice(start, size)))
    return pieces, size


def _directions(tensors: Sequence[Tensor | None]) -> list[Any]:
    count = LEARNED + 1
    return [tensors[start : start + count] for start in range(0, len(tensors), count)]


class _Flat(torch.autograd.Function):
    """``flat_parameters``; the gradients in the dtype of the parameters."""

    @staticmethod
    def forward(dtype: torch.dtype, formula: Formula, *tensors: Tensor | None) -> Tensor:
        from . import recurrent_weight_kernels as kernels

        directions = _directions([None if tensor is None else tensor.contiguous() for tensor in tensors])
        pieces, size = _pieces(directions)
        flat = directions[0][0].new_zeros(size, dtype=dtype)
        for piece in pieces:
            piece.launch(kernels.recurrent_rows, directions[piece.direction], [flat[piece.rows]], True)
        return flat

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.dtype, ctx.formula, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Any:  # type: ignore[no-untyped-def]
        tensors = ctx.saved_tensors
        if by_formula(grad):

            def formula(*tensors: Tensor | None) -> tuple[Tensor]:
                return (ctx.formula(_directions(tensors), ctx.dtype),)

            return None, None, *gradients_with_graph(formula, tensors, ctx.needs_input_grad[2:], (grad,))
        tensors = [None if tensor is None else tensor.contiguous() for tensor in tensors]
        return None, None, *_gradients(_directions(tensors), grad.contiguous())


def _gradients(directions: Sequence[Direction], grad: Tensor) -> list[Tensor | None]:
    """Return the gradients of all tensors from the one of the flat tensor."""
    from . import recurrent_weight_kernels as kernels

    pieces, _ = _pieces(directions)
    grads: list[list[Any]] = [
        [None if tensor is None else torch.empty_like(tensor) for tensor in d] for d in directions
    ]
    shares = [_shares(direction[LEARNED], len(pieces) // len(directions), grad) for direction in directions]
    rows = [iter(share) for share in shares]
    for piece in pieces:
        others = [grad[piece.rows], *piece.parts(grads[piece.direction]), next(rows[piece.direction])]
        piece.launch(kernels.recurrent_parts, directions[piece.direction], others, False)
    for found, share in zip(grads, shares, strict=True):
        if found[LEARNED] is not None:
            found[LEARNED] = share.sum(0).to(found[LEARNED].dtype)
    return [tensor for found in grads for tensor in found]


def _shares(learned: Tensor | None, count: int, otherwise: Tensor) -> Tensor:
    """Return a tensor for the share of each piece in the gradients of alpha and beta, or any tensors that exist."""
    if learned is None:
        return otherwise.expand(count, *otherwise.shape)
    return torch.empty(count, *learned.shape, dtype=torch.float32, device=learned.device)
