# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The results of a run: command, metrics, software versions, and the saved model."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PreTrainedModel, Trainer

from ..models.base.hub import write_model_card

__all__ = ["command_line", "model_record", "portable", "rounded", "run_record", "save_model", "write_results"]

DATA_FOLDER = "COMPLEX_TRANSFORMERS_DATA"


def portable(value: Any) -> Any:
    """Replace the absolute paths in an argument, a list or a mapping, so that it is valid on another machine.

    A path below the working directory becomes relative, a path below ``$COMPLEX_TRANSFORMERS_DATA`` starts with that
    variable, and any other path is reduced to its name. Text that starts with a slash counts as a path if its first
    folder exists.
    """
    if isinstance(value, Mapping):
        return {name: portable(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [portable(each) for each in value]
    if not isinstance(value, (str, Path)):
        return value
    value = str(value)
    if value.startswith("--") and "=" in value:
        option, _, given = value.partition("=")
        return f"{option}={portable(given)}"
    path = Path(value)
    if len(path.parts) < 2 or not path.is_absolute() or not os.path.exists(Path(*path.parts[:2])):
        return value
    for name, folder in (("", Path.cwd()), (f"${DATA_FOLDER}", os.environ.get(DATA_FOLDER))):
        if folder is not None and path.is_relative_to(folder):
            return str(name / path.relative_to(folder))
    return path.name


def rounded(figures: Mapping[str, Any], digits: int = 4) -> dict[str, Any]:
    """Round the floats to ``digits``."""
    return {name: round(value, digits) if isinstance(value, float) else value for name, value in figures.items()}


def invocation() -> list[str]:
    """Return the command of this process, as words: ``complex-transformers ...`` or ``python script ...``."""
    program, *options = sys.argv
    return [*(program.split() if program.startswith("complex-transformers ") else ["python", program]), *options]


def command_line() -> str:
    """Return the command line of this process without absolute paths."""
    return shlex.join(portable(invocation()))


def run_record(trainer: Trainer, seconds: float, resumed: bool) -> dict[str, Any]:
    """Return how a model was trained: command, seed, steps, time, size, evaluations, configuration, software.

    Args:
        trainer: the trainer after ``train()``.
        seconds: duration of the training; with ``resumed``, since it was resumed.
        resumed: whether it started from a checkpoint.
    """
    evaluations = [log for log in trainer.state.log_history if "eval_loss" in log]
    losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
    best = [log["epoch"] for log in evaluations if log["step"] == trainer.state.best_global_step]
    return {
        "command": command_line(),
        "seed": trainer.args.seed,
        "parameters": trainer.model.num_parameters(),
        "seconds": round(seconds, 1),
        "resumed": resumed,
        "steps": trainer.state.global_step,
        "train_loss": round(losses[-1], 4) if losses else None,  # mean since the previous log
        "best_epoch": best[0] if best else None,
        "evaluations": [rounded(_scores(log)) for log in evaluations],
        **model_record(trainer),
    }


def model_record(trainer: Trainer) -> dict[str, Any]:
    """Return the configuration of a model and the software that trained it."""
    config = trainer.model.config.to_diff_dict()
    return {
        "config": {name: value for name, value in config.items() if name != "_name_or_path"},
        "environment": {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "device": str(trainer.args.device),
            "threads": torch.get_num_threads(),
        },
    }


def _scores(log: Mapping[str, Any]) -> dict[str, Any]:
    """Return the logged metrics of an evaluation without its speed."""
    speed = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second", "eval_model_preparation_time")
    return {name.removeprefix("eval_"): value for name, value in log.items() if name not in speed}


def save_model(
    folder: str | Path, model: PreTrainedModel, processing: Any, *, training_data: str, metrics: Mapping[str, Any]
) -> None:
    """Save a trained model, its tokenizer or processor, and a model card.

    Args:
        folder: where to save them.
        model: a model from a ``Trainer``, which may have disabled its cache.
        processing: has ``save_pretrained``.
        training_data, metrics: contents of the model card, which models of other libraries do not get.
    """
    if hasattr(model.config, "use_cache"):
        model.config.use_cache = True
    model.save_pretrained(folder)
    processing.save_pretrained(folder)
    if hasattr(model.config, "number_field"):
        write_model_card(folder, model, training_data=training_data, metrics=dict(metrics))
    print(f"model: {folder}")


def write_results(path: str | Path, results: Mapping[str, Any]) -> None:
    """Write results as indented JSON, create its folder, and print the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(f"results: {path}")
