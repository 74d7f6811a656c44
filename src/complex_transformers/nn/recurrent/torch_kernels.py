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

from ...kernels.dispatch import product_dtype
from ..padding_order import real_first, reorder

__all__: list[str] = []

# Rows of the real layer in the order of torch, as blocks of the folded rows: gates first, then both candidate halves.
_BLOCKS = {"lstm": (0, 0, 1, 1, 3, 4, 2, 2), "gru": (0, 0, 1, 1, 2, 3)}

States = tuple[Tensor, ...]


def scan(
    rnn_type: str, x: Tensor, states: States, mask: Tensor | None, weights: Sequence[Tensor | None], reverse: bool
) -> tuple[Tensor, States]:
    """Run one layer in one direction.

    Args:
        rnn_type: ``"lstm"`` or ``"gru"``.
        x: ``[N, B, 2 in]`` halves.
        states: initial states, ``[B, 2d]`` each.
        mask: ``[N, B]``, true for real steps; other steps keep the states and output zeros.
        weights: folded weights ``[rows, 2 in]``, ``[rows, 2d]`` of input and state, and their biases or None each.
        reverse: run from the last step to the first.

    Returns:
        The states after every step, ``[N, B, 2d]``, and the last states.
    """
    dtype = product_dtype(x)
    parameters = real_parameters(rnn_type, weights, dtype)
    if reverse:
        x, mask = x.flip(0), None if mask is None else mask.flip(0)
    x, states = x.to(dtype), tuple(state.to(dtype) for state in states)
    with torch.autocast(x.device.type, enabled=False):
        if mask is None:
            out, states = _run(rnn_type, x, states, parameters)
        else:
            out, states = _run_masked(rnn_type, x, states, mask, parameters)
    return out.flip(0) if reverse else out, states


def real_parameters(rnn_type: str, weights: Sequence[Tensor | None], dtype: torch.dtype) -> list[Tensor]:
    """Return weights and biases of the real layer, as views of one tensor, which cuDNN reads without a copy."""
    given = [weight for weight in weights if weight is not None]
    if len(given) == 3:  # a real layer has no bias or two
        given.append(torch.zeros_like(given[2]))
    blocks = [weight.chunk(max(_BLOCKS[rnn_type]) + 1) for weight in given]
    rows = [[parts[index] for index in _BLOCKS[rnn_type]] for parts in blocks]
    flat = torch.cat([part.flatten() for parts in rows for part in parts]).to(dtype)
    pieces = flat.split([sum(part.numel() for part in parts) for parts in rows])
    return [piece.view(-1, *weight.shape[1:]) for piece, weight in zip(pieces, given, strict=True)]


def _run(
    rnn_type: str, x: Tensor, states: States, parameters: list[Tensor], batch_sizes: Tensor | None = None
) -> tuple[Tensor, States]:
    """Run the real layer over ``[N, B, width]``, or over the data of a packed sequence."""
    initial = tuple(state.unsqueeze(0) for state in states)
    # In evaluation mode cuDNN saves nothing for a backward pass.
    options = (len(parameters) == 4, 1, 0.0, torch.is_grad_enabled(), False)
    hx = initial if rnn_type == "lstm" else initial[0]
    run = getattr(torch._VF, rnn_type)
    if batch_sizes is None:
        out, *last = run(x, hx, parameters, *options, False)
    else:
        out, *last = run(x, batch_sizes, hx, parameters, *options)
    return out, tuple(state.squeeze(0) for state in last)


def _run_masked(
    rnn_type: str, x: Tensor, states: States, mask: Tensor, parameters: list[Tensor]
) -> tuple[Tensor, States]:
    """Run the real steps of each row as one packed sequence and put the outputs back in place."""
    order, back = real_first(mask, 0)
    lengths = mask.sum(0)
    # A packed row has a step or more: a row without real steps gets one, whose results are discarded.
    packed = pack_padded_sequence(reorder(x, order, 0), lengths.clamp(min=1).cpu(), enforce_sorted=False)
    data, batch_sizes, order_of_rows, back_to_rows = packed
    before = tuple(state[order_of_rows] for state in states)
    out, last = _run(rnn_type, data, before, parameters, batch_sizes)
    padded, _ = pad_packed_sequence(
        PackedSequence(out, batch_sizes, order_of_rows, back_to_rows), total_length=x.shape[0]
    )
    is_empty = (lengths == 0).unsqueeze(-1)
    last = tuple(torch.where(is_empty, old, new[back_to_rows]) for old, new in zip(states, last, strict=True))
    return reorder(padded, back, 0).masked_fill(~mask.unsqueeze(-1), 0.0), last
