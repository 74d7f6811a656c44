# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention between complex sequences: scores, normalizations and the multi-head layer.

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

from ...kernels.accelerator.attention import attention, takes_attention
from ...kernels.dispatch import is_eager_cpu
from ...kernels.exporting import halves, is_exporting
from ...kernels.modulus_attention import BlockedModulusAttention, ScoreModulus, stack
from ...kernels.real_attention import BlockedRealAttention
from .. import (
    functional as CF,
)
from ..arithmetic import arithmetic
from ..checks import check_choice
from ..widely_linear import linear_layer
from .empty_queries import attend_to_something
from .masks import additive_mask, causal_mask, check_mask_dtype, join_masks, resolve_causality, torch_mask
from .phase_coherent import SigmoidBias, unit_vectors

__all__ = ["ComplexMultiheadAttention", "complex_attention", "complex_scores", "merge_heads", "split_heads"]

PRODUCT_SCORES = ("modulus", "real", "bilinear_modulus")
ATTENTION_SCORES = (*PRODUCT_SCORES, "cosine")
REAL_SCORES = ("real", "cosine")  # dot products of halves, of unit vectors for the cosine
KEY_NORMALIZATIONS = ("softmax", "probability_amplitude", "split_softmax")  # over the keys
ATTENTION_NORMALIZATIONS = (*KEY_NORMALIZATIONS, "sigmoid")


def check_attention(
    score: str,
    normalization: str,
    number_field: str = "complex",
    scores: tuple[str, ...] = ATTENTION_SCORES,
    normalizations: tuple[str, ...] = ATTENTION_NORMALIZATIONS,
) -> None:
    """Raise unless score (of ``scores``) and normalization are known, compatible and exist in the field."""
    arithmetic(number_field)
    hint = ". It needs the relative positions of complex_transfo_xl" if score == "sum_of_moduli" else ""
    check_choice("attention_score", score, scores, hint)
    check_choice("attention_normalization", normalization, normalizations)
    if number_field == "real" and (score not in REAL_SCORES or normalization == "split_softmax"):
        raise ValueError(
            "attention_score must be 'real' or 'cosine' and attention_normalization not 'split_softmax' with "
            f"number_field='real', got {score!r} and {normalization!r}"
        )
    if score == "cosine" and not are_compatible(score, normalization):
        raise ValueError(
            "attention_normalization must be 'softmax' or 'sigmoid' with attention_score='cosine', got "
            f"{normalization!r}."
        )
    if not are_compatible(score, normalization):
        raise ValueError(
            "attention_score must be 'modulus' (q k^H) or 'bilinear_modulus' (q k^T) for "
            "attention_normalization='split_softmax', got 'real'"
        )


def are_compatible(score: str, normalization: str) -> bool:
    """Return whether a score has such weights: negative cosines have no square, real scores no imaginary part."""
    return normalization not in {"cosine": KEY_NORMALIZATIONS[1:], "real": ("split_softmax",)}.get(score, ())


def default_scaling(score: str, num_features: int) -> float:
    """Return the factor of the scores of heads of D features: D^(-1/2), for the cosine D^(1/2)."""
    return num_features ** (0.5 if score == "cosine" else -0.5)


def check_shared_parts(share_parts: bool, linear_type: str | None) -> None:
    """Raise if ``share_parts`` is combined with a ``linear_type`` that has more matrices than A and B."""
    if share_parts and linear_type in ("conjugate", "widely_linear"):
        raise ValueError(f"linear_type must be 'complex' with share_parts=True, got {linear_type!r}")


# --- scores -------------------------------------------------------------------------------------------------------


def complex_scores(query: Tensor, key: Tensor, bilinear: bool = False) -> tuple[Tensor, Tensor]:
    """Return (Re, Im) of q k^H (ComplexOrder Eq. 14, Thesis 2.44), or of q k^T if ``bilinear``.

    ``[..., T, 2d], [..., S, 2d] -> [..., T, S]`` twice.
    """
    return halves(dot_products(stack(query, bilinear), key), dim=-2)


def dot_products(query: Tensor, key: Tensor) -> Tensor:
    """Return q k^T; float16, whose largest value is 65504, is multiplied in float32."""
    half = query.dtype == torch.float16
    return query.float() @ key.float().mT if half else query @ key.mT


