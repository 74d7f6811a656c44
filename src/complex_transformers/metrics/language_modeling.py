# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity and bits per character of texts that a language model has read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["LanguageModelMetric", "language_model_scores"]


def language_model_scores(total: float, num_tokens: int, num_characters: int | None = None) -> dict[str, float]:
    """Scores of tokens with the negative log-likelihood ``total`` (nats) together; see ``LanguageModelMetric``."""
    loss = total / num_tokens
    scores = {
        "loss": loss,
        "perplexity": math.exp(loss) if loss < 700 else loss if math.isnan(loss) else math.inf,
        "bits_per_token": loss / math.log(2),
    }
    if num_characters is not None:
        scores["bits_per_character"] = total / math.log(2) / num_characters
    return scores


class LanguageModelMetric:
    """Loss, perplexity and bits, with the methods of an ``evaluate`` module: ``add``, ``add_batch``, ``compute``.

    Over N scored tokens with probabilities p_n: loss L = -1/N sum ln p_n (nats per token), perplexity e^L, bits per
    token L / ln 2. Where a token is a character the last is also what papers call bits per character (bpc); for
    other tokens the sum of bits is divided by the number of characters they stand for.

    Example:
        >>> from complex_transformers import LanguageModelMetric
        >>> scores = LanguageModelMetric().compute(predictions=[-0.6931472, -0.6931472], references=[7, 9])
        >>> round(scores["perplexity"], 3), round(scores["bits_per_token"], 3)
        (2.0, 1.0)
    """

    def __init__(self) -> None:
        self._total, self._tokens = 0.0, 0

    def add(self, *, prediction: float, reference: int) -> None:
        """Keep one token for ``compute``."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: ArrayLike, references: ArrayLike) -> None:
        """Keep tokens for ``compute``.

        Args:
            predictions: the logarithm (natural) of the probability that the model gave to each token, of any shape.
            references: the tokens, of the same shape; -100 is not scored.

        Raises:
            ValueError: shapes that differ, a scored log-probability that is above 0 or not a number.
        """
        scores, tokens = np.asarray(predictions, dtype=np.float64), np.asarray(references)
        if scores.shape != tokens.shape:
            raise ValueError(
                f"each token needs one log-probability, got predictions {list(scores.shape)} and references "
                f"{list(tokens.shape)}"
            )
        scores = scores[tokens != -100]
        wrong = scores[~(scores <= 1e-6)]  # rounding may leave a certain token a little above 0
        if wrong.size:
            raise ValueError(f"predictions are natural logarithms of probabilities, 0 or less, got {wrong[0]}")
        self._total -= float(scores.sum())
        self._tokens += scores.size

    def compute(
        self,
        *,
        predictions: ArrayLike | None = None,
        references: ArrayLike | None = None,
        num_characters: int | None = None,
    ) -> dict[str, Any]:
        """Scores of what was added and of what is given here; the metric is empty afterwards.

        Args:
            predictions, references: as in ``add_batch``; None for nothing more.
            num_characters: characters that the scored tokens stand for.

        Returns:
            ``loss``, ``perplexity``, ``bits_per_token``, ``tokens`` and, with ``num_characters``,
            ``bits_per_character``.

        Raises:
            ValueError: nothing to score, one of the arguments alone, fewer than one character; and what
                ``add_batch`` raises.
        """
        if (predictions is None) != (references is None):
            raise ValueError("give both predictions and references, or neither")
        if predictions is not None and references is not None:
            self.add_batch(predictions=predictions, references=references)
        if num_characters is not None and num_characters < 1:
            raise ValueError(f"num_characters must be 1 or more, got {num_characters}")
        if not self._tokens:
            raise ValueError("there is nothing to score: no token was given")
        scores = {**language_model_scores(self._total, self._tokens, num_characters), "tokens": self._tokens}
        self._total, self._tokens = 0.0, 0
        return scores
