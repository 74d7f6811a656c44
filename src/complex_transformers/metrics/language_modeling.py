# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity and bits per character of language models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .base import Metric

__all__ = ["LanguageModelMetric", "language_model_scores"]


def language_model_scores(
    total: float, num_tokens: int, num_characters: int | None = None, reads_ahead: bool = False
) -> dict[str, float]:
    """Compute the scores of ``LanguageModelMetric`` from a summed negative log-likelihood.

    Args:
        total: negative log-likelihood of all tokens together, in nats.
        num_tokens: number of scored tokens.
        num_characters: number of characters they stand for, for ``bits_per_character``.
        reads_ahead: whether the model sees tokens that it is scored on. Then e^L is not a perplexity and is returned
            as ``not_a_perplexity``.

    Raises:
        ValueError: ``num_tokens`` is below 1.
    """
    if num_tokens < 1:
        raise ValueError(f"num_tokens must be 1 or more, got {num_tokens}")
    loss = total / num_tokens
    exponential = math.exp(loss) if loss < 700 else loss if math.isnan(loss) else math.inf
    scores = {
        "loss": loss,
        "not_a_perplexity" if reads_ahead else "perplexity": exponential,
        "bits_per_token": loss / math.log(2),
    }
    if num_characters is not None:
        scores["bits_per_character"] = total / math.log(2) / num_characters
    return scores


class LanguageModelMetric(Metric):
    """Loss, perplexity and bits, with the methods of an ``evaluate`` module: ``add``, ``add_batch``, ``compute``.

    Over N scored tokens with probabilities p_n: loss L = -1/N sum ln p_n (nats per token), perplexity e^L, bits per
    token L / ln 2. Bits per character (bpc) is the sum of bits over the number of characters that the tokens stand
    for; if each token is a character, it equals bits per token.

    Example:
        >>> from complex_transformers import LanguageModelMetric
        >>> scores = LanguageModelMetric().compute(predictions=[-0.6931472, -0.6931472], references=[7, 9])
        >>> round(scores["perplexity"], 3), round(scores["bits_per_token"], 3)
        (2.0, 1.0)
    """

    noun = "token"
    options = ("num_characters",)

    def add_batch(self, *, predictions: ArrayLike, references: ArrayLike) -> None:
        """Add tokens.

        Args:
            predictions: natural logarithm of the probability of each token, in any shape.
            references: token ids, in the same shape; -100 is not scored.

        Raises:
            ValueError: the shapes differ, or a scored log-probability is positive or NaN.
        """
        scores, tokens = np.asarray(predictions, dtype=np.float64), np.asarray(references)
        if scores.shape != tokens.shape:
            raise ValueError(f"predictions must have shape {list(tokens.shape)}, got {list(scores.shape)}")
        scores = scores[tokens != -100]
        wrong = scores[~(scores <= 1e-6)]  # a probability of 1 may round above it
        if wrong.size:
            raise ValueError(f"predictions must be log-probabilities, 0 or less, got {wrong[0]}. Apply log_softmax.")
        if scores.size:
            self._kept.append((-float(scores.sum()), scores.size))

    def compute(
        self, *, predictions: Any = None, references: Any = None, num_characters: int | None = None, **options: Any
    ) -> dict[str, Any]:
        """Score all added tokens and those given here, then empty the metric.

        Args:
            predictions, references: as in ``add_batch``, or None.
            num_characters: number of characters that the scored tokens stand for.

        Returns:
            ``loss``, ``perplexity``, ``bits_per_token``, ``tokens`` and, with ``num_characters``,
            ``bits_per_character``.

        Raises:
            ValueError: ``num_characters`` is below 1, or ``Metric.compute`` raises.
        """
        if num_characters is not None and num_characters < 1:
            raise ValueError(f"num_characters must be 1 or more, got {num_characters}")
        options["num_characters"] = num_characters
        return super().compute(predictions=predictions, references=references, **options)

    def _score(self, kept: list[tuple[float, int]], **options: Any) -> dict[str, Any]:
        total, tokens = sum(total for total, _ in kept), sum(tokens for _, tokens in kept)
        return {**language_model_scores(total, tokens, **options), "tokens": tokens}
