# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a run writes at its end: the command, figures, software, and the model's folder."""

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
    """An argument, a list or a mapping of them, as it would be on another machine: no absolute path.

    A path below the working directory becomes relative, one below the folder ``$COMPLEX_TRANSFORMERS_DATA`` is named
    after it, of any other its name is left. A text that begins with a slash is a path where its first folder exists.
    """
    if isinstance(value, Mapping):
        return {name: portable(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [portable(part) for part in value]
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
    """Figures with as many digits as a table has use for."""
    return {name: round(value, digits) if isinstance(value, float) else value for name, value in figures.items()}


def invocation() -> list[str]:
    """Return the command of this process, as words: ``complex-transformers ...`` or ``python script ...``."""
    program, *options = sys.argv
    return [*(program.split() if program.startswith("complex-transformers ") else ["python", program]), *options]


def command_line() -> str:
    """The command that runs, without the paths of this machine."""
    return shlex.join(portable(invocation()))


def run_record(trainer: Trainer, seconds: float, resumed: bool) -> dict[str, Any]:
    """How a trained model came about: command, seed, steps, time, size, evaluations, configuration, software.

    Args:
        trainer: after ``train()``.
        seconds: of the training; with ``resumed``, of its last stretch.
        resumed: whether it began from a checkpoint.
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
        "train_loss": round(losses[-1], 4) if losses else None,  # mean since the log before it
        "best_epoch": best[0] if best else None,
        "evaluations": [rounded(_scores(log)) for log in evaluations],
        **model_record(trainer),
    }


def model_record(trainer: Trainer) -> dict[str, Any]:
    """The configuration of a model and the software that trained it."""
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
    """What the Trainer logged of an evaluation, without how fast it was."""
    speed = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second", "eval_model_preparation_time")
    return {name.removeprefix("eval_"): value for name, value in log.items() if name not in speed}


def save_model(
    folder: str | Path, model: PreTrainedModel, processing: Any, *, training_data: str, metrics: Mapping[str, Any]
) -> None:
    """Save a trained model, its tokenizer or processor, and a model card.

    Args:
        folder: of all of them.
        model: out of a ``Trainer``, which may have turned its cache off.
        processing: has ``save_pretrained``.
        training_data, metrics: of the model card, which models of other families do without.
    """
    if hasattr(model.config, "use_cache"):
        model.config.use_cache = True
    model.save_pretrained(folder)
    processing.save_pretrained(folder)
    if hasattr(model.config, "number_field"):
        write_model_card(folder, model, training_data=training_data, metrics=dict(metrics))
    print(f"model: {folder}")


def write_results(path: str | Path, results: Mapping[str, Any]) -> None:
    """Write figures as indented JSON and say where; folders are made."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(f"results: {path}")
