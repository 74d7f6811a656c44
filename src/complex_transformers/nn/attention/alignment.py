# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention of recurrent decoders over both number fields: additive and global, or local around a predicted position.

In the complex field the weights are complex: a softmax of the real and one of the imaginary scores (SynCoNMT Eq. 14).
The context is their complex product with the states of the source (Eq. 13). Weights are returned as halves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .. import (
    functional as CF,
)
from ..arithmetic import arithmetic
from ..functional import join, split
from ..linear import ComplexLinear, RealLinear
from ..recurrent.layers import step_product
from ..recurrent.step_loop import (
    run_masked,
)
from .multi_head import complex_scores, dot_products

__all__ = ["AdditiveAttention", "AttentiveRecurrent", "LocalAttention"]

Attend = Callable[[Tensor], tuple[Tensor, Tensor]]


def _masked_softmax(scores: Tensor, keep: Tensor | None) -> Tensor:
    """Return the softmax of ``[B, T, parts, S]`` over keys with ``keep [B, 1 or T, 1, S]``, in float32 or better."""
    scores = CF.wide(scores)
    if keep is not None:
        scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1)


def _context(weights: Tensor, values: Tensor) -> Tensor:
    """c = sum_j a_j h_j (SynCoNMT Eq. 13): weights ``[B, T, parts, S]``, values ``[B, S, width] -> [B, T, width]``."""
    sums = (weights.flatten(1, 2) @ values).unflatten(1, weights.shape[1:3])
    if weights.shape[2] == 1:
        return sums.squeeze(2)
    (a, b), (c, d) = (split(part) for part in sums.unbind(2))
    return join(a - d, b + c)


