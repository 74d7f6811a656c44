# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention over a memory of sentences (Sukhbaatar et al. 2015), in either number field (Thesis 4.10-4.12)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import arithmetic
from .attention.multi_head import dot_products, stack
from .checks import check_choice, check_field_choice
from .embedding import sinusoidal_frequencies
from .initialization import fill_
from .precision import FullPrecision

__all__ = ["MemoryTime", "read_memory", "sum_words", "word_factors"]

MEMORY_SCORES = ("real", "modulus", "squared_modulus")
MEMORY_NORMALIZATIONS = ("softmax", "probability_amplitude", "linear")
MEMORY_TIMES = ("learned", "phase", "none")


def check_memory(score: str, normalization: str, time: str, number_field: str) -> None:
    """Raise unless the options are known and exist in ``number_field``."""
    check_field_choice("attention_score", score, MEMORY_SCORES, number_field, ("real",))
    check_choice("attention_normalization", normalization, MEMORY_NORMALIZATIONS)
    check_field_choice("temporal", time, MEMORY_TIMES, number_field, ("learned", "none"))


def word_factors(mask: Tensor, has_places: bool, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the position encoding of a memory: 1 and b_j of the factor l_kj = 1 + (2k - d - 1)/d b_j.

    l_kj multiplies feature k = 1..d of word j = 1..J of a sentence, with b_j = (2j - J - 1)/J, so that a sum of words
    depends on their order and the mean factor is 1. Padding has factor 0. These are the factors of the released code
    of Sukhbaatar et al. 2015; the factor printed in 4.1, (1 - j/J) - (k/d)(1 - 2j/J), is half of it, shifted by half
    a position.

    Args:
        mask: ``[..., N]``, true for words.
        has_places: whether factors depend on the position; otherwise b is left out.
        dtype: dtype of the factors; half precision is too coarse.

    Returns:
        ``[..., 2, N]`` or ``[..., 1, N]``.
    """
    words = mask.to(dtype)
    if not has_places:
        return words.unsqueeze(-2)
    count = words.sum(-1, keepdim=True).clamp(min=1.0)
    return torch.stack([words, (2.0 * words.cumsum(-1) - count - 1.0) / count * words], dim=-2)


def sum_words(words: Tensor, factors: Tensor, number_field: str) -> Tensor:
    """Sum words with the factors of ``word_factors``, m_k = sum_j l_kj w_jk: ``[..., N, w], [..., F, N] -> [..., w]``.

    A single matrix product computes both sums without a temporary of the size of the words. It ignores autocast,
    because scores multiply up to four of these sums and would amplify the rounding error.
    """
    numbers = arithmetic(number_field)
    with torch.autocast(words.device.type, enabled=False):
        total, *placed = (factors.to(words.dtype) @ words).unbind(-2)
    if not placed:
        return total
    size = numbers.num_features(total.shape[-1])
    slopes = torch.arange(1 - size, size, 2, dtype=factors.dtype, device=total.device) / size
    return total + numbers.scale(placed[0], slopes.to(total.dtype))


def read_memory(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    score: str = "real",
    normalization: str = "softmax",
) -> tuple[Tensor, Tensor]:
    """Compute o = sum_i p_i c_i with p_i = softmax_i(s(u, m_i)) (Sukhbaatar et al. 2015, Eq. 1, 2; Thesis 4.11, 4.12).

    Scores: ``real`` Re<m|u>, the dot product of stored elements; ``modulus`` |<m|u>|; ``squared_modulus`` |<m|u>|^2
    (4.11). Normalisations: ``softmax``; ``probability_amplitude`` s_i^2 / (1 + sum s^2) (2.37); ``linear`` p_i = s_i,
    for the linear start of training.

    Args:
        query: u ``[B, d]``.
        keys: m ``[B, M, d]``.
        values: c ``[B, M, d]``.
        mask: ``[B, M]``, true where there is a sentence. For an empty memory o is 0.
        score, normalization: names of the formulas above; moduli need complex halves.

    Returns:
        o ``[B, d]`` and p ``[B, M]``, which is 0 without a sentence.

    Raises:
        ValueError: an unknown name.
    """
    check_choice("score", score, MEMORY_SCORES)
    check_choice("normalization", normalization, MEMORY_NORMALIZATIONS)
    mask = mask.to(torch.bool)
    with torch.autocast(query.device.type, enabled=False):  # products could overflow in half precision
        scores = _memory_scores(CF.wide(query), CF.wide(keys), score)
    if normalization == "softmax":
        weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)
    elif normalization == "probability_amplitude":
        weights = CF.normalize_probability_amplitude(scores.masked_fill(~mask, 0.0))
    else:
        weights = scores
    weights = weights.masked_fill(~mask, 0.0).to(values.dtype)
    return (weights.unsqueeze(-2) @ values).squeeze(-2), weights


def _memory_scores(query: Tensor, keys: Tensor, score: str) -> Tensor:
    """Compute s(u, m_i): ``[B, d], [B, M, d] -> [B, M]``."""
    if score == "real":
        return (query.unsqueeze(-2) @ keys.mT).squeeze(-2)
    product = dot_products(stack(query.unsqueeze(-2)), keys).mT  # [B, M, 2], halves
    return (CF.modulus if score == "modulus" else CF.squared_modulus)(product).squeeze(-1)


class MemoryTime(FullPrecision):
    """Temporal encoding m_i + T(t) or m_i exp(i omega t), where t = 1, 2, ... is the age of sentence i.

    ``[B, M, d]`` sentences and ``[B, M]`` ages -> ``[B, M, d]``. Ages above ``memory_size`` count as ``memory_size``.

    Args:
        memory_size: largest age.
        width: stored width d.
        time: ``learned``, a vector for each age (Sukhbaatar et al. 2015, 4.1), or ``phase``, a learned frequency for
            each complex feature, as in ComplexOrder Eq. 5.
        std: standard deviation of the vectors.

    Raises:
        ValueError: an odd width with ``phase``, an unknown name.
    """

    no_weight_decay = full_precision = ("frequency",)

    def __init__(self, memory_size: int, width: int, time: str = "learned", std: float = 0.1) -> None:
        super().__init__()
        check_choice("time", time, ("learned", "phase"))
        self.memory_size = memory_size
        self.std = std
        self.vectors = nn.Parameter(torch.empty(memory_size, width)) if time == "learned" else None
        self.frequency = None
        if time == "phase":
            size = arithmetic("complex").num_features(width)
            self.frequency = nn.Parameter(torch.empty(size, dtype=self.full_precision_dtype()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw vectors from a normal; set the frequencies of ComplexOrder App. A."""
        if self.vectors is not None:
            torch.nn.init.normal_(self.vectors, std=self.std)
        if self.frequency is not None:
            fill_(self.frequency, sinusoidal_frequencies(len(self.frequency)))

    def forward(self, sentences: Tensor, ages: Tensor) -> Tensor:
        """Encode the ages of the sentences."""
        ages = ages.clamp(1, self.memory_size)
        if self.vectors is not None:
            return sentences + nn.functional.embedding(ages - 1, self.vectors)
        assert self.frequency is not None
        return CF.rotate(sentences, ages.to(self.frequency.dtype).unsqueeze(-1) * self.frequency)

    def extra_repr(self) -> str:
        return f"memory_size={self.memory_size}, time={('phase' if self.vectors is None else 'learned')!r}"
