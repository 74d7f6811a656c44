# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Layers of the spectral Transformers: positional phases and spectral-scaled attention (Thesis 5.3, 5.4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..kernels.waves import wave_phase
from . import functional as CF
from .attention.multi_head import PRODUCT_SCORES, AttentionFunction, HeadedAttention, check_attention
from .checks import check_choice
from .embedding import sinusoidal_frequencies
from .linear import RealLinear
from .transforms import real_dft

__all__ = ["SpectralScaledAttention", "positional_phase"]

POSITION_PHASES = ("add", "rotate", "none")


def positional_phase(length: int, num_features: int, like: Tensor) -> Tensor:
    """Compute PPE_pos = exp(i pos 10000^(-j/d)), pos = 1..length, j = 0..d-1 (Thesis 5.11): ``[length, 2d]``.

    The result has device and dtype of ``like``; phases are computed exactly. The thesis prints the exponent -2j/d,
    where d is the stored width.
    """
    positions = torch.arange(1, length + 1, device=like.device)
    phase = wave_phase(sinusoidal_frequencies(num_features).to(like.device), positions)
    return CF.join(phase.cos(), phase.sin()).to(like.dtype)


def check_spectral_attention(score: str, normalization: str) -> None:
    """Raise unless score and normalisation are known and give real attention weights."""
    check_attention(score, normalization, scores=PRODUCT_SCORES)
    if normalization in ("split_softmax", "sigmoid"):
        valid = "'softmax' or 'probability_amplitude'"
        raise ValueError(f"attention_normalization must be {valid}, got {normalization!r}")


class SpectralScaledAttention(HeadedAttention):
    """Spectral-scaled self-attention (Thesis 5.8): scores from Q = K = F(X + PPE), real values V = X.

    Each hidden state is a signal of d samples; F is the real-input DFT with d/2 + 1 frequencies (ortho norm). Real
    matrices, the same for both parts, project the spectra to heads. With all d frequencies and no projection, q k^H
    would be the dot product of the signals (Parseval).

    Args:
        embed_dim: d, even.
        num_heads: divides the d/2 complex features of queries and keys.
        dropout: dropout probability of the attention weights.
        score, normalization: see ``complex_attention``; weights must be real.
        position_phase: ``add`` for F(X + PPE) (Eq. 5.8), ``rotate`` for F(X) * PPE, or ``none``.
        attention_function: as in ``ComplexMultiheadAttention``.
    """

    is_causal = False

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        score: str = "modulus",
        normalization: str = "probability_amplitude",
        position_phase: str = "add",
        attention_function: AttentionFunction | None = None,
    ) -> None:
        super().__init__()
        self.attention_function = attention_function
        check_spectral_attention(score, normalization)
        check_choice("position_phase", position_phase, POSITION_PHASES)
        if embed_dim % 2 or num_heads < 1 or (embed_dim // 2) % num_heads:
            given = f"embed_dim={embed_dim}, num_heads={num_heads}"
            raise ValueError(f"embed_dim must be even and num_heads must divide its half, got {given}")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.score = score
        self.normalization = normalization
        self.position_phase = position_phase
        self.scaling = (embed_dim // 2 // num_heads) ** -0.5
        self.q_proj = RealLinear(embed_dim // 2 + 1, embed_dim // 2, bias=False)
        self.k_proj = RealLinear(embed_dim // 2 + 1, embed_dim // 2, bias=False)
        self.v_proj = RealLinear(embed_dim, embed_dim)
        self.out_proj = RealLinear(embed_dim, embed_dim)

    def spectrum(self, x: Tensor) -> Tensor:
        """Compute F(X + PPE) or F(X) * PPE: ``[B, T, d] -> [B, T, d + 2]`` halves."""
        length = x.shape[-2]
        if self.position_phase == "add":
            x = x + positional_phase(length, self.embed_dim // 2, x)
        spectrum = real_dft(x).to(x.dtype)
        if self.position_phase == "rotate":
            spectrum = CF.multiply(spectrum, positional_phase(length, self.embed_dim // 2 + 1, x))
        return spectrum

    def _complex_heads(self, projection: nn.Module, spectrum: Tensor) -> Tensor:
        """Project both parts by a real matrix and split into heads: ``[B, T, d + 2] -> [B, H, T, 2 d_h]``."""
        parts = projection(spectrum.unflatten(-1, (2, -1)))  # [B, T, 2, d/2]
        return parts.unflatten(-1, (self.num_heads, -1)).permute(0, 3, 1, 2, 4).flatten(-2)

    def forward(
        self,
        hidden_states: Tensor,
        *,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``hidden_states [B, T, d]`` to itself; masks as in ``ComplexMultiheadAttention``."""
        masks = self.masks(hidden_states, attention_mask, attn_mask, key_padding_mask, is_causal)
        return self.attend_from(hidden_states, need_weights=need_weights, **masks)

    def attend_from(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, **kwargs: Any
    ) -> tuple[Tensor, Tensor | None]:
        """Attend with one mask in the format of Transformers; ``kwargs`` go to the attention function."""
        spectrum = self.spectrum(hidden_states)
        query = self._complex_heads(self.q_proj, spectrum)
        key = self._complex_heads(self.k_proj, spectrum)
        value = self.v_proj(hidden_states).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        context, weights = self.attend(query, key, value, attention_mask, **kwargs)
        return self.out_proj(context.flatten(-2)), weights
