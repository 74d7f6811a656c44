# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training runs: train or resume, evaluate all splits, save model and results."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import transformers
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)

from ..training.checkpoints import (
    STATE,
    last_complete_checkpoint,
)
from ..training.trainer import ComplexTrainer
from .arguments import RunArguments
from .records import invocation, portable, rounded, run_record, save_model, write_results
from .run_folder import run_folder, run_mark

__all__ = ["Run", "limit_progress_bars", "prepare_run"]

_RESUME = " --resume_from_checkpoint last"


def limit_progress_bars(disable_bars: bool | None = None) -> bool:
    """Turn off the progress bars of Transformers and datasets unless standard error is a terminal.

    Args:
        disable_bars: None decides by the terminal.

    Returns:
        Whether they are off.
    """
    off = not sys.stderr.isatty() if disable_bars is None else disable_bars
    if off:
        import datasets

        datasets.disable_progress_bars()
        transformers.utils.logging.disable_progress_bar()
    return off


def prepare_run(args: TrainingArguments) -> str | None:
    """Set the seeds, turn off progress bars with ``disable_tqdm``, and return the checkpoint to resume from.

    Args:
        args: ``resume_from_checkpoint`` may be ``last``, the newest checkpoint in ``output_dir`` if there is one.
    """
    limit_progress_bars(args.disable_tqdm)
    transformers.set_seed(args.seed)
    if args.resume_from_checkpoint != "last":
        return args.resume_from_checkpoint
    return last_complete_checkpoint(str(args.output_dir))


class Patience(EarlyStoppingCallback):
    """``EarlyStoppingCallback`` that resumes its count from a checkpoint, also with another patience."""

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Restore the count."""
        super().on_train_begin(args, state, control, **kwargs)
        self.early_stopping_patience_counter = self.waited(state)
        state.stateful_callbacks.setdefault(
            type(self).__name__, self.state()
        )  # a checkpoint of a run without patience lacks it

    @classmethod
    def waited(cls, state: TrainerState) -> int:
        """Return the number of evaluations since the best one."""
        saved = state.stateful_callbacks.get(cls.__name__, {})
        return int(saved.get("attributes", {}).get("early_stopping_patience_counter", 0))


class LogBeforeSaving(TrainerCallback):
    """Log the loss before each checkpoint and evaluation, so that a resumed run averages it over the same steps."""

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Request a log before a checkpoint or an evaluation."""
        control.should_log |= control.should_save or control.should_evaluate

    on_epoch_end = on_step_end


