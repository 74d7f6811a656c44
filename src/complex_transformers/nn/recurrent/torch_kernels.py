# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex LSTM and GRU layers as real ones of the same stored width, by torch's fused kernels (cuDNN on a GPU).

A layer whose states are ``split_tanh`` and whose gates are real rows of the product *is* a real layer of the same
stored width: the row of a gate is repeated for the real and the imaginary half, the candidate has a row for each.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from ...kernels.accelerator.recurrent_weights import Direction, flat_parameters, takes_directions
from ...kernels.dispatch import product_dtype
from ..padding_order import real_first, reorder

__all__: list[str] = []

States = tuple[Tensor, ...]


def run_layer(
    rnn_type: str,
    x: Tensor,
    states: States,
    weights: Sequence[Direction],
    batch_sizes: Tensor | None = None,
) -> tuple[Tensor, States]:
    """Run one layer in one or both directions.

    Args:
        rnn_type: ``"lstm"`` or ``"gru"``.
        x: ``[N, B, 2 in]`` halves, or the data ``[steps, 2 in]`` of a packed sequence with ``batch_sizes``.
        states: initial states, ``[directions, B, 2d]`` each.
        weights: for each direction A, B and the bias of input and state, and alpha and beta of its gates alpha Re z
            + beta Im z, ``[2, gates - 1, d]``; None for gates Re z.

    Returns:
        The states after every step, halves of width ``directions * 2d``, and the last states.
    """
    dtype = product_dtype(x)
    parameters = in_cudnn_order(weights, dtype)
    x, states = x.to(dtype), tuple(state.to(dtype) for state in states)
    directions = len(weights)
    # In evaluation mode cuDNN saves nothing for a backward pass.
    options = (len(parameters) == 4 * directions, 1, 0.0, torch.is_grad_enabled(), directions == 2)
    hx = states if rnn_type == "lstm" else states[0]
    run = getattr(torch._VF, rnn_type)
    with torch.autocast(x.device.type, enabled=False):
        if batch_sizes is None:
            out, *last = run(x, hx, parameters, *options, False)
        else:
            out, *last = run(x, batch_sizes, hx, parameters, *options)
    if directions == 2:  # torch orders directions before parts
        out = out.unflatten(-1, (2, 2, -1)).transpose(-2, -3).flatten(-3)
    return out, tuple(last)


def gate_coefficients(learned: Tensor | None, num_gates: int, like: Tensor) -> Tensor:
    """Return alpha and beta of alpha Re z + beta Im z for each row of the real layer, ``[2, gates, 2, d]``.

    Both halves of a gate have its row; the halves of the candidate, which is third, are Re z and Im z.
    """
    unit = torch.eye(2, dtype=like.dtype, device=like.device)
    d = like.shape[0] // num_gates
    candidate = unit[:, None, :, None].expand(2, 1, 2, d)
    gates = (unit[:, :1, None] if learned is None else learned).expand(2, num_gates - 1, d).unsqueeze(2)
    gates = gates.expand(2, num_gates - 1, 2, d)
    return torch.cat([gates[:, :2], candidate, gates[:, 2:]], dim=1)


def real_parameters(direction: Direction) -> list[Tensor]:
    """Return weights ``[gates 2d, 2 in]``, ``[gates 2d, 2d]`` and two biases, or none, of one direction."""
    a, b, bias, c, d, state_bias, learned = direction
    num_gates = c.shape[0] // c.shape[1]
    alpha, beta = gate_coefficients(learned, num_gates, c)

    def rows(real: Tensor, imag: Tensor) -> Tensor:
        """Return alpha Re + beta Im of each row."""
        real, imag = (part.view(num_gates, 1, -1, *part.shape[1:]) for part in (real, imag))
        first, second = (factor if real.dim() == 3 else factor.unsqueeze(-1) for factor in (alpha, beta))
        return torch.addcmul(first * real, second, imag).flatten(0, 2)

    real, imag = torch.cat([a, c], dim=1), torch.cat([b, d], dim=1)
    of_real, of_imag = rows(real, imag), rows(-imag, real)  # the columns of both halves of the input
    width = a.shape[1]
    columns = slice(width), slice(width, None)
    weights = [torch.cat([of_real[:, part], of_imag[:, part]], dim=1) for part in columns]
    if bias is None:
        return weights
    biases = [rows(*given.chunk(2)) for given in (bias, state_bias) if given is not None]
    return [*weights, biases[0], biases[1] if len(biases) == 2 else torch.zeros_like(biases[0])]


def in_cudnn_order(directions: Sequence[Direction], dtype: torch.dtype) -> list[Tensor]:
    """Return the parameters of a real layer in torch's order, as views of one tensor in cuDNN's order.

    cuDNN would copy parameters with a warning otherwise. torch lists the parameters of a direction together, cuDNN
    the weights of all directions before their biases.
    """
    if takes_directions(directions):
        flat = flat_parameters(directions, dtype, flat_by_formula)
    else:
        flat = flat_by_formula(directions, dtype)
    shapes = [(2 * len(part), 2 * part.shape[1]) for direction in directions for part in (direction[0], direction[3])]
    count = len(shapes) if directions[0][2] is not None else 0
    sizes = [rows * columns for rows, columns in shapes] + [rows for rows, _ in shapes[:count]]
    pieces = flat.split(sizes)
    weights = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=False)]
    biases = pieces[len(shapes) :]
    pairs = [(*weights[i : i + 2], *biases[i : i + 2]) for i in range(0, len(weights), 2)]
    return [tensor for pair in pairs for tensor in pair]


def flat_by_formula(directions: Sequence[Direction], dtype: torch.dtype) -> Tensor:
    """Return all parameters in cuDNN's order by differentiable operations."""
    real = [real_parameters(direction) for direction in directions]
    ordered = [tensor for part in (slice(2), slice(2, None)) for parameters in real for tensor in parameters[part]]
    return torch.cat([tensor.flatten() for tensor in ordered]).to(dtype)


class Packing:
    """The real steps of a batch of sequences as a packed sequence, wherever the padding is.

    Args:
        mask: ``[N, B]``, true for real steps. A row without any counts as one of a single step, to be discarded.
    """

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask
        self.order, self.back = real_first(mask, 0)
        self.lengths = mask.sum(0)

    def pack(self, x: Tensor, states: States) -> tuple[Tensor, States]:
        """Return the data of ``x [N, B, width]`` and the states ``[layers, B, width]`` in the order of packed rows."""
        lengths = self.lengths.clamp(min=1).cpu()
        packed = pack_padded_sequence(reorder(x, self.order, 0), lengths, enforce_sorted=False)
        self.like = packed
        return packed.data, tuple(state[:, packed.sorted_indices] for state in states)

    def unpack(self, data: Tensor, before: States, after: States) -> tuple[Tensor, States]:
        """Return outputs ``[N, B, width]``, zero where the mask is false, and the last states; inverse of ``pack``."""
        like = self.like
        packed = PackedSequence(data, like.batch_sizes, like.sorted_indices, like.unsorted_indices)
        padded, _ = pad_packed_sequence(packed, total_length=self.mask.shape[0])
        out = reorder(padded, self.back, 0).masked_fill(~self.mask.unsqueeze(-1), 0.0)
        is_empty = (self.lengths == 0).view(1, -1, 1)
        rows = (state[:, like.unsorted_indices] for state in after)
        return out, tuple(torch.where(is_empty, old.to(new.dtype), new) for old, new in zip(before, rows, strict=True))
