# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words as quantum states, texts as mixtures of states, and measurements (Thesis 4.5), on ``[real | imag]`` halves.

Measuring a mixture rho = sum_i p_i |w_i><w_i| does not need rho: <v|rho|v> = sum_i p_i |<v|w_i>|^2. In the real field
states are real and everything else is the same, as a baseline.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import functional as CF
from .arithmetic import arithmetic
from .checks import check_choice, check_positive
from .embedding import TableEmbedding
from .unitary import CayleyMatrix, unit_norm, vector_norm

__all__ = [
    "Measurement",
    "QuantumEmbedding",
    "density_matrix",
    "local_outcomes",
    "mix",
    "mixture_scores",
    "mixture_weights",
]

MIXTURES = ("weight", "norm", "mean")
MEASUREMENTS = ("projectors", "povm")

_LARGEST_WEIGHT = 8.0  # the ratio of the largest to the smallest weight is exp(16)


def check_measurement(num_outcomes: int, measurement: str, num_features: int, number_field: str) -> None:
    """Raise unless the measurement exists on states of ``num_features`` features."""
    check_choice("measurement", measurement, MEASUREMENTS)
    check_positive(num_outcomes=num_outcomes)
    if measurement == "povm" and num_outcomes < num_features:
        raise ValueError(
            f"number of outcomes must be at least {num_features}, the {number_field} features, for "
            f"measurement='povm', got {num_outcomes}. Use more, or measurement='projectors'."
        )


