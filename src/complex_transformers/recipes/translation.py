# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of a translation model: epoch and length penalty are chosen on validation, the test split scored once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import EvalPrediction, PreTrainedModel

from ..metrics.translation import TranslationMetric
from ..models.base.generation import learned_positions
from ..training.trainer import ComplexSeq2SeqTrainer
from .arguments import RunArguments, new_default
from .records import rounded
from .run import Run

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

__all__ = ["TranslationRun", "TranslationTrainingArguments", "longest_first"]

_SCORES = ("bleu", "chrf", "prediction_length", "reference_length")


@dataclass
class TranslationTrainingArguments(RunArguments):
    """``RunArguments`` with defaults for translation models trained from scratch, and the final beam search.

    Args:
        output_dir, num_train_epochs, lr_scheduler_type, warmup_steps, weight_decay: ``outputs/translation``, 20,
            ``inverse_sqrt``, a tenth of the run, 0.01.
        per_device_train_batch_size, per_device_eval_batch_size, train_sampling_strategy: 64, 128,
            ``group_by_length``.
        predict_with_generate, generation_num_beams, generation_max_length: validation is decoded greedily, up to 10
            tokens more than the longest training target.
        metric_for_best_model: chooses the best epoch: ``bleu`` or ``loss``.
        test_num_beams: beams for the test split and of the saved model.
        length_penalty: length penalties of beam search; the one with the best validation BLEU is kept.
    """

    output_dir: str | None = "outputs/translation"
    num_train_epochs: float = new_default("num_train_epochs", 20, "small corpora need more passes")
    lr_scheduler_type: str = new_default("lr_scheduler_type", "inverse_sqrt", "as in Vaswani et al. (2017)")
    warmup_steps: float = new_default("warmup_steps", 0.1, "a share of the run, as the corpora differ in size")
    weight_decay: float = new_default("weight_decay", 0.01, "small corpora overfit")
    per_device_train_batch_size: int = new_default("per_device_train_batch_size", 64, "sentences are short")
    per_device_eval_batch_size: int = new_default("per_device_eval_batch_size", 128, "evaluation keeps no gradients")
    train_sampling_strategy: str = new_default(
        "train_sampling_strategy", "group_by_length", "otherwise a large share of a batch is padding"
    )
    predict_with_generate: bool = new_default("predict_with_generate", True, "the best epoch is chosen by BLEU")
    generation_num_beams: int | None = new_default("generation_num_beams", 1, "validation is decoded greedily")
    generation_max_length: int | None = field(
        default=None, metadata={"help": "tokens; default: 10 more than the longest target of training"}
    )
    metric_for_best_model: str | None = new_default(
        "metric_for_best_model", "bleu", "BLEU of the validation split; loss is the other choice"
    )
    test_num_beams: int = field(default=5, metadata={"help": "beams for the test split and of the saved model"})
    length_penalty: list[float] = field(
        default_factory=lambda: [1.0],
        metadata={"help": "of beam search: above 1 prefers long translations; the best on validation is kept"},
    )


def longest_first(part: Dataset) -> Dataset:
    """Sort an encoded split by decreasing ``length`` for batches with little padding; ``row`` is the old index."""
    order = np.argsort(part["length"], kind="stable")[::-1]
    return part.select(order).add_column("row", order)


