# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention between complex sequences: scores, normalisations and the multi-head layer.

Heads hold matching halves: a query is ``[B, H, T, 2 d_h]`` with ``[real | imag]`` of its d_h complex features on the
last axis. The functions have the signature of Transformers' ``AttentionInterface``, so that they can be registered
there as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..kernels.accelerator.attention import attention, takes_attention
from ..kernels.dispatch import is_eager_cpu
from ..kernels.exporting import halves
from ..kernels.modulus_attention import BlockedModulusAttention, ScoreModulus, stack
from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_choice
from .widely_linear import linear_layer

__all__ = [
    "ATTENTION_FUNCTIONS",
    "ATTENTION_NORMALIZATIONS",
    "ATTENTION_SCORES",
    "ComplexMultiheadAttention",
    "check_attention",
    "complex_attention",
    "complex_scores",
    "merge_heads",
    "split_heads",
]

ATTENTION_SCORES = ("modulus", "real", "bilinear_modulus")
ATTENTION_NORMALIZATIONS = ("softmax", "probability_amplitude", "split_softmax")


def check_attention(
    score: str, normalization: str, number_field: str = "complex", scores: tuple[str, ...] = ATTENTION_SCORES
) -> None:
    """Raise unless score (one of ``scores``) and normalisation are known, belong together and exist in the field."""
    arithmetic(number_field)
    hint = "; it needs relative positions, those of complex_transfo_xl" if score == "sum_of_moduli" else ""
    check_choice("attention_score", score, scores, hint)
    check_choice("attention_normalization", normalization, ATTENTION_NORMALIZATIONS)
    if number_field == "real" and (score != "real" or normalization == "split_softmax"):
        raise ValueError(
            f"attention_score={score!r} with attention_normalization={normalization!r} needs number_field='complex'; "
            "a real network has attention_score='real' with 'softmax' or 'probability_amplitude'"
        )
    if score == "real" and normalization == "split_softmax":
        raise ValueError(
            "attention_normalization='split_softmax' normalises both parts of a complex score: use it with "
            "attention_score='modulus' (q k^H) or 'bilinear_modulus' (q k^T), not 'real'"
        )


def check_shared_parts(share_parts: bool, linear_type: str | None) -> None:
    """Raise where the parts of a layer would be shared that has more of them than A and B."""
    if share_parts and linear_type in ("conjugate", "widely_linear"):
        raise ValueError(
            f"share_parts=True is for layers W z, not for linear_type={linear_type!r}: use linear_type='complex', or "
            "share_parts=False"
        )


# --- scores -------------------------------------------------------------------------------------------------------


def complex_scores(query: Tensor, key: Tensor, bilinear: bool = False) -> tuple[Tensor, Tensor]:
    """(Re, Im) of q k^H (ComplexOrder Eq. 14, Thesis 2.44), or of q k^T when ``bilinear``.

    ``[..., T, 2d], [..., S, 2d] -> [..., T, S]`` twice.
    """
    return halves(dot_products(stack(query, bilinear), key), dim=-2)


def dot_products(query: Tensor, key: Tensor) -> Tensor:
    """q k^T; float16, whose range ends at 65504, is multiplied in float32, where every score has room."""
    half = query.dtype == torch.float16
    return query.float() @ key.float().mT if half else query @ key.mT


def score_modulus(query: Tensor, key: Tensor, bilinear: bool) -> Tensor:
    if CF.is_plain_cpu(query):
        return CF.run(ScoreModulus, query, key, bilinear)[0]
    real, imag = complex_scores(query, key, bilinear)
    return CF.modulus(CF.join(CF.wide(real), CF.wide(imag)))


# --- heads ------------------------------------------------------------------------------------------------------


def split_heads(x: Tensor, num_heads: int, num_parts: int = 2) -> Tensor:
    """``[B, T, H 2d_h] -> [B, H, T, 2d_h]``: the halves of a head stay together; one part for real numbers."""
    if num_parts == 1:
        return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    return x.unflatten(-1, (2, num_heads, -1)).permute(0, 3, 1, 2, 4).flatten(-2)


