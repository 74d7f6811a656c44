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
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import arithmetic
from .linear import ComplexLinear, RealLinear

__all__ = [
    "ATTENTION_FUNCTIONS",
    "ATTENTION_NORMALIZATIONS",
    "ATTENTION_SCORES",
    "ComplexMultiheadAttention",
    "check_attention",
    "complex_attention",
    "complex_scores",
]

ATTENTION_SCORES = ("modulus", "real", "bilinear_modulus")
ATTENTION_NORMALIZATIONS = ("softmax", "probability_amplitude", "split_softmax")


def check_attention(score: str, normalization: str, number_field: str = "complex") -> None:
    """Raise unless the score and the normalisation are known, belong together and exist in the number field."""
    arithmetic(number_field)
    if score not in ATTENTION_SCORES:
        raise ValueError(f"attention_score must be one of {sorted(ATTENTION_SCORES)}, got {score!r}")
    if normalization not in ATTENTION_NORMALIZATIONS:
        raise ValueError(
            f"attention_normalization must be one of {sorted(ATTENTION_NORMALIZATIONS)}, got {normalization!r}"
        )
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


# --- scores -------------------------------------------------------------------------------------------------------


def _both_parts(query: Tensor, key: Tensor, bilinear: bool) -> Tensor:
    """Real and imaginary part of q k^H (or of q k^T) from one real product: ``-> [..., 2, T, S]``.

    q k^H = ([q_re | q_im] . k) + i ([q_im | -q_re] . k), q k^T = ([q_re | -q_im] . k) + i ([q_im | q_re] . k).
    """
    real, imag = CF.split(query)
    rows = [real, -imag, imag, real] if bilinear else [real, imag, imag, -real]
    stacked = torch.cat(rows, dim=-1).unflatten(-1, (2, -1))  # [..., T, 2, 2 d_h]
    stacked = stacked.transpose(-2, -3).flatten(-3, -2)  # [..., 2 T, 2 d_h]
    return (stacked @ key.transpose(-1, -2)).unflatten(-2, (2, -1))


def complex_scores(query: Tensor, key: Tensor, bilinear: bool = False) -> tuple[Tensor, Tensor]:
    """(Re, Im) of q k^H (ComplexOrder Eq. 14, Thesis 2.44), or of q k^T when ``bilinear``.

    ``[..., T, 2d], [..., S, 2d] -> [..., T, S]`` twice.
    """
    real, imag = _both_parts(query, key, bilinear).unbind(-3)
    return real, imag


class _ScoreModulus(torch.autograd.Function):
    """|q k^H| or |q k^T|: the modulus and its gradient in one pass over the scores, 0 where the score is 0.

    The same as ``hypot`` of ``complex_scores`` under autograd, in three quarters of the time.
    """

    @staticmethod
    def forward(query: Tensor, key: Tensor, bilinear: bool) -> tuple[Tensor, Tensor]:
        parts = _both_parts(query, key, bilinear)
        return torch.hypot(parts.select(-3, 0), parts.select(-3, 1)), parts

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        query, key, ctx.bilinear = inputs
        modulus, parts = output
        ctx.mark_non_differentiable(parts)
        ctx.save_for_backward(query, key, modulus, parts)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad: Tensor, _):  # type: ignore[no-untyped-def]
        query, key, modulus, parts = ctx.saved_tensors
        # The floor keeps grad / modulus finite; below it (1e-19 in float32) the gradient fades to 0 at a score of 0.
        unit = (grad / modulus.clamp(min=torch.finfo(modulus.dtype).tiny ** 0.5)).unsqueeze(-3)
        real, imag = (parts * unit).to(query.dtype).unbind(-3)  # cotangents of Re and Im
        # Autograd of the two products: with k = [a | b], Re = q_re a +- q_im b and Im = q_im a -+ q_re b.
        sign = -1.0 if ctx.bilinear else 1.0
        from_real, from_imag = real @ key, imag @ key
        (ra, rb), (ia, ib) = CF.split(from_real), CF.split(from_imag)
        grad_query = CF.join(ra - sign * ib, sign * rb + ia)
        q_re, q_im = CF.split(query)
        grad_key = real.transpose(-1, -2) @ CF.join(q_re, sign * q_im)
        grad_key = grad_key + imag.transpose(-1, -2) @ CF.join(q_im, -sign * q_re)
        return grad_query, grad_key, None