class TranslationRun(Run):
    """A run of an encoder-decoder translation model.

    Args:
        model: any model that ``Seq2SeqTrainer`` can train.
        parts: the splits ``train``, ``validation`` and, if there is one, ``test``: encoded, with ``length`` and
            ``target`` texts.
        args: the arguments of training and search.
        collator: the data collator.
        processing: tokenizer or processor; the processor's ``tokenizer`` decodes.
        metric: the translation metric.
    """

    trainer_class = ComplexSeq2SeqTrainer
    figures = ("bleu", "chrf")
    args: TranslationTrainingArguments

    def __init__(
        self,
        model: PreTrainedModel,
        parts: DatasetDict,
        args: TranslationTrainingArguments,
        *,
        collator: Callable[..., Any],
        processing: Any,
        metric: TranslationMetric,
    ) -> None:
        self.metric, self.tokenizer = metric, getattr(processing, "tokenizer", processing)
        self.signatures: dict[str, str] = {}
        positions = learned_positions(model)
        if args.generation_max_length is None:
            longest = max(map(len, parts["train"]["labels"])) + 10
            args.generation_max_length = longest if positions is None else min(longest, positions)
        elif positions is not None and args.generation_max_length > positions:
            raise ValueError(
                f"generation_max_length must be at most {positions}, got {args.generation_max_length}. Reduce it, or "
                "raise max_position_embeddings."
            )
        generation = model.generation_config
        generation.max_length, generation.max_new_tokens = args.generation_max_length, None
        generation.num_beams, generation.length_penalty = args.test_num_beams, args.length_penalty[0]
        # With validation loss nothing is generated during training.
        by_loss = args.metric_for_best_model in ("loss", "eval_loss")
        args.predict_with_generate, args.greater_is_better = not by_loss, not by_loss
        super().__init__(
            model,
            {name: split if name == "train" else longest_first(split) for name, split in parts.items()},
            args,
            processing=processing,
            data_collator=collator,
            compute_metrics=None if by_loss else self._validation_scores,
        )

    def score(self) -> dict[str, Any]:
        """Score the validation split, choose the length penalty, translate the test split.

        The translations are written to ``predictions.txt`` in the output folder, in the order of the test file.

        Returns:
            ``validation``, ``length_penalties``, ``length_penalty``, ``generation_max_length``, ``test``,
            ``predictions`` and ``signatures``.
        """
        results: dict[str, Any] = {}
        results["validation"], _ = self.translate("validation", self.args.generation_num_beams or 1)
        if len(self.args.length_penalty) > 1:
            results["length_penalties"] = self.choose_length_penalty()
        results["length_penalty"] = self.model.generation_config.length_penalty
        results["generation_max_length"] = self.args.generation_max_length
        if "test" in self.parts:
            results["test"], texts = self.translate("test", self.args.test_num_beams)
            results["predictions"] = "predictions.txt"
            if self.trainer.is_world_process_zero():
                lines = "".join(f"{text}\n" for text in texts)
                (self.folder / "predictions.txt").write_text(lines, encoding="utf-8")
        return {**results, "signatures": self.signatures}

    def translate(self, name: str, num_beams: int) -> tuple[dict[str, Any], list[str]]:
        """Translate a split with the model's generation configuration and score it as ``score_texts`` does.

        The metrics also include ``loss`` (teacher forcing), ``num_beams`` and ``seconds``.
        """
        self.args.predict_with_generate, self.trainer.compute_metrics = True, None
        output = self.trainer.predict(self.parts[name], num_beams=num_beams)
        figures, texts = self.score_texts(output.predictions, self.parts[name])
        loss, seconds = output.metrics["test_loss"], round(output.metrics["test_runtime"], 1)
        return rounded({**figures, "loss": loss, "num_beams": num_beams, "seconds": seconds}), texts

    def choose_length_penalty(self) -> dict[str, float]:
        """Return the validation BLEU of each length penalty; the model keeps the best one."""
        generation = self.model.generation_config
        scores = {}
        for penalty in self.args.length_penalty:
            generation.length_penalty = penalty
            figures, _ = self.translate("validation", self.args.test_num_beams)
            scores[str(penalty)] = figures["bleu"]
        generation.length_penalty = float(max(scores, key=scores.__getitem__))
        return scores

    def score_texts(self, predictions: np.ndarray, part: Dataset) -> tuple[dict[str, Any], list[str]]:
        """Return the metrics, and the translations in the order of the file.

        Args:
            predictions: ``[rows, length]`` ids including the decoder start token; -100 is padding.
            part: the split with these rows.

        Returns:
            ``bleu``, ``chrf``, ``prediction_length``, ``reference_length`` and ``unfinished``, the number of
            translations cut off at the maximum length; and one line of text per row.
        """
        ids = np.where(predictions < 0, self.tokenizer.pad_token_id, predictions)
        decoded = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
        texts = [" ".join(text.split()) for text in decoded]
        scores = self.metric.compute(predictions=texts, references=list(part["target"]))
        self.signatures = {name: scores[f"{name}_signature"] for name in ("bleu", "chrf")}
        unfinished = int((predictions[:, 1:] != self.tokenizer.eos_token_id).all(1).sum())
        figures = {**{name: scores[name] for name in _SCORES}, "unfinished": unfinished}
        return figures, [text for _, text in sorted(zip(part["row"], texts, strict=True))]

    def _validation_scores(self, prediction: EvalPrediction) -> dict[str, Any]:
        return self.score_texts(prediction.predictions, self.parts["validation"])[0]