def merge_heads(x: Tensor, num_parts: int = 2) -> Tensor:
    """``[B, T, H, 2d_h] -> [B, T, H 2d_h]``: the inverse, of what attention returns."""
    if num_parts == 1:
        return x.flatten(-2)
    return x.unflatten(-1, (2, -1)).transpose(-2, -3).flatten(-3)


# --- attention ----------------------------------------------------------------------------------------------------


def additive_mask(mask: Tensor | None, module: nn.Module, length: int, size: int, like: Tensor) -> Tensor | None:
    """A mask as Transformers passes it (None, boolean with true = attend, or additive) as an additive one."""
    if mask is None:
        if not getattr(module, "is_causal", False) or length == 1:
            return None
        mask = torch.ones(length, size, dtype=torch.bool, device=like.device).tril(size - length)
    if not (mask.is_floating_point() or mask.dtype == torch.bool):
        raise TypeError(
            f"attention_mask is of {mask.dtype}, which could mean either: give a boolean one, where true attends, or "
            "floating numbers, which are added to the scores"
        )
    if mask.dtype == torch.bool:
        removed, mask = ~mask, torch.zeros(mask.shape, dtype=like.dtype, device=mask.device)
    else:  # the lowest number of a narrow dtype is not low beside wide scores
        removed, mask = mask <= torch.finfo(mask.dtype).min, mask.to(like.dtype)
    return mask.masked_fill(removed, torch.finfo(like.dtype).min)[..., :size]


def normalize(scores: Tensor, mask: Tensor | None, normalization: str) -> Tensor:
    """Real weights of real scores ``[..., T, S]`` with an additive mask."""
    if normalization == "softmax":
        return torch.softmax(scores if mask is None else scores + mask, dim=-1)
    return CF.normalize_probability_amplitude(scores, mask)