def _wide(x: Tensor) -> Tensor:
    """``x`` in float32 or better."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _score_modulus(query: Tensor, key: Tensor, bilinear: bool) -> Tensor:
    half_precision = query.dtype in (torch.float16, torch.bfloat16) or torch.is_autocast_enabled(query.device.type)
    if half_precision or torch.compiler.is_compiling():
        real, imag = complex_scores(query, key, bilinear)
        return CF.modulus(CF.join(_wide(real), _wide(imag)))
    return _ScoreModulus.apply(query, key, bilinear)[0]


# --- attention ----------------------------------------------------------------------------------------------------


def _additive(mask: Tensor | None, module: nn.Module, scores: Tensor) -> Tensor | None:
    """A mask as Transformers passes it (None, boolean with true = attend, or additive) as an additive one."""
    length, size = scores.shape[-2:]
    if mask is None:
        if not getattr(module, "is_causal", False) or length == 1:
            return None
        mask = torch.ones(length, size, dtype=torch.bool, device=scores.device).tril(size - length)
    if mask.dtype == torch.bool:
        removed, mask = ~mask, torch.zeros(mask.shape, dtype=scores.dtype, device=mask.device)
    else:  # the lowest number of a narrow dtype is not low beside wide scores
        removed, mask = mask <= torch.finfo(mask.dtype).min, mask.to(scores.dtype)
    return mask.masked_fill(removed, torch.finfo(scores.dtype).min)[..., :size]


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
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """softmax(|q k^H| scaling + mask) v (ComplexOrder Eq. 13, 14), and the other scores and normalisations.

    Scores: ``modulus`` |q k^H|; ``real`` Re(q k^H), the plain dot product of halves (also of real numbers);
    ``bilinear_modulus`` |q k^T| (the released ComplexOrder code). Normalisations: ``softmax``;
    ``probability_amplitude`` s_j^2 / (1 + sum s^2) (Thesis 2.37, 2.43); ``split_softmax`` softmax(Re s) +
    i softmax(Im s) of the complex score itself (SynCoNMT Eq. 14), with a complex product for the context (Eq. 13).

    Args:
        module: the calling layer; ``module.training`` and ``module.is_causal`` are read.
        query, key, value: ``[B, H, T, D]``, ``[B, H, S, D]``, ``[B, H, S, D_v]``.
        attention_mask: additive or boolean (true attends), broadcast to ``[B, H, T, S]``; None for no mask.
        scaling: factor on the scores, default D^(-1/2).
        dropout: probability on the weights, while training.
        score, normalization: names of the formulas above.

    Returns:
        The context ``[B, T, H, D_v]`` and the weights ``[B, H, T, S]`` (``[real | imag]`` halves, ``[B, H, T, 2S]``,
        for ``split_softmax``).
    """
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    query = query * scaling  # before the product: fp16 scores of long heads stay in range
    bilinear = score == "bilinear_modulus"
    if normalization == "split_softmax":
        scores = _wide(torch.stack(complex_scores(query, key, bilinear), dim=-3))  # [B, H, 2, T, S]
        mask = _additive(attention_mask, module, scores)
        scores = scores if mask is None else scores + (mask.unsqueeze(-3) if mask.dim() > 2 else mask)
        parts = F.dropout(torch.softmax(scores, dim=-1).to(value.dtype), dropout, module.training)
        weights = CF.join(*parts.unbind(-3))
        real, imag = CF.split(weights)  # from the returned tensor: gradients with respect to it can be asked for
        (a, b), (c, d) = CF.split(real @ value), CF.split(imag @ value)
        return CF.join(a - d, b + c).transpose(1, 2), weights

    scores = query @ key.transpose(-1, -2) if score == "real" else _score_modulus(query, key, bilinear)
    scores = _wide(scores)
    mask = _additive(attention_mask, module, scores)
    if normalization == "softmax":
        weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)
    else:
        weights = CF.normalize_probability_amplitude(scores, mask)
    weights = F.dropout(weights.to(value.dtype), dropout, module.training)
    return (weights @ value).transpose(1, 2), weights


ATTENTION_FUNCTIONS: dict[tuple[str, str], Callable[..., tuple[Tensor, Tensor | None]]] = {
    (score, normalization): partial(complex_attention, score=score, normalization=normalization)
    for score in ATTENTION_SCORES
    for normalization in ATTENTION_NORMALIZATIONS
    if (score, normalization) != ("real", "split_softmax")
}


class ComplexMultiheadAttention(nn.Module):
    """Multi-head attention with complex (or real) projections q, k, v, out (ComplexOrder Eq. 13, Thesis 2.42).

    Self-attention, or cross-attention to ``key_value_states``. Scores are scaled by 1 / sqrt(complex head size).

    Args:
        embed_dim: stored width 2d.
        num_heads: H; divides the d complex features (the width, in the real field).
        dropout: on the attention weights.
        bias: biases of the projections.
        score, normalization: see ``complex_attention``; the score defaults to ``modulus``, in the real field ``real``.
        share_parts: Re(W) = Im(W) in q, k and v (ComplexOrder Table 4).
        is_causal: position t attends to positions <= t when no mask is given.
        layer_idx: index of this layer in a cache.
        number_field: ``"complex"`` or ``"real"``.
    """

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
    ) -> None:
        super().__init__()
        self.numbers = arithmetic(number_field)
        score = ("modulus" if number_field == "complex" else "real") if score is None else score
        check_attention(score, normalization, number_field)
        features = self.numbers.num_features(embed_dim)
        if num_heads < 1 or features % num_heads:
            raise ValueError(
                f"num_heads must divide the {features} {number_field} features of width {embed_dim}, got {num_heads}"
            )
        linear = ComplexLinear if number_field == "complex" else RealLinear
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.score = score
        self.normalization = normalization
        self.is_causal = is_causal
        self.layer_idx = layer_idx
        self.scaling = (features // num_heads) ** -0.5
        self.q_proj = linear(embed_dim, embed_dim, bias=bias, share_parts=share_parts)
        self.k_proj = linear(embed_dim, embed_dim, bias=bias, share_parts=share_parts)
        self.v_proj = linear(embed_dim, embed_dim, bias=bias, share_parts=share_parts)
        self.out_proj = linear(embed_dim, embed_dim, bias=bias)

    def attention_function(self) -> Callable[..., tuple[Tensor, Tensor | None]]:
        """The function that scores, normalises and sums; a subclass may look it up elsewhere."""
        return ATTENTION_FUNCTIONS[self.score, self.normalization]

    def _split_heads(self, x: Tensor) -> Tensor:
        """``[B, T, 2d] -> [B, H, T, 2 d_h]``: the halves of a head stay together."""
        if self.numbers.num_parts == 1:
            return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        return x.unflatten(-1, (2, self.num_heads, -1)).permute(0, 3, 1, 2, 4).flatten(-2)

    def _merge_heads(self, x: Tensor) -> Tensor:
        """``[B, T, H, 2 d_h] -> [B, T, 2d]``."""
        if self.numbers.num_parts == 1:
            return x.flatten(-2)
        return x.unflatten(-1, (2, -1)).transpose(-2, -3).flatten(-3)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        key_value_states: Tensor | None = None,
        past_key_values: Any = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``hidden_states [B, T, 2d]`` to itself or to ``key_value_states [B, S, 2d]``.

        ``past_key_values`` is a cache with ``update(key, value, layer_idx)``, extended by this call.

        Returns:
            The output ``[B, T, 2d]`` and the weights, or None where the attention function has none.
        """
        source = hidden_states if key_value_states is None else key_value_states
        query = self._split_heads(self.q_proj(hidden_states))
        key = self._split_heads(self.k_proj(source))
        value = self._split_heads(self.v_proj(source))
        if past_key_values is not None:
            key, value = past_key_values.update(key, value, self.layer_idx)
        context, weights = self.attention_function()(
            self,
            query,
            key,
            value,
            attention_mask,
            scaling=self.scaling,
            dropout=self.dropout if self.training else 0.0,
            **kwargs,
        )
        return self.out_proj(self._merge_heads(context)), weights

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, score={self.score!r}, normalization={self.normalization!r}"
