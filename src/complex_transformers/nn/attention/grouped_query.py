# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Grouped-query attention with rotary positions over both number fields."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ...kernels.modulus_attention import rotate_back
from .. import (
    functional as CF,
)
from ..arithmetic import arithmetic
from ..checks import check_choice
from ..low_bit.rounding import check_activation_bits, round_parts
from ..normalization import rms_norm
from ..widely_linear import linear_layer
from .multi_head import (
    AttentionFunction,
    HeadedAttention,
    check_attention,
    default_scaling,
    merge_heads,
    split_heads,
)
from .phase_coherent import SigmoidBias
from .polar import PolarHeads

__all__ = ["GroupedQueryAttention"]

IMAGINARY_HEADS = ("none", "equal_heads", "equal_cache")


class GroupedQueryAttention(HeadedAttention):
    """Causal self-attention of H query heads to H / G key heads (Ainslie et al. 2023), with rotary positions.

    q_t -> q_t exp(i w t), likewise k (Su et al. 2021), then softmax(Re(q k^H) s) v or another score and normalization
    of ``complex_attention``. A head of D complex features has D angles and scales scores by D^(-1/2). In the real
    field a head of width h has h / 2 angles and scales scores by h^(-1/2), as Llama does.

    Args:
        embed_dim: stored width 2d.
        num_heads: H.
        num_key_value_heads: H / G; default H, see ``imaginary_heads``.
        head_dim: stored width 2D of a head, even; default ``embed_dim / num_heads``.
        dropout: dropout probability of the attention weights.
        bias: biases of q, k and v.
        output_bias: bias of o; default ``bias``.
        score, normalization: see ``complex_attention``; default ``real`` with ``softmax``.
        scaling: factor s of the scores; default as above, its inverse for ``cosine``.
        linear_type: see ``linear_layer``.
        qk_norm: True for an RMS norm over each head of queries and keys before they rotate (Qwen3), ``"all_heads"``
            for one norm over all heads together (OLMo 2).
        sub_norm: an RMS norm before o (iFairy, Wang et al. 2025).
        norm_scale, eps: of these norms, see ``rms_norm``.
        activation_bits: bits of the inputs of the four projections, see ``round_parts`` (iFairy: 8); default no
            rounding.
        softcap: limit of the scores, see ``complex_attention`` (Gemma 2); default none.
        polar: queries and keys in polar form, see ``PolarHeads`` (PoPE).
        imaginary_heads: heads with the score Im(q k^H) beside those with Re(q k^H), from the same queries and keys
            (RoPE++, Liu et al., arXiv 2512.07525). ``equal_cache``: H more heads, and a wider o. ``equal_heads``: H/2
            of the H heads are imaginary, so q has half its size, and k, v and the cache, too, by the default of
            ``num_key_value_heads``, which is H/2. Default ``none``.
        layer_idx: index of this layer in a cache.
        number_field: ``"complex"`` or ``"real"``.
        attention_function, training_length: as in ``ComplexMultiheadAttention``.

    Raises:
        ValueError: numbers of heads that do not divide, an odd head width, an unknown name, or a name that the number
            field does not have.
    """

    is_causal = True
    column_parallel: ClassVar[tuple[str, ...]] = ("q_proj", "k_proj", "v_proj")
    row_parallel: ClassVar[tuple[str, ...]] = ("o_proj",)

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        num_key_value_heads: int | None = None,
        head_dim: int | None = None,
        dropout: float = 0.0,
        bias: bool = False,
        output_bias: bool | None = None,
        score: str = "real",
        normalization: str = "softmax",
        scaling: float | None = None,
        linear_type: str | None = None,
        qk_norm: bool | str = False,
        sub_norm: bool = False,
        norm_scale: str | None = None,
        eps: float = 1e-6,
        activation_bits: int | None = None,
        softcap: float | None = None,
        polar: bool = False,
        imaginary_heads: str = "none",
        layer_idx: int | None = None,
        number_field: str = "complex",
        attention_function: AttentionFunction | None = None,
        training_length: int = 2048,
    ) -> None:
        super().__init__()
        self.attention_function = attention_function
        self.numbers = arithmetic(number_field)
        check_attention(score, normalization, number_field)
        num_queries = num_query_heads(num_heads, imaginary_heads)
        num_key_value_heads = num_queries if num_key_value_heads is None else num_key_value_heads
        check_heads(embed_dim, num_heads, num_key_value_heads, head_dim, imaginary_heads)
        head_dim = embed_dim // num_heads if head_dim is None else head_dim
        self.num_heads = num_queries  # without imaginary heads
        self.num_key_value_heads = num_key_value_heads
        self.has_imaginary_heads = imaginary_heads != "none"
        num_contexts = 2 * num_queries if self.has_imaginary_heads else num_queries
        self.num_key_value_groups = num_contexts // num_key_value_heads
        self.head_dim = head_dim
        self.dropout = dropout
        self.score = score
        self.normalization = normalization
        self.layer_idx = layer_idx
        check_activation_bits(activation_bits)
        self.activation_bits = activation_bits
        self.scaling = default_scaling(score, self.numbers.num_features(head_dim)) if scaling is None else scaling
        self.sigmoid = SigmoidBias(training_length) if normalization == "sigmoid" else None
        linear = linear_layer(linear_type, number_field)
        self.q_proj = linear(embed_dim, num_queries * head_dim, bias=bias)
        self.k_proj = linear(embed_dim, num_key_value_heads * head_dim, bias=bias)
        self.v_proj = linear(embed_dim, num_key_value_heads * head_dim, bias=bias)
        self.o_proj = linear(num_contexts * head_dim, embed_dim, bias=bias if output_bias is None else output_bias)
        self.softcap = softcap
        self.qk_norm = qk_norm
        normed = (num_queries, num_key_value_heads) if qk_norm == "all_heads" else (1, 1)
        norms = [rms_norm(heads * head_dim, eps, norm_scale, number_field) if qk_norm else None for heads in normed]
        self.q_norm, self.k_norm = norms
        self.sub_norm = rms_norm(num_contexts * head_dim, eps, norm_scale, number_field) if sub_norm else None
        self.polar = PolarHeads(num_key_value_heads, head_dim) if polar else None

    def _heads(self, x: Tensor, num_heads: int, norm: nn.Module | None = None) -> Tensor:
        """``[B, T, ...] -> [B, heads, T, 2D]``, normalised."""
        if norm is not None and self.qk_norm == "all_heads":
            x, norm = norm(x), None
        heads = split_heads(x, num_heads, self.numbers.num_parts)
        return heads if norm is None else norm(heads)

    def _placed(self, query: Tensor, key: Tensor, factors: Tensor | None) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys, or put them into polar form, and append the queries of imaginary heads."""
        if self.polar is not None:
            query, key = self.polar(query, key, factors)
        elif factors is not None:
            factors = factors.to(query.dtype)
            query, key = CF.multiply(query, factors), CF.multiply(key, factors)
        if self.has_imaginary_heads:  # Re(-i q k^H) = Im(q k^H)
            query = torch.stack([query, rotate_back(query)], dim=2).flatten(1, 2)
        return query, key

    def forward(
        self,
        hidden_states: Tensor,
        *,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        factors: Tensor | None = None,
        cache: Any = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend as ``attend_from``, with the masks of ``ComplexMultiheadAttention``."""
        masks = self.masks(hidden_states, attention_mask, attn_mask, key_padding_mask)
        return self.attend_from(hidden_states, factors=factors, cache=cache, need_weights=need_weights, **masks)

    def attend_from(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        factors: Tensor | None = None,
        cache: Any = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``hidden_states [B, T, 2d]`` to themselves and to the tokens of the cache.

        Args:
            hidden_states: ``[B, T, 2d]``.
            attention_mask: as in ``complex_attention``; None for the causal mask alone.
            factors: ``[B or 1, 1, T, 2D]`` of ``RotaryPositions``, factors of queries and keys; None for no positions.
                ``polar`` needs ``[B or 1, 1, T, 4D]``: ``head_dim`` features, in both fields.
            cache: a cache with ``update(key, value, layer_idx)``, extended by this call; it stores rotated keys.
            kwargs: for the attention function.

        Returns:
            The output ``[B, T, 2d]`` and the weights, or None if the attention function returns none.
        """
        hidden_states = round_parts(hidden_states, self.activation_bits, self.numbers.num_parts)
        query = self._heads(self.q_proj(hidden_states), self.num_heads, self.q_norm)
        key = self._heads(self.k_proj(hidden_states), self.num_key_value_heads, self.k_norm)
        value = self._heads(self.v_proj(hidden_states), self.num_key_value_heads)
        query, key = self._placed(query, key, factors)
        query, key = self.comparable(query), self.comparable(key)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx, kwargs=kwargs)  # as Transformers' layers call it
        if self.softcap is not None:
            kwargs["softcap"] = self.softcap
        context, weights = self.attend(query, key, value, attention_mask, **kwargs)
        context = merge_heads(context, self.numbers.num_parts)
        context = context if self.sub_norm is None else self.sub_norm(context)
        return self.o_proj(round_parts(context, self.activation_bits, self.numbers.num_parts)), weights

    def extra_repr(self) -> str:
        text = f"num_heads={self.num_heads}, num_key_value_heads={self.num_key_value_heads}, head_dim={self.head_dim}"
        return f"{text}, score={self.score!r}, normalization={self.normalization!r}"


def num_query_heads(num_heads: int, imaginary_heads: str) -> int:
    """Return how many queries a token is projected to; imaginary heads share them."""
    return num_heads // 2 if imaginary_heads == "equal_heads" else num_heads


def check_heads(
    embed_dim: int, num_heads: int, num_key_value_heads: int, head_dim: int | None, imaginary_heads: str = "none"
) -> None:
    """Raise unless the key heads divide the query heads and a head has an even width."""
    check_choice("imaginary_heads", imaginary_heads, IMAGINARY_HEADS)
    queries = num_query_heads(num_heads, imaginary_heads)
    if queries < 1 or num_key_value_heads < 1 or queries % num_key_value_heads:
        half = "half of " if imaginary_heads == "equal_heads" else ""
        raise ValueError(
            f"num_key_value_heads must divide {half}num_attention_heads={num_heads}, got {num_key_value_heads}"
        )
    if head_dim is None and embed_dim % num_heads:
        raise ValueError(f"num_attention_heads must divide the width {embed_dim}, got {num_heads}. Or set head_dim.")
    width = embed_dim // num_heads if head_dim is None else head_dim
    if width < 1 or width % 2:
        raise ValueError(f"head_dim (halves) must be even, got {width}. Set it, or change num_attention_heads.")