class QuantumEmbedding(TableEmbedding):
    """exp(w_j) |word_j>: a state of unit norm with a learned mixture weight, ``[B, N]`` ids -> ``[B, N, width]``.

    |word_j> is the normalised vector of any token embedding (Thesis 4.61, 4.80). With a ``ComplexOrderEmbedding`` it
    has amplitudes and phases r_jk exp(i theta_jk): free phases for ``embedding_type="complex_vanilla"``, phases
    that grow with the position for ``"complex_order"``. The norm carries the mixture weight: the softmax of w over a
    text is ``mixture_weights(z, mask, "weight")``.

    Args:
        words: the embedding to normalise; its padding row of zeros has weight 0 in every mixture.

    Attributes:
        mixture_weight: w ``[V, 1]``, initially 0, clamped to [-8, 8].
    """

    def __init__(self, words: TableEmbedding) -> None:
        super().__init__(words.num_embeddings, words.embedding_dim, words.padding_idx)
        self.words = words
        self.mixture_weight = nn.Parameter(torch.zeros(words.num_embeddings, 1))

    @property
    def weight(self) -> Tensor:
        """The main table of the wrapped embedding."""
        return self.words.weight  # type: ignore[return-value]

    def word_tables(self) -> list[str]:
        return ["mixture_weight"]

    def reset_parameters(self) -> None:
        """Set equal weights."""
        torch.nn.init.zeros_(self.mixture_weight)

    def resize(self, num_embeddings: int, mean_resizing: bool = True) -> None:
        self.words.resize(num_embeddings, mean_resizing)
        super().resize(num_embeddings, mean_resizing)

    def load_vectors(
        self, vectors: Mapping[str, Any] | str | os.PathLike[str], vocabulary: Mapping[str, int]
    ) -> float:
        """Load pretrained vectors, whose norms are ignored; see ``TableEmbedding``."""
        return self.words.load_vectors(vectors, vocabulary)

    def forward(
        self, input_ids: Tensor, position_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Embed ids ``[B, N]`` at positions 1.. along ``attention_mask [B, N]``, or at ``position_ids [B, N]``."""
        words = self.words(input_ids, position_ids=position_ids, attention_mask=attention_mask)
        weight = CF.wide(F.embedding(input_ids, self.mixture_weight))
        norm = weight.clamp(-_LARGEST_WEIGHT, _LARGEST_WEIGHT).exp()
        return CF.narrow(norm * CF.wide(unit_norm(words)), words.dtype)


def mixture_scores(x: Tensor, mixture: str = "weight") -> Tensor:
    """Compute ln p_i + constant for each word z_i of a mixture, ``[..., N, width] -> [..., N]``, float32 or better.

    - ``weight``: ln ||z_i||, so that p_i is proportional to the norm (for ``QuantumEmbedding``, softmax of w).
    - ``norm``: ||z_i||, so that p is the softmax of the norms (Li et al. 2019, CNM).
    - ``mean``: 0, equal weights.
    """
    check_choice("mixture", mixture, MIXTURES)
    if mixture == "mean":
        return CF.wide(x.new_zeros(x.shape[:-1]))
    norm = vector_norm(x).squeeze(-1)
    return norm if mixture == "norm" else norm.clamp(min=1e-12).log()


def mixture_weights(x: Tensor, mask: Tensor | None = None, mixture: str = "weight") -> Tensor:
    """Compute p_i >= 0 with sum_i p_i = 1 over the words of a text (Thesis 4.18), ``[..., N, width] -> [..., N]``.

    Args:
        x: words, weighted by their norms.
        mask: ``[..., N]``, true for words; other positions get 0, also in a text without words.
        mixture: as in ``mixture_scores``.
    """
    return _masked_softmax(mixture_scores(x, mixture), mask)


def mix(probabilities: Tensor, scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mix q_k = sum_i p_i |<v_k|w_i>|^2 (Thesis 4.46), ``[..., N, K], [..., N] -> [..., K]``.

    Args:
        probabilities: |<v_k|w_i>|^2 of each word, from ``Measurement``.
        scores: ln p_i + constant, from ``mixture_scores``.
        mask: ``[..., N]``, true for words.
    """
    return (_masked_softmax(scores, mask).to(probabilities.dtype).unsqueeze(-2) @ probabilities).squeeze(-2)


def _masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return torch.softmax(scores, dim=-1)
    mask = mask.to(torch.bool)
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


def density_matrix(x: Tensor, weights: Tensor, mask: Tensor | None = None, number_field: str = "complex") -> Tensor:
    """Compute rho = sum_i p_i |w_i><w_i| (Thesis 4.18, 4.63), ``[..., N, 2d], [..., N] -> [..., d, 2d]`` halves.

    For inspection; no layer needs it. It is Hermitian and positive, and has trace 1 if states have unit norm and
    weights sum to 1. In the real field it is ``[..., d, d]``.

    Args:
        x: states w_i.
        weights: p_i, from ``mixture_weights``.
        mask: ``[..., N]``, true for words; other positions are ignored.
        number_field: number field of the states.
    """
    if mask is not None:
        mask = mask.to(torch.bool)
        x, weights = x.masked_fill(~mask.unsqueeze(-1), 0.0), weights.masked_fill(~mask, 0.0)
    parts = arithmetic(number_field).parts(x)
    scaled = [(part * weights.unsqueeze(-1).to(x.dtype)).transpose(-1, -2) for part in parts]  # [..., d, N]
    if number_field == "real":
        return scaled[0] @ parts[0]
    (a, b), (real, imag) = scaled, parts
    return CF.join(a @ real + b @ imag, b @ real - a @ imag)  # (a + ib)(re - i im)


class Measurement(nn.Module):
    """Born probabilities |<v_k|w>|^2 of states (Thesis 4.29, 4.57), ``[..., width] -> [..., num_outcomes]``.

    For a mixture, q_k = <v_k|rho|v_k> = sum_i p_i |<v_k|w_i>|^2 (4.46), see ``mix``.

    - ``projectors``: every v_k has unit norm and is an independent yes-no measurement with probability q_k in [0, 1]
      (Li et al. 2019, CNM); the q_k need not sum to 1.
    - ``povm``: a single measurement with ``num_outcomes`` outcomes, sum_k |v_k><v_k| = I (Thesis 4.54), so the q_k sum
      to 1. The <v_k| are rows of the first columns of a unitary matrix (see ``UnitaryLinear``). It needs at least as
      many outcomes as features.

    Args:
        features: stored width of the states.
        num_outcomes: K.
        measurement: one of the two above.
        number_field: ``"complex"`` or ``"real"``.

    Attributes:
        mean_outcome: mean of q_k over all pure states, 1 / d for d features; for ``povm`` also over k, 1 / K.

    Raises:
        ValueError: an odd width of halves, an unknown name, fewer outcomes than features with ``povm``.
    """

    def __init__(
        self,
        features: int,
        num_outcomes: int,
        measurement: str = "projectors",
        number_field: str = "complex",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.numbers = arithmetic(number_field)
        self.num_features = self.numbers.num_features(features)
        check_measurement(num_outcomes, measurement, self.num_features, number_field)
        self.features = features
        self.num_outcomes = num_outcomes
        self.measurement = measurement
        self.mean_outcome = 1.0 / (num_outcomes if measurement == "povm" else self.num_features)
        if measurement == "povm":
            # With this standard deviation the eigenvalues of the unitary matrix spread over the whole circle.
            std = 1.0 / math.sqrt(num_outcomes)
            self.generator = CayleyMatrix(num_outcomes, std, number_field, device=device, dtype=dtype)
        else:
            self.vectors = nn.Parameter(torch.empty(num_outcomes, features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw directions uniformly; the generator of a ``povm`` initialises itself."""
        if self.measurement == "projectors":
            torch.nn.init.normal_(self.vectors)

    def states(self) -> Tensor:
        """Return v_k, ``[num_outcomes, width]``, float32 or better."""
        if self.measurement == "projectors":
            return unit_norm(CF.wide(self.vectors))
        rows = self.generator(self.num_features)
        return rows if self.numbers.num_parts == 1 else CF.conj(CF.join(*rows.chunk(2)))

    def amplitudes(self, x: Tensor) -> Tensor:
        """Compute <v_k|w>, ``[..., width]`` -> ``num_outcomes`` features of the field."""
        states = self.states().to(x.dtype)
        if self.numbers.num_parts == 1:
            return F.linear(x, states)
        CF.check_halves(x)
        return CF.linear(x, *CF.split(CF.conj(states)))

    def forward(self, x: Tensor) -> Tensor:
        """Compute |<v_k|w>|^2 in float32 or better."""
        return self.numbers.squared_modulus(CF.wide(self.amplitudes(x)))

    def extra_repr(self) -> str:
        return (
            f"{self.features}, {self.num_outcomes}, measurement={self.measurement!r}, "
            f"number_field={self.numbers.name!r}"
        )


def local_outcomes(probabilities: Tensor, scores: Tensor, lengths: Tensor, window: int) -> Tensor:
    """Mix the outcomes in a window starting at each word (Li et al. 2019, CNM), ``[B, N, K] -> [B, N, K]``.

    Windows are cut at the end of the text; windows that start in the padding give 0.

    Args:
        probabilities: |<v_k|w_i>|^2 ``[B, N, K]``, from ``Measurement``.
        scores: ``[B, N]``, from ``mixture_scores``.
        lengths: number of words of each text ``[B]``; padding is on the right.
        window: window size in words.

    Raises:
        ValueError: ``window`` below 1.
    """
    check_positive(window=window)
    steps = scores.shape[1]
    places = torch.arange(steps + window - 1, device=scores.device)
    mask = places < lengths.unsqueeze(-1)
    scores = F.pad(scores, (0, window - 1)).unfold(1, window, 1)  # [B, N, window]
    weights = _masked_softmax(scores, mask.unfold(1, window, 1)).to(probabilities.dtype)
    probabilities = F.pad(probabilities, (0, 0, 0, window - 1))
    total = weights[..., :1] * probabilities[:, :steps]
    for place in range(1, window):
        total = total + weights[..., place, None] * probabilities[:, place : place + steps]
    return total
