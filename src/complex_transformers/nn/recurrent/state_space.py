# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The recurrence of Mamba-3 (Lahoti et al. 2026, arXiv 2603.15569), in chunks and step by step.

h_t = alpha_t (h_{t-1} + b_t k_{t-1} v_{t-1}^T) + g_t k_t v_t^T and y_t = h_t q_t for each head: the trapezoidal rule
with alpha_t = exp(log_decay_t). A complex state is rotated by multiplying queries and keys with exp(i theta_t), where
theta_t is the sum of all angles so far: Re(q k^H) then depends on the angles between two steps.

A chunk of c steps is computed by products of matrices, as in Mamba-2 (Dao and Gu 2024, section 6). The two weights of
a key, g_t for its own step and b_{t+1} for the next one, are merged; only the diagonal of the scores needs g_t alone.
Tensors in chunks are ``[B, H, n, c, ...]``: batch, heads, number of chunks, steps of a chunk.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ...kernels.dispatch import is_eager_gpu, is_plain_cpu, run
from ...kernels.exporting import is_exporting, scan
from ...kernels.native import state_space as native
from ...kernels.state_space import ChunkedStateSpace
from ...kernels.waves import phase_factor
from .. import functional as CF

__all__: list[str] = []

# States of this many chunks come from one product; more are grouped.
_GROUP = 16


def angle_dtype(device: torch.device) -> torch.dtype:
    """Return the dtype in which angles add up over chunks: float64, where the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def accumulated(increments: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """Add up angles ``[B, H, n, c, S]`` (rad) after ``first [B, H, S]``, modulo 2 pi.

    The sums are float64, so that their error does not grow with the length.

    Returns:
        The angles of all steps, in the dtype of ``increments``, and the last one in ``angle_dtype``.
    """
    sums = increments.flatten(2, 3).cumsum(2, dtype=angle_dtype(increments.device)) + first.unsqueeze(2)
    angles = torch.remainder(sums, 2.0 * math.pi)
    return angles.to(increments.dtype).view_as(increments), angles[:, :, -1]


def rotated(given: tuple[Tensor, ...], angles: Tensor) -> tuple[Tensor, ...]:
    """Rotate the first S of the complex features of each ``[..., R, N]`` (halves) by ``angles [..., S]`` (rad)."""
    if is_eager_gpu(angles):  # few kernel launches
        factor = phase_factor(angles, given[0].shape[-1] // 2).flatten(0, -2).unsqueeze(1)
        return tuple(CF.multiply(x.flatten(0, -3), factor).view_as(x) for x in given)
    cos, sin = angles.cos().unsqueeze(-2), angles.sin().unsqueeze(-2)
    return tuple(_rotate_first(x, cos, sin) for x in given)


def _rotate_first(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    real, imag = x.chunk(2, dim=-1)
    size = cos.shape[-1]
    parts = [real[..., :size], imag[..., :size]]
    rotated = [parts[0] * cos - parts[1] * sin, parts[0] * sin + parts[1] * cos]
    if size == real.shape[-1]:
        return torch.cat(rotated, dim=-1)
    return torch.cat([rotated[0], real[..., size:], rotated[1], imag[..., size:]], dim=-1)


def sides(given: tuple[tuple[Tensor, Tensor], ...], angles: Tensor | None) -> tuple[Tensor, ...]:
    """Compute queries or keys of every head, ``[B, H, n, c, R, N]``: add the bias and rotate.

    Args:
        given: B or C of every group of heads ``[B, n, c, R, G, N]``, and its bias ``[H, R, N]``.
        angles: ``[B, H, n, c, S]`` (rad), for the first S complex features; None for no rotation.
    """
    biased = tuple(_biased(x, bias) for x, bias in given)
    return biased if angles is None else rotated(biased, angles)


def _biased(x: Tensor, bias: Tensor) -> Tensor:
    x = x.permute(0, 4, 1, 2, 3, 5).unsqueeze(2)
    return (x + bias.unflatten(0, (x.shape[1], -1))[:, :, None, None]).flatten(1, 2)


def grouped_state_space(
    key: Tensor,
    query: Tensor,
    key_bias: Tensor,
    query_bias: Tensor,
    angles: Tensor | None,
    value: Tensor,
    log_decay: Tensor,
    before: Tensor,
    own: Tensor,
    skip: Tensor,
    first: Tensor,
    sequence: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Compute ``state_space`` of the ``sides`` and add values times ``skip [H]``; on the CPU in C++."""
    inputs = key, query, key_bias, query_bias, angles, value, log_decay, before, own, skip, first, sequence
    if is_plain_cpu(value) and native.can_take(*inputs[:-1]):
        y, state, _ = run(ChunkedStateSpace, _by_formula, *inputs)
        return y, state
    return _by_formula(*inputs)


