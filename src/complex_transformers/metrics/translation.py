# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""BLEU and chrF of translations by ``sacrebleu``, with their signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Metric

__all__ = ["TranslationMetric"]

Reference = str | Sequence[str]


class TranslationMetric(Metric):
    """Corpus BLEU and chrF, with the methods of an ``evaluate`` module: ``add``, ``add_batch``, ``compute``.

    Scores are between 0 and 100. Pass plain strings: sacrebleu tokenizes them itself.

    ``compute`` returns ``bleu``, ``chrf``, ``bleu_signature``, ``chrf_signature``, ``prediction_length`` and
    ``reference_length`` (tokens of BLEU's tokenizer), ``brevity_penalty``, ``precisions`` (of n-grams, in percent) and
    ``sentences``.

    Args:
        lowercase: ignore case. Scores with and without it are not comparable; the signature shows it.
        tokenize: sacrebleu's tokenizer for BLEU. ``13a`` (default), ``intl``, ``zh``, ``char`` and ``none`` need
            nothing else, ``ja-mecab`` and ``ko-mecab`` need a package, the others download a file at first use.

    Raises:
        ImportError: ``sacrebleu`` is missing (extra ``translation``).
        ValueError: an unknown tokenizer.

    Example:
        >>> from complex_transformers import TranslationMetric
        >>> scores = TranslationMetric().compute(predictions=["a small test ."], references=["a small test ."])
        >>> round(scores["bleu"], 1), round(scores["chrf"], 1)
        (100.0, 100.0)
    """

    noun = "translation"

    def __init__(self, lowercase: bool = False, tokenize: str = "13a") -> None:
        try:
            import sacrebleu
        except ImportError as error:
            raise ImportError(
                'translation scores need sacrebleu. Install it: pip install "complex_transformers[translation]", or '
                'pip install -e ".[translation]" in a clone.'
            ) from error
        super().__init__()
        if tokenize not in (known := sorted(sacrebleu.BLEU.TOKENIZERS)):
            raise ValueError(f"tokenize must be one of {known}, got {tokenize!r}")
        self.lowercase, self.tokenize = lowercase, tokenize
        self._bleu = sacrebleu.BLEU(lowercase=lowercase, tokenize=tokenize)
        self._chrf = sacrebleu.CHRF(lowercase=lowercase)

    def add_batch(self, *, predictions: Sequence[str], references: Sequence[Reference]) -> None:
        """Add translations.

        Args:
            predictions: strings.
            references: a string for each prediction, or a list of strings, equally many for all predictions.

        Raises:
            ValueError: predictions and references differ in length, or predictions have unequal numbers of references.
            TypeError: a prediction or reference is not a string.
        """
        self._check_lists(predictions, references)
        lists = [[reference] if isinstance(reference, str) else reference for reference in references]
        for row, (prediction, texts) in enumerate(zip(predictions, lists, strict=True)):
            if not isinstance(prediction, str):
                raise TypeError(f"prediction {row} must be a string, got {prediction!r}")
            if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
                raise TypeError(f"reference {row} must be a string or a list of strings, got {texts!r}")
            expected = len(self._kept[0][1] if self._kept else lists[0])
            if not texts or len(texts) != expected:
                raise ValueError(
                    f"prediction {row} must have as many references as prediction 0, and one or more, got {len(texts)}"
                )
        self._kept += zip(predictions, map(list, lists), strict=True)

    def _score(self, kept: list[tuple[str, list[str]]], **_: Any) -> dict[str, Any]:
        predictions, references = zip(*kept, strict=True)
        streams = [
            list(stream) for stream in zip(*references, strict=True)
        ]  # sacrebleu takes one list for each set of references
        bleu = self._bleu.corpus_score(predictions, streams)
        chrf = self._chrf.corpus_score(predictions, streams)
        return {
            "bleu": bleu.score,
            "chrf": chrf.score,
            "bleu_signature": str(self._bleu.get_signature()),
            "chrf_signature": str(self._chrf.get_signature()),
            "prediction_length": bleu.sys_len,
            "reference_length": bleu.ref_len,
            "brevity_penalty": bleu.bp,
            "precisions": bleu.precisions,
            "sentences": len(kept),
        }