def complex_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    *,
    score: str = "modulus",
    normalization: str = "softmax",
    need_weights: bool = True,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """softmax(|q k^H| scaling + mask) v (ComplexOrder Eq. 13, 14), and the other scores and normalisations.

    Scores: ``modulus`` |q k^H|; ``real`` Re(q k^H), the plain dot product of halves (also of real numbers);
    ``bilinear_modulus`` |q k^T| (the released ComplexOrder code). Normalisations: ``softmax``;
    ``probability_amplitude`` s_j^2 / (1 + sum s^2) (Thesis 2.37, 2.43); ``split_softmax`` softmax(Re s) +
    i softmax(Im s) of the complex score itself (SynCoNMT Eq. 14), with a complex product for the context (Eq. 13).

    Args:
        module: the calling layer; ``module.training``, ``module.is_causal`` and, where it has them,
            ``module.num_key_value_groups`` are read.
        query, key, value: ``[B, H, T, D]``, ``[B, H, S, D]``, ``[B, H, S, D_v]``; keys and values of H / G heads where
            G = ``num_key_value_groups`` queries share them (Ainslie et al. 2023).
        attention_mask: additive or boolean (true attends), broadcast to ``[B, H, T, S]``; None for no mask.
        scaling: factor on the scores, default D^(-1/2).
        dropout: probability on the weights, while training.
        score, normalization: names of the formulas above.
        need_weights: False allows ``softmax`` to be computed block by block, on the CPU for modulus scores, by a
            Triton kernel for all: memory linear in the length, sums in float32 or better whatever the dtype and
            autocast, no weights returned.

    Returns:
        The context ``[B, T, H, D_v]`` and the weights ``[B, H, T, S]`` (``[real | imag]`` halves, ``[B, H, T, 2S]``,
        for ``split_softmax``), or None.
    """
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    groups = getattr(module, "num_key_value_groups", 1)
    bilinear = score == "bilinear_modulus"
    dropout = dropout if module.training else 0.0
    if not need_weights and normalization == "softmax":
        # Without a mask a causal query attends to the keys up to its own, which stands at their end.
        is_causal = attention_mask is None and getattr(module, "is_causal", False) and query.shape[-2] > 1
        if takes_attention(query, key, value, attention_mask, groups, score, is_causal):
            given = query, key, value, attention_mask
            return attention(*given, score, scaling, groups, is_causal=is_causal, dropout=dropout), None
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    query = query * scaling  # before the product: fp16 scores of long heads stay in range
    learned = attention_mask is not None and attention_mask.requires_grad  # blocks have no gradient for it
    if not (need_weights or learned) and score != "real" and normalization == "softmax" and is_eager_cpu(query):
        return blocked_attention(module, query, key, value, attention_mask, bilinear, dropout), None
    if normalization == "split_softmax":
        scores = CF.wide(torch.stack(complex_scores(query, key, bilinear), dim=-3))  # [B, H, 2, T, S]
        mask = additive_mask(attention_mask, module, scores.shape[-2], scores.shape[-1], scores)
        scores = scores if mask is None else scores + (mask.unsqueeze(-3) if mask.dim() > 2 else mask)
        parts = torch.softmax(scores, dim=-1).to(value.dtype)
        keep = F.dropout(torch.ones_like(parts[:, :, 0]), dropout)  # one mask for both parts
        weights = CF.join(*(part * keep for part in parts.unbind(-3)))
        real, imag = CF.split(weights)  # from the returned tensor: gradients with respect to it can be asked for
        (a, b), (c, d) = CF.split(real @ value), CF.split(imag @ value)
        return CF.join(a - d, b + c).transpose(1, 2), weights

    scores = dot_products(query, key) if score == "real" else score_modulus(query, key, bilinear)
    scores = CF.wide(scores)
    mask = additive_mask(attention_mask, module, scores.shape[-2], scores.shape[-1], scores)
    weights = F.dropout(normalize(scores, mask, normalization).to(value.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


def blocked_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    bilinear: bool,
    dropout: float,
) -> Tensor:
    """softmax(|q k^H| + mask) v block by block, ``[B, T, H, D_v]``; queries are scaled already."""
    query = CF.conj(query) if bilinear else query  # |q k^T| = |conj(q) k^H|
    dtype, parts = value.dtype, [CF.wide(part) for part in (query, key, value)]
    mask = additive_mask(attention_mask, module, query.shape[-2], key.shape[-2], parts[0])
    mask = None if mask is None else mask[(None,) * (4 - mask.dim())]
    seed = int(torch.randint(2**62, ())) if dropout else 0
    with torch.autocast("cpu", enabled=False):  # weights of half precision would cost more than they save
        context = CF.run(BlockedModulusAttention, *parts, mask, dropout, seed)
    return context.to(dtype).transpose(1, 2)


ATTENTION_FUNCTIONS: dict[tuple[str, str], Callable[..., tuple[Tensor, Tensor | None]]] = {
    (score, normalization): partial(complex_attention, score=score, normalization=normalization)
    for score in ATTENTION_SCORES
    for normalization in ATTENTION_NORMALIZATIONS
    if (score, normalization) != ("real", "split_softmax")
}


class HeadedAttention(nn.Module):
    """What attention layers share: the call of the function that scores, normalises and sums."""

    num_heads: int
    dropout: float
    score: str
    normalization: str
    scaling: float

    def attention_function(self) -> Callable[..., tuple[Tensor, Tensor | None]]:
        """The function; a subclass may look it up elsewhere."""
        return ATTENTION_FUNCTIONS[self.score, self.normalization]

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
    ) -> tuple[Tensor, Tensor | None]:
        """Context ``[B, T, H, D_v]`` and weights or None, with the scaling and the dropout of the layer."""
        dropout = self.dropout if self.training else 0.0
        function = self.attention_function()
        return function(self, query, key, value, attention_mask, scaling=self.scaling, dropout=dropout, **kwargs)

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, score={self.score!r}, normalization={self.normalization!r}"