class _Alignment(nn.Module):
    """Base class: widths and the projection of keys."""

    def __init__(self, embed_dim: int, number_field: str, key_bias: bool) -> None:
        super().__init__()
        self.numbers = arithmetic(number_field)
        self.numbers.num_features(embed_dim)
        self.embed_dim = embed_dim
        self.linear = ComplexLinear if number_field == "complex" else RealLinear
        self.key_proj = self.linear(embed_dim, embed_dim, bias=key_bias)

    def keys(self, source: Tensor) -> Tensor:
        """Return W h_j for all states of the source, ``[B, S, width] -> [B, S, width]``, once for all steps."""
        return self.key_proj(source)

    def over(self, keys: Tensor, values: Tensor, mask: Tensor | None = None, num_steps: int | None = None) -> Attend:
        """Return a function ``query [B, T, width] -> (context, weights)`` over one source.

        Args:
            keys: ``[B, S, width]``, from the method ``keys``.
            values: ``[B, S, width]``, the states of the source.
            mask: ``[B, S]``, True for tokens, False for padding on either side; default all True.
            num_steps: number of calls that follow, None for many; with 1 nothing is precomputed.

        Returns:
            A function that returns the context ``[B, T, width]`` and the weights ``[B, T, S]``, in the complex field
            as halves ``[B, T, 2S]``.
        """
        raise NotImplementedError

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return context ``[B, T, width]`` and weights for ``query [B, T, width]``; arguments as in ``over``."""
        return self.over(keys, values, mask, num_steps=1)(query)


class AdditiveAttention(_Alignment):
    """e_ij = v^T tanh(W_s s_i + W_h h_j + b) (Bahdanau et al. 2015, SynCoNMT section 3.2).

    All features are complex, or all real. tanh is applied to real and imaginary part; v gives one score.

    Args:
        embed_dim: stored width of queries, source and scores.
        number_field: ``"complex"`` or ``"real"``.
    """

    def __init__(self, embed_dim: int, number_field: str = "complex") -> None:
        super().__init__(embed_dim, number_field, key_bias=True)
        self.query_proj = self.linear(embed_dim, embed_dim, bias=False)
        self.score_proj = self.linear(embed_dim, self.numbers.num_parts, bias=False)

    def over(self, keys: Tensor, values: Tensor, mask: Tensor | None = None, num_steps: int | None = None) -> Attend:
        to_query = step_product(self.query_proj, num_steps)
        to_score = step_product(self.score_proj)  # one row of the block matrix per part: cheap, and used S times
        keep = None if mask is None else mask.to(torch.bool)[:, None, None]

        def attend(query: Tensor) -> tuple[Tensor, Tensor]:
            hidden = torch.tanh(to_query(query, None).unsqueeze(2) + keys.unsqueeze(1))  # [B, T, S, width]
            scores = to_score(hidden, None).transpose(-1, -2)
            weights = _masked_softmax(scores, keep).to(values.dtype)
            return _context(weights, values), weights.flatten(2)

        return attend


class LocalAttention(_Alignment):
    """Local attention with a predicted position, "local-p" (Luong et al. 2015, Eq. 9, 10; SynCoNMT-L).

    p_i = S sigmoid(v_p^T tanh(W_p s_i)) is a real position in a source of S tokens at 1, ..., S. Scores are e_ij =
    s_i^H W h_j (Luong's "general"). Weights are the softmax over tokens at most ``window`` away from p_i, times the
    Gaussian exp(-(j - p_i)^2 / (2 sigma^2)) with sigma = window / 2. v_p is a real vector on the stored
    ``[real | imag]``: a modulus would restrict p_i to the second half of the source.

    Args:
        embed_dim: stored width of queries and source.
        window: D, 1 or more, so that a window is never empty.
        number_field: ``"complex"`` or ``"real"``.

    Raises:
        ValueError: ``window`` below 1.
    """

    def __init__(self, embed_dim: int, window: int = 10, number_field: str = "complex") -> None:
        super().__init__(embed_dim, number_field, key_bias=False)
        if window < 1:
            raise ValueError(f"window must be 1 or more, got {window}")
        self.window = window
        self.place_proj = self.linear(embed_dim, embed_dim, bias=False)
        self.place_readout = RealLinear(embed_dim, 1, bias=False)

    def over(self, keys: Tensor, values: Tensor, mask: Tensor | None = None, num_steps: int | None = None) -> Attend:
        keep = values.new_ones(values.shape[:2], dtype=torch.bool) if mask is None else mask.to(torch.bool)
        places = keep.cumsum(-1).unsqueeze(1)  # [B, 1, S]: 1, 2, ... over tokens
        lengths = places[..., -1:]

        def attend(query: Tensor) -> tuple[Tensor, Tensor]:
            predicted = CF.wide(self.place_readout(torch.tanh(self.place_proj(query))))
            distance = places - lengths * torch.sigmoid(predicted)  # [B, T, S]
            near = keep.unsqueeze(1) & (distance.abs() <= self.window)
            weights = _masked_softmax(self.scores(query, keys), near.unsqueeze(2))
            gaussian = torch.exp(-2.0 * (distance / self.window).square())
            weights = (weights * gaussian.unsqueeze(2)).to(values.dtype)
            return _context(weights, values), weights.flatten(2)

        return attend

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return s^H k, ``[B, T, width], [B, S, width] -> [B, T, parts, S]``."""
        if self.numbers.num_parts == 1:
            return dot_products(query, keys).unsqueeze(2)
        real, imag = complex_scores(query, keys)  # of s k^H, whose conjugate is s^H k
        return torch.stack([real, -imag], dim=2)

    def extra_repr(self) -> str:
        return f"window={self.window}"


ALIGNMENTS: dict[str, type[_Alignment]] = {"bahdanau": AdditiveAttention, "luong": LocalAttention}


class AttentiveRecurrent(nn.Module):
    """A recurrent layer with attention at each step (Bahdanau et al. 2015, App. A; SynCoNMT Eq. 12, 13).

    s_i = cell(W x_i + C c_i + b, s_{i-1}), where c_i is the context of s_{i-1}. The products W x_i are computed in one
    call; the rest is computed step by step.

    Args:
        rnn: one layer in one direction, of either number field.
        attention: attention of the width of the layer's states.
    """

    rnn: Any
    attention: _Alignment

    def __init__(self, rnn: Any, attention: _Alignment) -> None:
        super().__init__()
        self.rnn = rnn
        self.attention = attention
        self.context_proj = attention.linear(attention.embed_dim, rnn.num_gates * rnn.hidden_size, bias=False)

    def forward(
        self,
        x: Tensor,
        state: tuple[Tensor, ...],
        keys: Tensor,
        values: Tensor,
        source_mask: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Run over ``x [B, T, input_size]`` from ``state``, one or two ``[B, hidden_size]``.

        Args:
            x, state: inputs and the initial state.
            keys, values, source_mask: the source, as in ``AdditiveAttention``.
            mask: ``[B, T]``, True for tokens; other steps keep the state and output zeros.

        Returns:
            States ``[B, T, hidden_size]``, weights ``[B, T, S]`` (or halves), and the last state.
        """
        attend = self.attention.over(keys, values, source_mask, num_steps=x.shape[1])
        add_context = self.rnn.product(self.context_proj, num_steps=x.shape[1])

        def with_context(inputs: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
            context, weight = attend(state[0].unsqueeze(1))
            return add_context(context.squeeze(1), inputs), weight.squeeze(1)

        (out, weights), state = run_steps(self.rnn, x, state, mask, with_context)
        return out, weights, state


def run_steps(
    rnn: Any,
    x: Tensor,
    state: tuple[Tensor, ...],
    mask: Tensor | None = None,
    extend: Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]] | None = None,
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Run a layer in one direction over ``x [B, T, width]``; return states ``[B, T, hidden_size]`` and the last.

    ``extend(inputs, state)`` returns the input products of a step with an addition; its further outputs ``[B, ...]``
    are stacked to ``[B, T, ...]`` and returned after the states. Steps with ``mask [B, T]`` False keep the state and
    output zeros.
    """
    if mask is not None:
        x = x.masked_fill(~mask.unsqueeze(-1), 0.0)
    inputs, product = rnn.input_products(x, num_steps=x.shape[1]), rnn.state_product(num_steps=x.shape[1])

    def step(inputs: Tensor, state: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        inputs, *said = (inputs,) if extend is None else extend(inputs, state)
        return rnn.step(inputs, product, state), tuple(said)

    keep = None if mask is None else mask.t().unsqueeze(-1)
    said, state = run_masked(step, inputs.transpose(0, 1), state, keep)
    return tuple(tensor.transpose(0, 1) for tensor in said), state
