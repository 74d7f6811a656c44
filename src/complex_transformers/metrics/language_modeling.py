# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity and bits per character of texts that a language model has read."""

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
    """Scores of tokens with the negative log-likelihood ``total`` (nats) together; see ``LanguageModelMetric``.

    Of a model that ``reads_ahead``, to tokens that it is scored on, e^L is no perplexity and is called so.

    Raises:
        ValueError: no token.
    """
    if num_tokens < 1:
        raise ValueError(f"there is nothing to score: {num_tokens} tokens")
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
    token L / ln 2. Where a token is a character the last is also what papers call bits per character (bpc); for
    other tokens the sum of bits is divided by the number of characters they stand for.

    Example:
        >>> from complex_transformers import LanguageModelMetric
        >>> scores = LanguageModelMetric().compute(predictions=[-0.6931472, -0.6931472], references=[7, 9])
        >>> round(scores["perplexity"], 3), round(scores["bits_per_token"], 3)
        (2.0, 1.0)
    """

    noun = "token"
    options = ("num_characters",)

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
        if scores.size:
            self._kept.append((-float(scores.sum()), scores.size))

    def compute(
        self, *, predictions: Any = None, references: Any = None, num_characters: int | None = None, **options: Any
    ) -> dict[str, Any]:
        """Scores of what was added and of what is given here; the metric is empty afterwards.

        Args:
            predictions, references: as in ``add_batch``; None for nothing more.
            num_characters: characters that the scored tokens stand for.

        Returns:
            ``loss``, ``perplexity``, ``bits_per_token``, ``tokens`` and, with ``num_characters``,
            ``bits_per_character``.

        Raises:
            ValueError: fewer than one character; and what ``Metric.compute`` raises.
        """
        if num_characters is not None and num_characters < 1:
            raise ValueError(f"num_characters must be 1 or more, got {num_characters}")
        options["num_characters"] = num_characters
        return super().compute(predictions=predictions, references=references, **options)

    def _score(self, kept: list[tuple[float, int]], **options: Any) -> dict[str, Any]:
        total, tokens = sum(total for total, _ in kept), sum(tokens for _, tokens in kept)
        return {**language_model_scores(total, tokens, **options), "tokens": tokens}