def _by_formula(
    key: Tensor,
    query: Tensor,
    key_bias: Tensor,
    query_bias: Tensor,
    angles: Tensor | None,
    value: Tensor,
    log_decay: Tensor,
    before: Tensor,
    own: Tensor,
    skip: Tensor,
    *others: Any,
) -> tuple[Tensor, Tensor]:
    query, key = sides(((query, query_bias), (key, key_bias)), angles)
    y, state = state_space(query, key, value, log_decay, before, own, *others)
    return torch.addcmul(y, skip[:, None, None, None, None], value), state


def state_space(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    log_decay: Tensor,
    before: Tensor,
    own: Tensor,
    first: Tensor,
    sequence: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute the outputs of all steps and the last state.

    Args:
        query, key: ``[B, H, n, c, R, N]`` for a state of N elements and rank R.
        value: ``[B, H, n, c, R, P]``.
        log_decay: log alpha_t, ``[B, H, n, c]``, 0 or less.
        before: b_t, the weight of the step before, ``[B, H, n, c]``.
        own: g_t, ``[B, H, n, c]``.
        first: ``[B, H, P, N]``, the state before the first step, with b_0 k_{-1} v_{-1}^T added.
        sequence: index of the packed sequence of every step, ``[B, n, c]``, 0 for the one that ``first`` belongs to.
            ``before`` must be 0 at the first step of a sequence.

    Returns:
        y ``[B, H, n, c, R, P]`` and h ``[B, H, P, N]``.
    """
    steps, rank = query.shape[3:5]
    total = log_decay.cumsum(-1)
    after = torch.cat([before.flatten(2)[..., 1:], torch.zeros_like(before[..., 0, :1])], dim=-1).view_as(before)
    scale = own + after
    q, k = query.flatten(3, 4), key.flatten(3, 4)
    from_start, to_end = total.exp(), (total[..., -1:] - total).exp()
    ends = None
    if sequence is not None:
        ends = torch.cat([torch.zeros_like(sequence[:, :1, 0]), sequence[..., -1]], dim=1)
        from_start = from_start * (sequence == ends[:, :-1, None]).unsqueeze(1)
        to_end = to_end * (sequence == ends[:, 1:, None]).unsqueeze(1)
    updates = _rows(value, scale * to_end).mT @ k
    states = carried(updates.flatten(-2), total[..., -1], first.flatten(-2), ends).unflatten(-1, first.shape[-2:])
    scores = (q @ k.mT).unflatten(-1, (steps, rank)).unflatten(-3, (steps, rank))
    weights = scores * _decays(total, sequence)[..., :, None, :, None]
    y = weights.flatten(-4, -3).flatten(-2) @ _rows(value, scale) + (q @ states[:, :, :-1].mT) * _repeated(
        from_start, rank
    )
    return y.unflatten(3, (steps, rank)) + _diagonal(scores, value, own), states[:, :, -1]


def _rows(value: Tensor, scale: Tensor) -> Tensor:
    """Scale values, and put all ranks of all steps into one axis: ``[B, H, n, c R, P]``."""
    return (value * scale[..., None, None]).flatten(3, 4)


def _repeated(x: Tensor, rank: int) -> Tensor:
    """Repeat a number of each step for its ranks: ``[B, H, n, c R, 1]``."""
    return (x if rank == 1 else x.repeat_interleave(rank, dim=-1)).unsqueeze(-1)


def _decays(total: Tensor, sequence: Tensor | None) -> Tensor:
    """Compute the decay from each earlier step of a chunk to each step, ``[B, H, n, c, c]``, 0 from others."""
    earlier = torch.ones(total.shape[-1], total.shape[-1], dtype=torch.bool, device=total.device).tril(-1)
    decays = (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(~earlier, -math.inf).exp()
    if sequence is None:
        return decays
    return decays * (sequence.unsqueeze(-1) == sequence.unsqueeze(-2)).unsqueeze(1)


def _diagonal(scores: Tensor, value: Tensor, own: Tensor) -> Tensor:
    """Compute the output that a step has from itself, ``[B, H, n, c, R, P]``, of scores ``[..., c, R, c, R]``."""
    diagonal = scores.diagonal(dim1=-4, dim2=-2) * own[..., None, None, :]
    if value.shape[-2] == 1:
        return value * diagonal.flatten(-3)[..., None, None]
    return torch.einsum("...rsc,...csp->...crp", diagonal, value)


def carried(updates: Tensor, log_decay: Tensor, first: Tensor, ends: Tensor | None = None) -> Tensor:
    """Compute the states S_k = exp(log_decay_k) S_{k-1} + update_k, starting with S_0 = ``first``.

    Args:
        updates: ``[B, H, n, F]``.
        log_decay: ``[B, H, n]``.
        first: ``[B, H, F]``.
        ends: ``[B, n + 1]``, index of the sequence of every state; states of another sequence are forgotten.

    Returns:
        ``[B, H, n + 1, F]``.
    """
    if is_exporting():
        return _exported_states(updates, log_decay, first, ends)
    count = updates.shape[2]
    if count <= _GROUP:
        return _transition(log_decay, ends) @ torch.cat([first.unsqueeze(2), updates], dim=2)
    missing = -count % _GROUP
    updates = torch.nn.functional.pad(updates, (0, 0, 0, missing)).unflatten(2, (-1, _GROUP))
    log_decay = torch.nn.functional.pad(log_decay, (0, missing)).unflatten(2, (-1, _GROUP))
    groups = whole = None
    if ends is not None:
        padded = torch.cat([ends, ends[:, -1:].expand(-1, missing)], dim=1)
        groups, whole = padded.unfold(1, _GROUP + 1, _GROUP), padded[:, ::_GROUP]
    transition = _transition(log_decay, groups)
    last = (transition[..., -1:, 1:] @ updates).squeeze(-2)
    entering = carried(last, log_decay.sum(-1), first, whole)[:, :, :-1]
    states = transition[..., 1:, :] @ torch.cat([entering.unsqueeze(3), updates], dim=3)
    return torch.cat([first.unsqueeze(2), states.flatten(2, 3)[:, :, :count]], dim=2)


def _transition(log_decay: Tensor, ends: Tensor | None) -> Tensor:
    """Compute the decay from every state to every later one, ``[B, H, ..., n + 1, n + 1]``."""
    decay = torch.nn.functional.pad(log_decay, (1, 0)).unsqueeze(-1)
    size = decay.shape[-2]
    later = torch.ones(size, size, dtype=torch.bool, device=decay.device).tril()
    # Sums of the steps between, not differences of sums from the start, which cancel.
    between = decay.expand(*decay.shape[:-1], size).masked_fill(~later.tril(-1), 0.0).cumsum(-2)
    transition = between.masked_fill(~later, -math.inf).exp()
    if ends is None:
        return transition
    return transition * (ends.unsqueeze(-1) == ends.unsqueeze(-2)).unsqueeze(1)


def _exported_states(updates: Tensor, log_decay: Tensor, first: Tensor, ends: Tensor | None) -> Tensor:
    """Compute ``carried`` as a loop of an exported graph."""
    decay = log_decay.exp()
    if ends is not None:
        decay = decay * (ends[:, 1:] == ends[:, :-1]).unsqueeze(1)

    def step(carry: tuple[Tensor, ...], inputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        state = inputs[0].unsqueeze(-1) * carry[0] + inputs[1]
        return (state,), (state,)

    (states,), _ = scan(step, (first,), (decay.movedim(2, 0), updates.movedim(2, 0)))
    return torch.cat([first.unsqueeze(2), states.movedim(0, 2)], dim=2)


def state_space_step(
    query: Tensor, keys: Tensor, values: Tensor, decay: Tensor, first: Tensor
) -> tuple[Tensor, Tensor]:
    """Compute one step: y ``[B, H, R, P]`` and h ``[B, H, P, N]``.

    Args:
        query: ``[B, H, R, N]``.
        keys, values: of the step before and of this one, ``[B, H, 2 R, N]`` and ``[B, H, 2 R, P]``, values weighted.
        decay: alpha_t, ``[B, H]``.
        first: ``[B, H, P, N]``, the state before the step.
    """
    decayed = first * decay[..., None, None]
    state = torch.baddbmm(decayed.flatten(0, 1), values.flatten(0, 1).mT, keys.flatten(0, 1)).view_as(first)
    return query @ state.mT, state
