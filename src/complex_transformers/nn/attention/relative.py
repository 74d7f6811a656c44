# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention with relative positions (Dai et al., *Transformer-XL*, ACL 2019, section 3.3), real and complex."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...kernels.relative_scores import RelativeModulus, RelativeScores, relative_shift
from .. import (
    functional as CF,
)
from ..linear import ComplexLinear, RealLinear, is_hooked, is_plain
from .multi_head import (
    PRODUCT_SCORES,
    ComplexMultiheadAttention,
    additive_mask,
    complex_scores,
    dot_products,
    normalize,
    resolve_causality,
    score_modulus,
)

__all__ = ["RelativeMultiheadAttention", "relative_positions", "relative_shift"]

RELATIVE_SCORES = (*PRODUCT_SCORES, "sum_of_moduli")


def check_relative_attention(normalization: str) -> None:
    """Raise for a normalization that is not implemented for relative scores."""
    if normalization in ("split_softmax", "sigmoid"):
        raise ValueError(
            "attention_normalization must be 'softmax' or 'probability_amplitude' for relative scores, got "
            f"{normalization!r}"
        )


def relative_positions(
    length: int,
    width: int,
    clamp_len: int | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    """Return R of Dai et al.: the sinusoids of the distances ``length, ..., 1, 0``, ``[length + 1, width]``.

    R_k = [sin(omega_1 k), ... | cos(omega_1 k), ...] with omega_m = 10000^(-2m / width), m = 0, 1, ... (Vaswani et
    al. 2017, section 3.5). As halves this is i e^(-i omega k): the wave of ComplexOrder (Eq. 4) at the key's position
    relative to the query, -k, up to a factor that the projection W_R absorbs. One table serves both number fields.

    Args:
        length: number of keys; the largest distance is ``length - 1``, and ``relative_shift`` omits the first row of
            the result.
        width: stored width, even.
        clamp_len: larger distances are clamped to it.
        dtype, device: dtype and device of the result; sinusoids are computed in float64.

    Raises:
        ValueError: an odd width, ``clamp_len`` below 1.
    """
    if width % 2:
        raise ValueError(f"width must be even, got {width}")
    if clamp_len is not None and clamp_len < 1:
        raise ValueError(f"clamp_len must be positive or None, got {clamp_len}")
    if torch.compiler.is_compiling() or length > _LONGEST_TABLE:
        return _sinusoids(length, width, clamp_len, dtype, device)
    size = max(64, 2 ** (length - 1).bit_length())  # one table for all lengths up to the next power of two
    place = str(torch.get_default_device() if device is None else device)
    return _sinusoid_table(size, width, clamp_len, dtype, place)[size - length :].clone()


def _sinusoids(
    length: int, width: int, clamp_len: int | None, dtype: torch.dtype, device: torch.device | str | None
) -> Tensor:
    distance = torch.arange(length, -1, -1, dtype=torch.float64, device=device)
    distance = distance if clamp_len is None else distance.clamp(max=clamp_len)
    index = torch.arange(width // 2, dtype=torch.float64, device=device)
    phase = distance.unsqueeze(-1) * torch.pow(10000.0, -2.0 * index / width)
    return torch.cat([phase.sin(), phase.cos()], dim=-1).to(dtype)


# Longer tables are not cached: they would fill the memory, and their cost is small beside such segments.
_LONGEST_TABLE = 2**13


@lru_cache(maxsize=4)
def _sinusoid_table(length: int, width: int, clamp_len: int | None, dtype: torch.dtype, device: str) -> Tensor:
    with torch.inference_mode(False):  # the table may be used in training next
        return _sinusoids(length, width, clamp_len, dtype, device)


class RelativeMultiheadAttention(ComplexMultiheadAttention):
    """Causal attention with scores of a key's content and its distance (Dai et al. 2019, section 3.3).

    With queries q_i = W_q z_i, keys k_j = W_k z_j and r_n = W_R R_n for the distance n = i - j, the score is

        A_ij = q_i k_j^H + q_i r_n^H + u k_j^H + v r_n^H = (q_i + u) k_j^H + (q_i + v) r_n^H

    (the terms a, b, c, d of the paper), scaled by d_h^(-1/2). In the real field ^H is the transpose, and the layer
    is the paper's. In the complex field the sum A_ij is one complex number; ``score`` makes it real: ``modulus``
    |A_ij|, ``real`` Re A_ij, ``bilinear_modulus`` with ^T for ^H. ``sum_of_moduli`` is |(q_i + u) k_j^H| +
    |(q_i + v) r_n^H|, as in the code released by Wang et al. (ICLR 2020). Projections have no biases, as in the paper.

    Args:
        embed_dim: stored width 2d.
        num_heads: H; divides the d complex features (the width, in the real field).
        dropout: dropout probability of the attention weights.
        score: see above; default ``modulus``, in the real field ``real``.
        normalization: ``softmax`` or ``probability_amplitude``, see ``complex_attention``.
        share_parts: Re(W) = Im(W) in q, k, v and R.
        layer_idx: index of this layer in a cache.
        bias_std: standard deviation of the initial u and v (of real and imaginary part).
        number_field: ``"complex"`` or ``"real"``.

    Raises:
        ValueError: unknown names, heads that do not divide the features, ``split_softmax``.
    """

    scores: ClassVar[tuple[str, ...]] = RELATIVE_SCORES
    column_parallel: ClassVar[tuple[str, ...]] = (*ComplexMultiheadAttention.column_parallel, "r_proj")

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        score: str | None = None,
        normalization: str = "softmax",
        share_parts: bool = False,
        layer_idx: int | None = None,
        bias_std: float = 0.02,
        number_field: str = "complex",
    ) -> None:
        check_relative_attention(normalization)
        super().__init__(
            embed_dim,
            num_heads,
            dropout=dropout,
            bias=False,
            score=score,
            normalization=normalization,
            share_parts=share_parts,
            is_causal=True,
            layer_idx=layer_idx,
            number_field=number_field,
        )
        self.bias_std = bias_std
        self.r_proj = type(self.q_proj)(embed_dim, embed_dim, bias=False, share_parts=share_parts)
        self.content_bias = nn.Parameter(torch.empty(num_heads, embed_dim // num_heads))
        self.position_bias = nn.Parameter(torch.empty(num_heads, embed_dim // num_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw u and v from a normal distribution; the projections have their own initializers."""
        torch.nn.init.normal_(self.content_bias, std=self.bias_std)
        torch.nn.init.normal_(self.position_bias, std=self.bias_std)

    def keys_and_values(self, key: Tensor, value: Tensor, cache: Any) -> tuple[Tensor, Tensor]:
        """Return keys and values of the memory and the new states; a memory of states is projected again."""
        if getattr(cache, "keeps", "keys") == "states":
            key = value = cache.update_states(key, self.layer_idx)
            cache = None
        return super().keys_and_values(key, value, cache)

    def relative_scores(self, query: Tensor, key: Tensor, positions: Tensor) -> Tensor:
        """Return real scores ``[B, H, T, S]``; the mask must hide the keys after each query.

        Queries are ``[B, H, T, 2 d_h]``, keys ``[B, H, S, 2 d_h]`` and R ``[S + 1, 2d]``.
        """
        query = query * self.scaling  # before the product: fp16 scores of long heads stay in range
        content = query + (self.content_bias * self.scaling).unsqueeze(1)
        position = query + (self.position_bias * self.scaling).unsqueeze(1)
        matrix = self.position_matrix() if self._has_few(query, positions) else None
        if matrix is None:
            distances = self._split_heads(self.r_proj(positions).unsqueeze(0))
        else:
            by_head = position.transpose(0, 1)
            by_head = (by_head.flatten(1, 2) @ matrix).view(*by_head.shape[:-1], -1)
            position, distances = by_head.transpose(0, 1), positions
        inputs = content, key, position, distances
        bilinear = self.score == "bilinear_modulus"
        if self.score == "sum_of_moduli":
            return score_modulus(content, key, False) + relative_shift(score_modulus(position, distances, False))
        if CF.is_plain_cpu(query):
            if self.score == "real":
                return CF.run(RelativeScores, *inputs)
            return CF.run(RelativeModulus, *inputs, bilinear)[0]
        if self.score == "real":
            return CF.wide(dot_products(content, key)) + relative_shift(dot_products(position, distances))
        by_key, by_distance = complex_scores(content, key, bilinear), complex_scores(position, distances, bilinear)
        parts = [CF.wide(c) + relative_shift(p) for c, p in zip(by_key, by_distance, strict=True)]
        return CF.modulus(CF.join(*parts))

    def _has_few(self, query: Tensor, positions: Tensor) -> bool:
        """Return whether (q W_R) R^H is cheaper than q (W_R R)^H, as it is for few new tokens in generation."""
        batch, heads, length, _ = query.shape
        rows, (distances, width) = batch * length, positions.shape
        return rows * (width + heads * distances) < distances * width + rows * distances

    def position_matrix(self) -> Tensor | None:
        """Return M with q r_n^H = (q M) R_n^H for each head, ``[H, 2 d_h, 2d]``: conj(W_R) as a block matrix.

        For ``bilinear_modulus`` it is W_R. None if ``r_proj`` does more than multiply by its weights.
        """
        projection = self.r_proj
        if is_hooked(projection):
            return None
        if type(projection) is ComplexLinear:
            parts = projection.real, projection.real if projection.imag is None else projection.imag
            if not all(is_plain(part) for part in parts):
                return None
            real, imag = (part.weight for part in parts)
            matrix = CF.block_matrix(real, -imag if self.score == "bilinear_modulus" else imag)
            return matrix.unflatten(0, (2, self.num_heads, -1)).transpose(0, 1).flatten(1, 2)
        if type(projection) is RealLinear and type(projection.weight) in (nn.Parameter, Tensor):
            return projection.weight.unflatten(0, (self.num_heads, -1))
        return None

    def forward(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        *,
        key_padding_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Any = None,
    ) -> tuple[Tensor, Tensor]:
        """Attend from ``hidden_states [B, T, 2d]`` to the S - T tokens of a cache, and to itself.

        Args:
            hidden_states: the new tokens.
            key_padding_mask, attn_mask: as in ``ComplexMultiheadAttention``, in addition to causality.
            attention_mask: additive or boolean (True attends), broadcast to ``[B, H, T, S]``; it must hide the keys
                after each query. None: only these are hidden.
            positions: R of ``relative_positions(S, 2d)``; None: computed here.
            cache: a cache with ``update(key, value, layer_idx)`` or, if its ``keeps`` is ``"states"``, with
                ``update_states(hidden_states, layer_idx)``; extended by this call.

        Returns:
            The output ``[B, T, 2d]`` and the weights ``[B, H, T, S]``.

        Raises:
            ValueError: ``positions`` for another number of keys.
        """
        masks = self.masks(hidden_states, attention_mask, attn_mask, key_padding_mask)
        return self.attend_from(hidden_states, positions=positions, cache=cache, **masks)

    def attend_from(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Any = None,
        is_causal: bool | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Attend as ``forward``, with one mask as Transformers passes it."""
        query = self._split_heads(self.q_proj(hidden_states))
        key, value = self.keys_and_values(hidden_states, hidden_states, cache)
        length, size = query.shape[-2], key.shape[-2]
        if positions is None:
            positions = relative_positions(size, self.embed_dim, dtype=query.dtype, device=query.device)
        if positions.shape[0] != size + 1:
            raise ValueError(
                f"positions must have {size + 1} rows for {size} keys, got {positions.shape[0]}. Use "
                f"relative_positions({size}, {self.embed_dim})."
            )
        scores = self.relative_scores(query, key, positions)
        attention_mask, is_causal = resolve_causality(self, attention_mask, is_causal, query, key)
        mask = additive_mask(attention_mask, is_causal, length, size, scores)
        weights = normalize(scores, mask, self.normalization).to(value.dtype)
        weights = F.dropout(weights, self.dropout, self.training)
        return self.out_proj(self._merge_heads((weights @ value).transpose(1, 2))), weights