def score_modulus(query: Tensor, key: Tensor, bilinear: bool) -> Tensor:
    if CF.is_plain_cpu(query):
        return CF.run(ScoreModulus, query, key, bilinear)[0]
    real, imag = complex_scores(query, key, bilinear)
    return CF.modulus(CF.join(CF.wide(real), CF.wide(imag)))


# --- heads ------------------------------------------------------------------------------------------------------


def split_heads(x: Tensor, num_heads: int, num_parts: int = 2) -> Tensor:
    """Split ``[B, T, H 2d_h] -> [B, H, T, 2d_h]``, keeping the halves of a head together (one part if real)."""
    if num_parts == 1:
        return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    return x.unflatten(-1, (2, num_heads, -1)).permute(0, 3, 1, 2, 4).flatten(-2)


def merge_heads(x: Tensor, num_parts: int = 2) -> Tensor:
    """Merge the heads of an attention output, ``[B, T, H, 2d_h] -> [B, T, H 2d_h]``; see ``split_heads``."""
    if num_parts == 1:
        return x.flatten(-2)
    return x.unflatten(-1, (2, -1)).transpose(-2, -3).flatten(-3)


# --- attention ----------------------------------------------------------------------------------------------------


def normalize(scores: Tensor, mask: Tensor | None, normalization: str, bias: Tensor | None = None) -> Tensor:
    """Return real weights of real scores ``[..., T, S]`` with an additive mask, and with the bias of a sigmoid."""
    if normalization == "sigmoid":
        scores = scores if bias is None else scores + bias.to(scores.dtype)
        return torch.sigmoid(scores if mask is None else scores + mask)
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
    softcap: float | None = None,
    score: str = "modulus",
    normalization: str = "softmax",
    bias: Tensor | None = None,
    need_weights: bool = True,
    is_causal: bool | None = None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """Compute softmax(|q k^H| scaling + mask) v (ComplexOrder Eq. 13, 14), or another score and normalization.

    Scores: ``modulus`` |q k^H|; ``real`` Re(q k^H), the plain dot product of halves (also of real features);
    ``bilinear_modulus`` |q k^T| (the released ComplexOrder code); ``cosine``, the same function as ``real``, for
    queries and keys that the layer has divided by their norms (``unit_vectors``). Normalizations: ``softmax``;
    ``probability_amplitude`` s_j^2 / (1 + sum s^2) (Thesis 2.37, 2.43); ``split_softmax`` softmax(Re s) +
    i softmax(Im s) of the complex score itself (SynCoNMT Eq. 14), with a complex product for the context (Eq. 13);
    ``sigmoid`` sigmoid(s + b), not normalized over the keys (Ramapuram et al. 2024, arXiv 2409.04431), with
    ``cosine`` the preprint of Hioki (2026, arXiv 2605.10123, section 3.3.1). Masked keys then have weight 0.

    Args:
        module: the calling layer; its ``training``, ``is_causal`` and, if present, ``num_key_value_groups`` are used.
        query, key, value: ``[B, H, T, D]``, ``[B, H, S, D]``, ``[B, H, S, D_v]``; keys and values of H / G heads where
            G = ``num_key_value_groups`` queries share them (Ainslie et al. 2023).
        attention_mask: additive or boolean (True attends), broadcast to ``[B, H, T, S]``; None for no mask.
        scaling: factor of the scores, default D^(-1/2).
        dropout: dropout probability of the weights, in training mode.
        softcap: c, for scores c tanh(s / c) before the mask is added (Gemma 2); default no limit. ``split_softmax``
            ignores it.
        score, normalization: names of the formulas above.
        bias: b of ``sigmoid``, ``[1]``; default 0.
        need_weights: with False no weights are returned, and ``softmax`` and ``sigmoid`` may be computed with memory
            linear in the length: block by block on the CPU or by a Triton kernel; elsewhere ``real`` with ``softmax``
            by PyTorch's attention, which has no second derivatives. Sums are in float32 or better.
        is_causal: hide the keys after each query, in addition to the mask; default: ``module.is_causal`` without a
            mask.

    Returns:
        The context ``[B, T, H, D_v]`` and the weights ``[B, H, T, S]`` (``[real | imag]`` halves, ``[B, H, T, 2S]``,
        for ``split_softmax``), or None.
    """
    need_weights = need_weights or softcap is not None  # blocks and kernels have no softcap
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    score = "real" if score == "cosine" else score
    groups = getattr(module, "num_key_value_groups", 1)
    bilinear = score == "bilinear_modulus"
    dropout = dropout if module.training else 0.0
    attention_mask, is_causal = resolve_causality(module, attention_mask, is_causal, query, key)
    given = query, key, value, attention_mask
    bias = None if normalization != "sigmoid" else query.new_zeros(1) if bias is None else bias
    if not need_weights and takes_attention(*given, groups, score, is_causal, normalization):
        return attention(*given, score, scaling, groups, is_causal=is_causal, dropout=dropout, bias=bias), None
    if score == "real" and normalization == "softmax" and not (need_weights or is_eager_cpu(query) or is_exporting()):
        return torch_attention(*given, is_causal, scaling, groups, dropout), None
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    query = query * scaling  # before the product: fp16 scores of long heads stay in range
    learned = attention_mask is not None and attention_mask.requires_grad  # blocks have no gradient for it
    has_blocks = normalization in ("softmax", "sigmoid")
    one_query = query.shape[-2] == 1 and CF.is_plain_cpu(query)  # its scores are few: a decoding step needs no blocks
    if has_blocks and is_eager_cpu(query) and not (need_weights or learned or one_query):
        return blocked_attention(query, key, value, attention_mask, is_causal, score, dropout, bias), None
    if normalization == "split_softmax":
        scores = CF.wide(torch.stack(complex_scores(query, key, bilinear), dim=-3))  # [B, H, 2, T, S]
        mask = additive_mask(attention_mask, is_causal, scores.shape[-2], scores.shape[-1], scores)
        scores = scores if mask is None else scores + (mask.unsqueeze(-3) if mask.dim() > 2 else mask)
        parts = torch.softmax(scores, dim=-1).to(value.dtype)
        keep = F.dropout(torch.ones_like(parts[:, :, 0]), dropout)  # one mask for both parts
        weights = CF.join(*(part * keep for part in parts.unbind(-3)))
        real, imag = CF.split(weights)  # of the returned tensor, so that callers can differentiate by it
        (a, b), (c, d) = CF.split(real @ value), CF.split(imag @ value)
        return CF.join(a - d, b + c).transpose(1, 2), weights

    scores = dot_products(query, key) if score == "real" else score_modulus(query, key, bilinear)
    scores = scores if softcap is None else softcap * torch.tanh(CF.wide(scores) / softcap)
    scores = CF.wide(scores)
    mask = additive_mask(attention_mask, is_causal, scores.shape[-2], scores.shape[-1], scores)
    weights = F.dropout(normalize(scores, mask, normalization, bias).to(value.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


def torch_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    is_causal: bool,
    scaling: float,
    groups: int,
    dropout: float,
) -> Tensor:
    """Compute softmax(Re(q k^H) scaling + mask) v by PyTorch's attention, ``[B, T, H, D_v]``."""
    length, size, width = query.shape[-2], key.shape[-2], value.shape[-1]
    value = as_wide_as(key, value)
    mask = attention_mask
    if mask is None and is_causal and length != size:  # torch aligns the first query with the first key
        mask, is_causal = causal_mask(length, size, query.device), False
    if mask is not None:
        check_mask_dtype("attention_mask", mask, "attends")
        query, mask = attend_to_something(query, mask[..., :size])
    options: dict[str, Any] = {
        "dropout_p": dropout,
        "is_causal": is_causal,
        "scale": scaling,
        "enable_gqa": groups > 1,
    }
    return F.scaled_dot_product_attention(query, key, value, mask, **options)[..., :width].transpose(1, 2)


def as_wide_as(key: Tensor, value: Tensor) -> Tensor:
    """Pad values with zeros to the width of the keys, since fused attention needs equal widths."""
    missing = key.shape[-1] - value.shape[-1]
    return F.pad(value, (0, missing)) if missing > 0 else value


def blocked_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    is_causal: bool,
    score: str,
    dropout: float,
    bias: Tensor | None,
) -> Tensor:
    """Compute softmax(s + mask) v block by block, ``[B, T, H, D_v]``, with queries that are already scaled.

    With a bias the weights are sigmoid(s + mask + bias).
    """
    query = CF.conj(query) if score == "bilinear_modulus" else query  # |q k^T| = |conj(q) k^H|
    dtype, parts = value.dtype, [CF.wide(part) for part in (query, key, value)]
    mask = additive_mask(attention_mask, is_causal, query.shape[-2], key.shape[-2], parts[0])
    mask = None if mask is None else mask[(None,) * (4 - mask.dim())]
    seed = int(torch.randint(2**62, ())) if dropout else 0
    with torch.autocast("cpu", enabled=False):  # weights of half precision would cost more than they save
        bias = None if bias is None else bias.to(parts[0].dtype)
        function = BlockedRealAttention if score == "real" else BlockedModulusAttention
        context = CF.run(function, *parts, mask, bias, dropout, seed)
    return context.to(dtype).transpose(1, 2)


