# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words as states, texts as mixtures of them, and measurements (Thesis 4.5), on ``[real | imag]`` halves.

A mixture rho = sum_i p_i |w_i><w_i| is not made where it is measured: <v|rho|v> = sum_i p_i |<v|w_i>|^2. In the real
field states are real and all else is the same, which shows what complex numbers add.
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

_LARGEST_WEIGHT = 8.0  # a word of weight 8 counts as much as nine million of weight -8


def check_measurement(num_outcomes: int, measurement: str, num_features: int, number_field: str) -> None:
    """Raise unless such a measurement exists on states of ``num_features`` numbers."""
    check_choice("measurement", measurement, MEASUREMENTS)
    check_positive(num_outcomes=num_outcomes)
    if measurement == "povm" and num_outcomes < num_features:
        raise ValueError(
            f"measurement='povm' needs an outcome for each of the {num_features} {number_field} features, or its "
            f"probabilities cannot sum to 1; got {num_outcomes} outcomes: use more, or measurement='projectors'"
        )


class QuantumEmbedding(TableEmbedding):
    """exp(w_j) |word_j>: a state of unit norm and a learned weight in mixtures, ``[B, N]`` ids -> ``[B, N, width]``.

    |word_j> is the direction of any word embedding (Thesis 4.61, 4.80): signed amplitudes in the real field, and with
    phases r_jk exp(i theta_jk) of a ``ComplexOrderEmbedding`` in the complex one, where -r is a phase of pi; those of
    ``embedding_type="complex_vanilla"`` are free, those of ``"complex_order"`` grow with the position, and a
    ``RealWordEmbedding`` has none. The norm of a word, which its state does not need, carries the weight: softmax(w)
    over a text is ``mixture_weights(z, mask, "weight")``.

    Args:
        words: the embedding whose directions are taken; its padding row, of zeros, is no state and weighs nothing.

    Attributes:
        mixture_weight: w ``[V, 1]``, which starts at 0 and is kept in [-8, 8].
    """

    def __init__(self, words: TableEmbedding) -> None:
        super().__init__(words.num_embeddings, words.embedding_dim, words.padding_idx)
        self.words = words
        self.mixture_weight = nn.Parameter(torch.zeros(words.num_embeddings, 1))

    @property
    def weight(self) -> Tensor:
        """The main table of the words."""
        return self.words.weight  # type: ignore[return-value]

    def word_tables(self) -> list[str]:
        """The weights; the words have their own tables."""
        return ["mixture_weight"]

    def reset_parameters(self) -> None:
        """Equal weights."""
        torch.nn.init.zeros_(self.mixture_weight)

    def resize(self, num_embeddings: int, mean_resizing: bool = True) -> None:
        """As in ``TableEmbedding``, of words and weights."""
        self.words.resize(num_embeddings, mean_resizing)
        super().resize(num_embeddings, mean_resizing)

    def load_vectors(
        self, vectors: Mapping[str, Any] | str | os.PathLike[str], vocabulary: Mapping[str, int]
    ) -> float:
        """As in ``TableEmbedding``: directions of pretrained vectors; their norms are left out."""
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
    """ln p_i + constant of each word z_i in a mixture, ``[..., N, width] -> [..., N]``, float32 or better.

    - ``weight``: ln ||z_i||, so that p_i is in proportion to the norm: softmax of the weights of ``QuantumEmbedding``.
    - ``norm``: ||z_i||, the softmax of norms (Li et al. 2019, CNM).
    - ``mean``: 0, equal weights.
    """
    check_choice("mixture", mixture, MIXTURES)
    if mixture == "mean":
        return CF.wide(x.new_zeros(x.shape[:-1]))
    norm = vector_norm(x).squeeze(-1)
    return norm if mixture == "norm" else norm.clamp(min=1e-12).log()


def mixture_weights(x: Tensor, mask: Tensor | None = None, mixture: str = "weight") -> Tensor:
    """p_i >= 0 with sum_i p_i = 1 over the words of a text (Thesis 4.18), ``[..., N, width] -> [..., N]``.

    Args:
        x: words, the norms of which are read.
        mask: ``[..., N]``, true for words; others weigh nothing, and all of a text without words.
        mixture: as in ``mixture_scores``.
    """
    return _masked_softmax(mixture_scores(x, mixture), mask)