class Run:
    """A training run: model, data, ``trainer`` and scores. Subclasses for other metrics override ``evaluate``.

    Args:
        model: any model that the trainer can train.
        parts: the splits ``train``, ``validation`` and, if there is one, ``test``.
        args: the training arguments.
        processing: tokenizer, processor or feature extractor, saved with the model.
        **options: arguments of the trainer, such as ``compute_metrics``.
    """

    trainer_class: ClassVar[type[Trainer]] = ComplexTrainer
    figures: tuple[str, ...] = ("loss",)  # the metrics of an evaluation, in order

    def __init__(
        self, model: PreTrainedModel, parts: Mapping[str, Any], args: RunArguments, *, processing: Any, **options: Any
    ) -> None:
        self.model, self.parts, self.args, self.processing = model, parts, args, processing
        self.record: dict[str, Any] = {}  # the result of `run`
        patience = args.early_stopping_patience
        self.trainer = self.trainer_class(
            model,
            args,
            train_dataset=parts["train"],
            eval_dataset=parts["validation"],
            processing_class=processing,
            callbacks=[LogBeforeSaving(), *([] if patience is None else [Patience(patience)])],
            **options,
        )

    @property
    def folder(self) -> Path:
        """The folder of checkpoints, model and results."""
        return Path(str(self.args.output_dir))

    def run(self, checkpoint: str | None = None) -> dict[str, Any]:
        """Train, and score the best epoch on the validation and test splits.

        Args:
            checkpoint: the checkpoint to resume from, see ``prepare_run``; a finished training is only scored again.

        Returns:
            The record of the run (``run_record``), ``rows``, and the result of ``score``.

        Raises:
            ValueError: another run uses the folder, or its checkpoints are there.
            SystemExit: Ctrl-C, after the command to resume has been printed.
        """
        try:
            return self._run(checkpoint)
        except KeyboardInterrupt:
            if self.trainer.is_world_process_zero():
                print(self._after_interrupt(), file=sys.stderr)
            raise SystemExit(130) from None  # the exit status of a process ended by Ctrl-C

    def _after_interrupt(self) -> str:
        """Return how to resume."""
        if last_complete_checkpoint(self.folder) is None:
            return f"\nInterrupted before the first checkpoint in {self.folder}: there is nothing to resume."
        command = shlex.join(invocation()).removesuffix(_RESUME) + _RESUME
        return f"\nInterrupted. Resume from the last checkpoint with:\n{command}"

    def _run(self, checkpoint: str | None) -> dict[str, Any]:
        first = self.trainer.is_world_process_zero()
        with self._locked_folder(checkpoint) if first else nullcontext() as self.trainer.mark:
            self.trainer.accelerator.wait_for_everyone()
            start = time.perf_counter()
            self._train(checkpoint)
            results = run_record(self.trainer, time.perf_counter() - start, checkpoint is not None)
            sized = {name: split for name, split in self.parts.items() if hasattr(split, "__len__")}  # not a stream
            results["rows"] = {name: len(split) for name, split in sized.items()}
            results |= self.score()
        for name in ("validation", "test"):
            if name in results:
                print(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in results[name].items()))
        print(f"parameters: {results['parameters']:,}; training: {results['seconds']:.0f} s, {results['steps']} steps")
        self.record = results
        return dict(results)

    def _train(self, checkpoint: str | None) -> None:
        """Train, or load the model of a finished training, which must not take one more step."""
        file = None if checkpoint is None else Path(checkpoint) / STATE
        state = TrainerState.load_from_json(str(file)) if file is not None and file.is_file() else None
        sharded = self.trainer.is_fsdp_enabled or self.trainer.is_deepspeed_enabled  # loaded only in training
        if checkpoint is None or state is None or sharded or not self._is_over(state):
            self.trainer.train(resume_from_checkpoint=checkpoint)
            return
        state.is_local_process_zero = self.trainer.is_local_process_zero()
        state.is_world_process_zero = self.trainer.is_world_process_zero()
        self.trainer.state = state
        self.trainer._load_from_checkpoint(checkpoint)
        if self.args.load_best_model_at_end and state.best_model_checkpoint is not None:
            self.trainer._load_best_model()

    def _is_over(self, state: TrainerState) -> bool:
        """Return whether all steps are done or the patience is exhausted."""
        patience = self.args.early_stopping_patience
        stopped = patience is not None and Patience.waited(state) >= patience
        return stopped or 0 < self.args.max_steps <= state.global_step

    def _locked_folder(self, checkpoint: str | None) -> AbstractContextManager[dict[str, Any]]:
        return run_folder(self.folder, run_mark(self.args, self.model.config.to_dict(), self.parts), checkpoint)

    def score(self) -> dict[str, Any]:
        """Return the metrics of ``validation`` and, if there is one, of ``test``."""
        return {name: self.evaluate(name) for name in ("validation", "test") if name in self.parts}

    def evaluate(self, name: str) -> dict[str, Any]:
        """Return the ``figures`` of a split."""
        metrics = self.trainer.predict(self.parts[name], metric_key_prefix="part").metrics
        return rounded({key: metrics[f"part_{key}"] for key in self.figures if f"part_{key}" in metrics})

    def save(self, results: Mapping[str, Any], training_data: Any) -> None:
        """Save model, card, tokenizer or processor, and the results; only the first process writes."""
        if self.trainer.is_world_process_zero():
            scores = self.record.get("test", self.record["validation"])
            metrics = {name: scores[name] for name in self.figures if name in scores}
            source = f"`{portable(training_data)}`, {self.record['rows']}"
            save_model(self.folder, self.model, self.processing, training_data=source, metrics=metrics)
            self.write(results)

    def write(self, results: Mapping[str, Any]) -> None:
        """Write the results."""
        write_results(self.args.output_json or self.folder / "results.json", results)