class ComplexMultiheadAttention(HeadedAttention):
    """Multi-head attention with complex (or real) projections q, k, v, out (ComplexOrder Eq. 13, Thesis 2.42).

    Self-attention, or cross-attention to ``key_value_states``.

    Args:
        embed_dim: stored width 2d.
        num_heads: H; divides the d complex features (the width, in the real field).
        dropout: on the attention weights.
        bias: biases of the projections.
        score, normalization: see ``complex_attention``; the score defaults to ``modulus``, in the real field ``real``.
        share_parts: Re(W) = Im(W) in q, k and v (ComplexOrder Table 4).
        is_causal: position t attends to positions <= t when no mask is given.
        layer_idx: index of this layer in a cache.
        linear_type: of the projections, see ``linear_layer``; ``share_parts`` is for the plain ones.
        scaling: factor of the scores; default 1 / sqrt(features of a head), complex ones in the complex field.
        number_field: ``"complex"`` or ``"real"``.

    Raises:
        ValueError: an unknown name, or one that the field does not have; heads that do not divide the features;
            shared parts of a layer that reads the conjugate.
    """

    scores: ClassVar[tuple[str, ...]] = ATTENTION_SCORES
    # Layers of which a process may have a part: of their outputs, of their inputs (tensor parallelism).
    column_parallel: ClassVar[tuple[str, ...]] = ("q_proj", "k_proj", "v_proj")
    row_parallel: ClassVar[tuple[str, ...]] = ("out_proj",)

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        score: str | None = None,
        normalization: str = "softmax",
        share_parts: bool = False,
        is_causal: bool = False,
        layer_idx: int | None = None,
        number_field: str = "complex",
        linear_type: str | None = None,
        scaling: float | None = None,
    ) -> None:
        super().__init__()
        self.numbers = arithmetic(number_field)
        score = ("modulus" if number_field == "complex" else "real") if score is None else score
        check_attention(score, normalization, number_field, self.scores)
        features = self.numbers.num_features(embed_dim)
        if num_heads < 1 or features % num_heads:
            raise ValueError(
                f"num_heads must divide the {features} {number_field} features of width {embed_dim}, got {num_heads}"
            )
        linear = linear_layer(linear_type, number_field)
        check_shared_parts(share_parts, linear_type)
        shared = {"share_parts": True} if share_parts else {}
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.score = score
        self.normalization = normalization
        self.is_causal = is_causal
        self.layer_idx = layer_idx
        self.scaling = (features // num_heads) ** -0.5 if scaling is None else scaling
        self.q_proj = linear(embed_dim, embed_dim, bias=bias, **shared)
        self.k_proj = linear(embed_dim, embed_dim, bias=bias, **shared)
        self.v_proj = linear(embed_dim, embed_dim, bias=bias, **shared)
        self.out_proj = linear(embed_dim, embed_dim, bias=bias)

    def keys_and_values(self, source: Tensor, cache: Any) -> tuple[Tensor, Tensor]:
        """Those of ``source [B, S, 2d]``, ``[B, H, S, 2 d_h]``, after those of the cache."""
        key, value = self._split_heads(self.k_proj(source)), self._split_heads(self.v_proj(source))
        return (key, value) if cache is None else cache.update(key, value, self.layer_idx)

    def _split_heads(self, x: Tensor) -> Tensor:
        return split_heads(x, self.num_heads, self.numbers.num_parts)

    def _merge_heads(self, x: Tensor) -> Tensor:
        return merge_heads(x, self.numbers.num_parts)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        key_value_states: Tensor | None = None,
        cache: Any = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``hidden_states [B, T, 2d]`` to itself or to ``key_value_states [B, S, 2d]``.

        ``cache`` is a cache with ``update(key, value, layer_idx)``, extended by this call.

        Returns:
            The output ``[B, T, 2d]`` and the weights, or None where the attention function has none.
        """
        source = hidden_states if key_value_states is None else key_value_states
        query = self._split_heads(self.q_proj(hidden_states))
        key, value = self.keys_and_values(source, cache)
        context, weights = self.attend(query, key, value, attention_mask, **kwargs)
        return self.out_proj(self._merge_heads(context)), weights