AttentionFunction = Callable[..., tuple[Tensor, Tensor | None]]

ATTENTION_FUNCTIONS: dict[tuple[str, str], AttentionFunction] = {
    (score, normalization): partial(complex_attention, score=score, normalization=normalization)
    for score in ATTENTION_SCORES
    for normalization in ATTENTION_NORMALIZATIONS
    if are_compatible(score, normalization)
}


class HeadedAttention(nn.Module):
    """Base of attention layers: masks, and the call of the attention function.

    ``forward`` has the masks of ``torch.nn``. ``attend_from`` is the same layer for Transformers models: it takes one
    mask and passes further keywords to the attention function.
    """

    num_heads: int
    dropout: float
    score: str
    normalization: str
    scaling: float
    is_causal: bool
    sigmoid: SigmoidBias | None
    attention_function: AttentionFunction | None = None

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
    ) -> tuple[Tensor, Tensor | None]:
        """Return context ``[B, T, H, D_v]`` and weights or None, with the scaling and dropout of the layer."""
        dropout = self.dropout if self.training else 0.0
        if self.normalization == "sigmoid":
            assert self.sigmoid is not None  # such a layer has one
            kwargs["bias"] = self.sigmoid()
        function = self.attention_function or ATTENTION_FUNCTIONS[self.score, self.normalization]
        return function(self, query, key, value, attention_mask, scaling=self.scaling, dropout=dropout, **kwargs)

    def comparable(self, x: Tensor) -> Tensor:
        """Return queries or keys of heads as the score compares them: with unit norm for ``cosine``."""
        return unit_vectors(x) if self.score == "cosine" else x

    def masks(
        self,
        query: Tensor,
        attention_mask: Tensor | None,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> dict[str, Any]:
        """Return the masks of ``forward`` as ``attention_mask`` and ``is_causal`` of ``attend_from``."""
        if attention_mask is not None:
            check_mask_dtype("attention_mask", attention_mask, "attends")
        attn_mask = torch_mask("attn_mask", attn_mask)
        key_padding_mask = torch_mask("key_padding_mask", key_padding_mask)
        if attn_mask is not None and attn_mask.dim() == 3:
            attn_mask = attn_mask.unflatten(0, (len(query), self.num_heads))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask[:, None, None]
        return {
            "attention_mask": join_masks(attention_mask, attn_mask, key_padding_mask),
            "is_causal": is_causal or (self.is_causal and attention_mask is None),
        }

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, score={self.score!r}, normalization={self.normalization!r}"


class ComplexMultiheadAttention(HeadedAttention):
    """Multi-head attention with complex (or real) projections q, k, v, out (ComplexOrder Eq. 13, Thesis 2.42).

    It is called like ``torch.nn.MultiheadAttention`` with ``batch_first=True`` and can replace ``self_attn`` in a
    ``torch.nn.TransformerEncoderLayer``; weights are returned per head.

    Args:
        embed_dim: stored width 2d.
        num_heads: H; divides the d complex features (the width, in the real field).
        dropout: dropout probability of the attention weights.
        bias: biases of the projections.
        score, normalization: see ``complex_attention``; the score defaults to ``modulus``, in the real field ``real``.
            ``cosine`` divides queries and keys of each head by their norms.
        share_parts: Re(W) = Im(W) in q, k and v (ComplexOrder Table 4).
        is_causal: position t attends to positions <= t, unless ``attention_mask`` is given.
        layer_idx: index of this layer in a cache.
        linear_type: type of the projections, see ``linear_layer``; ``share_parts`` needs ``complex``.
        scaling: factor of the scores; default D^(-1/2), for ``cosine`` D^(1/2), for heads of D features, complex ones
            in the complex field.
        number_field: ``"complex"`` or ``"real"``.
        attention_function: function with the signature of ``complex_attention``; default: the one of ``score`` and
            ``normalization``.
        training_length: N of the bias of ``sigmoid``, which starts at -log N, see ``SigmoidBias``.

    Raises:
        ValueError: an unknown name, or one that the number field does not have; heads that do not divide the features;
            ``share_parts`` with another ``linear_type`` than ``complex``.
    """

    scores: ClassVar[tuple[str, ...]] = ATTENTION_SCORES
    # Tensor parallelism: layers that are split by outputs, and layers that are split by inputs.
    column_parallel: ClassVar[tuple[str, ...]] = ("q_proj", "k_proj", "v_proj")
    row_parallel: ClassVar[tuple[str, ...]] = ("out_proj",)
    # torch.nn.TransformerEncoder reads these; with them it never replaces this layer by its fused implementation.
    batch_first = True
    in_proj_bias = None
    _qkv_same_embed_dim = False

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
        attention_function: AttentionFunction | None = None,
        training_length: int = 512,
    ) -> None:
        super().__init__()
        self.numbers = arithmetic(number_field)
        self.attention_function = attention_function
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
        self.scaling = default_scaling(score, features // num_heads) if scaling is None else scaling
        self.q_proj = linear(embed_dim, embed_dim, bias=bias, **shared)
        self.k_proj = linear(embed_dim, embed_dim, bias=bias, **shared)
        self.v_proj = linear(embed_dim, embed_dim, bias=bias, **shared)
        self.out_proj = linear(embed_dim, embed_dim, bias=bias)
        self.sigmoid = SigmoidBias(training_length) if normalization == "sigmoid" else None

    def keys_and_values(self, key: Tensor, value: Tensor, cache: Any) -> tuple[Tensor, Tensor]:
        """Project ``key`` and ``value [B, S, 2d]`` to ``[B, H, S, 2 d_h]`` and append them to the cache, if any."""
        key, value = self.comparable(self._split_heads(self.k_proj(key))), self._split_heads(self.v_proj(value))
        return (key, value) if cache is None else cache.update(key, value, self.layer_idx)

    def _split_heads(self, x: Tensor) -> Tensor:
        return split_heads(x, self.num_heads, self.numbers.num_parts)

    def _merge_heads(self, x: Tensor) -> Tensor:
        return merge_heads(x, self.numbers.num_parts)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        attention_mask: Tensor | None = None,
        cache: Any = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``query`` to ``key`` and sum ``value``.

        Masks add up. Boolean masks of ``torch.nn`` hide where they are True, ``attention_mask`` where it is False.

        Args:
            query: ``[B, T, 2d]``.
            key: ``[B, S, 2d]``; default ``query`` (self-attention).
            value: ``[B, S, 2d]``; default ``key``.
            key_padding_mask: ``[B, S]``, True for keys that are hidden, or added to the scores.
            need_weights: False allows memory linear in the length, see ``complex_attention``.
            attn_mask: ``[T, S]`` or ``[B H, T, S]``, True for keys that are hidden, or added to the scores.
            is_causal: hide the keys after each query.
            attention_mask: as in ``complex_attention``; it replaces the causality of the layer.
            cache: a cache with ``update(key, value, layer_idx)``, extended by this call.

        Returns:
            The output ``[B, T, 2d]`` and the weights ``[B, H, T, S]``, or None if the attention function returns none.
        """
        masks = self.masks(query, attention_mask, attn_mask, key_padding_mask, is_causal)
        return self.attend_from(query, key=key, value=value, cache=cache, need_weights=need_weights, **masks)

    def attend_from(
        self,
        query: Tensor,
        attention_mask: Tensor | None = None,
        key: Tensor | None = None,
        cache: Any = None,
        value: Tensor | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend with one mask as Transformers passes it; ``kwargs`` are for the attention function."""
        key = query if key is None else key
        value = key if value is None else value
        query = self.comparable(self._split_heads(self.q_proj(query)))
        key, value = self.keys_and_values(key, value, cache)
        context, weights = self.attend(query, key, value, attention_mask, **kwargs)
        return self.out_proj(self._merge_heads(context)), weights
