# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores of what an encoder-decoder model translates under a ``Seq2SeqTrainer``, and its length penalty."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import EvalPrediction, Seq2SeqTrainer

from .metrics.translation import TranslationMetric
from .runs import rounded

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerBase

__all__ = ["TranslationScorer", "longest_first"]

_FIGURES = ("bleu", "chrf", "prediction_length", "reference_length")


def longest_first(part: Dataset) -> Dataset:
    """An encoded part by falling ``length``, so that batches are of one length; ``row`` leads back to its order."""
    order = np.argsort(part["length"], kind="stable")[::-1]
    return part.select(order).add_column("row", order)


class TranslationScorer:
    """BLEU and chrF of the translations of a part, which has ``target`` texts and the ``row`` of ``longest_first``.

    Args:
        tokenizer: of the target.
        metric: of the texts.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, metric: TranslationMetric) -> None:
        self.tokenizer, self.metric = tokenizer, metric
        self.signatures: dict[str, str] = {}

    def compute_metrics(self, part: Dataset) -> Callable[[EvalPrediction], dict[str, Any]]:
        """What a trainer wants for its evaluation part."""
        return lambda prediction: self.score(prediction.predictions, part)[0]

    def score(self, predictions: np.ndarray, part: Dataset) -> tuple[dict[str, Any], list[str]]:
        """Figures, and the translations in the order of the file.

        Args:
            predictions: ``[rows, length]`` ids with the first, which starts the decoder; -100 is padding.
            part: of these rows.

        Returns:
            ``bleu``, ``chrf``, ``prediction_length``, ``reference_length`` and ``unfinished``, the number of
            translations that the longest length allowed stopped; and one line of text for each row.
        """
        ids = np.where(predictions < 0, self.tokenizer.pad_token_id, predictions)
        decoded = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
        texts = [" ".join(text.split()) for text in decoded]
        scores = self.metric.compute(predictions=texts, references=list(part["target"]))
        self.signatures = {name: scores[f"{name}_signature"] for name in ("bleu", "chrf")}
        unfinished = int((predictions[:, 1:] != self.tokenizer.eos_token_id).all(1).sum())
        figures = {**{name: scores[name] for name in _FIGURES}, "unfinished": unfinished}
        return figures, [text for _, text in sorted(zip(part["row"], texts, strict=True))]

    def translate(self, trainer: Seq2SeqTrainer, part: Dataset, num_beams: int) -> tuple[dict[str, Any], list[str]]:
        """Translate a part, by the model's own generation configuration, and score it as ``score`` does.

        The figures also have ``loss`` (of the labels), ``num_beams`` and ``seconds``.
        """
        trainer.args.predict_with_generate, trainer.compute_metrics = True, None
        start = time.perf_counter()
        output = trainer.predict(part, num_beams=num_beams)
        seconds = round(time.perf_counter() - start, 1)
        figures, texts = self.score(output.predictions, part)
        loss = output.metrics["test_loss"]
        return rounded({**figures, "loss": loss, "num_beams": num_beams, "seconds": seconds}), texts

    def choose_length_penalty(
        self, trainer: Seq2SeqTrainer, part: Dataset, penalties: Sequence[float], num_beams: int
    ) -> dict[str, float]:
        """BLEU of a validation part for each length penalty; the model keeps the best one."""
        generation = trainer.model.generation_config
        scores = {}
        for penalty in penalties:
            generation.length_penalty = penalty
            figures, _ = self.translate(trainer, part, num_beams)
            scores[str(penalty)] = figures["bleu"]
        generation.length_penalty = float(max(scores, key=scores.__getitem__))
        return scores