def mix(probabilities: Tensor, scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """q = sum_i p_i |<v_k|w_i>|^2 (Thesis 4.46), ``[..., N, K], [..., N] -> [..., K]``.

    Args:
        probabilities: |<v_k|w_i>|^2 of each word, as ``Measurement`` gives them.
        scores: ln p_i + constant, as ``mixture_scores`` gives them.
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
    """rho = sum_i p_i |w_i><w_i| of states (Thesis 4.18, 4.63), ``[..., N, 2d], [..., N] -> [..., d, 2d]`` halves.

    For a look at it: no layer needs it. Hermitian, positive, of trace 1 where states have unit norm and weights sum
    to 1. In the real field ``[..., d, d]``.

    Args:
        x: states w_i.
        weights: p_i, as ``mixture_weights`` gives them.
        mask: ``[..., N]``, true for words; what others hold is not read.
        number_field: of the states.
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

    Of a mixture q_k = <v_k|rho|v_k> = sum_i p_i |<v_k|w_i>|^2 (4.46), without rho: ``mix``.

    - ``projectors``: every v_k has unit norm and is a question of its own, answered yes with probability q_k in [0, 1]
      (Li et al. 2019, CNM); the q_k of different questions have no common sum.
    - ``povm``: one question with ``num_outcomes`` answers, sum_k |v_k><v_k| = I (Thesis 4.54), so the q_k sum to 1.
      <v_k| are the rows of the first columns of a unitary matrix (``UnitaryLinear``), complete by construction. It
      needs an outcome for each feature or more.

    Args:
        features: stored width of the states.
        num_outcomes: K.
        measurement: one of the two above.
        number_field: ``"complex"`` or ``"real"``.

    Attributes:
        mean_outcome: the mean of q_k over all pure states: 1 / d of d features, with ``povm`` over all k too, 1 / K.

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
            # Entries of this size put the angles of the unitary matrix all around the circle.
            std = 1.0 / math.sqrt(num_outcomes)
            self.generator = CayleyMatrix(num_outcomes, std, number_field, device=device, dtype=dtype)
        else:
            self.vectors = nn.Parameter(torch.empty(num_outcomes, features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Directions from the whole sphere; the generator of a ``povm`` draws itself."""
        if self.measurement == "projectors":
            torch.nn.init.normal_(self.vectors)

    def states(self) -> Tensor:
        """v_k, ``[num_outcomes, width]``, float32 or better."""
        if self.measurement == "projectors":
            return unit_norm(CF.wide(self.vectors))
        rows = self.generator(self.num_features)
        return rows if self.numbers.num_parts == 1 else CF.conj(CF.join(*rows.chunk(2)))

    def amplitudes(self, x: Tensor) -> Tensor:
        """<v_k|w>, ``[..., width]`` -> ``num_outcomes`` numbers of the field."""
        states = self.states().to(x.dtype)
        if self.numbers.num_parts == 1:
            return F.linear(x, states)
        CF.check_halves(x)
        return CF.linear(x, *CF.split(CF.conj(states)))

    def forward(self, x: Tensor) -> Tensor:
        """Float32 or better."""
        return self.numbers.squared_modulus(CF.wide(self.amplitudes(x)))

    def extra_repr(self) -> str:
        return (
            f"{self.features}, {self.num_outcomes}, measurement={self.measurement!r}, "
            f"number_field={self.numbers.name!r}"
        )


def local_outcomes(probabilities: Tensor, scores: Tensor, lengths: Tensor, window: int) -> Tensor:
    """q of the mixture in each window of words (Li et al. 2019, CNM), ``[B, N, K] -> [B, N, K]`` by the first word.

    A window that reaches beyond the text holds what is left of it; one that begins there gives 0.

    Args:
        probabilities: |<v_k|w_i>|^2 ``[B, N, K]``, as ``Measurement`` gives them.
        scores: ``[B, N]``, as ``mixture_scores`` gives them.
        lengths: words of each text ``[B]``; they come first.
        window: words of a window.

    Raises:
        ValueError: a window without words.
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
