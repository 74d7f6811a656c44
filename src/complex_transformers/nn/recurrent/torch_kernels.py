# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex LSTM and GRU layers as real ones of the same stored width, by torch's fused kernels (cuDNN on a GPU).

A layer whose states are ``split_tanh`` and whose gates are real rows of the product *is* a real layer of the same
stored width: the row of a gate is repeated for the real and the imaginary half, the candidate has a row for each.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from ...kernels.dispatch import product_dtype
from ..padding_order import real_first, reorder

__all__: list[str] = []

# Rows of the real layer in the order of torch, as blocks of the folded rows: gates first, then both candidate halves.
_BLOCKS = {"lstm": (0, 0, 1, 1, 3, 4, 2, 2), "gru": (0, 0, 1, 1, 2, 3)}

# Folded weights of input and state, ``[rows, 2 in]`` and ``[rows, 2d]``, and their biases, for one direction.
Folded = tuple[Tensor, Tensor, Tensor | None, Tensor | None]
States = tuple[Tensor, ...]


def run_layer(
    rnn_type: str, x: Tensor, states: States, weights: list[Folded], batch_sizes: Tensor | None = None
) -> tuple[Tensor, States]:
    """Run one layer in one or both directions.

    Args:
        rnn_type: ``"lstm"`` or ``"gru"``.
        x: ``[N, B, 2 in]`` halves, or the data ``[steps, 2 in]`` of a packed sequence with ``batch_sizes``.
        states: initial states, ``[directions, B, 2d]`` each.
        weights: the folded weights of each direction.

    Returns:
        The states after every step, halves of width ``directions * 2d``, and the last states.
    """
    dtype = product_dtype(x)
    parameters = real_parameters(rnn_type, weights, dtype)
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


def real_parameters(rnn_type: str, weights: list[Folded], dtype: torch.dtype) -> list[Tensor]:
    """Return the parameters of the real layer as views of one tensor in cuDNN's order, which it reads without a copy.

    cuDNN stores the weights of all directions before the biases; torch lists the parameters of a direction together.
    """
    matrices = [matrix for folded in weights for matrix in folded[:2]]
    biases = [bias for folded in weights for bias in folded[2:]]
    given = [bias for bias in biases if bias is not None]
    if given:  # a real layer has no bias or two
        biases = [torch.zeros_like(given[0]) if bias is None else bias for bias in biases]
    stored = [*matrices, *(bias for bias in biases if bias is not None)]
    rows = []
    for tensor in stored:
        parts = tensor.chunk(max(_BLOCKS[rnn_type]) + 1)
        rows.append([parts[index] for index in _BLOCKS[rnn_type]])
    flat = torch.cat([part.flatten() for parts in rows for part in parts]).to(dtype)
    pieces = flat.split([sum(part.numel() for part in parts) for parts in rows])
    views = [piece.view(-1, *tensor.shape[1:]) for piece, tensor in zip(pieces, stored, strict=True)]
    pairs = len(weights)
    if not given:
        return views
    return [view for pair in range(pairs) for start in (0, 2 * pairs) for view in views[start + 2 * pair :][:2]]


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
        return out, tuple(torch.where(is_empty, old, new) for old, new in zip(before, rows, strict=True))
