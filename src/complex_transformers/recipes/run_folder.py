# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The output folder of a run: resumed by the same run only, and written by one run at a time."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from transformers import TrainingArguments

from ..training.checkpoints import clear_checkpoint, is_complete, read_mark, sorted_checkpoints, write_mark
from .records import portable

__all__ = ["run_folder", "run_mark"]

# Arguments that a resumed training must not change: Transformers would keep the old value or read other rows.
_SAME = (
    *("seed", "data_seed", "learning_rate", "lr_scheduler_type", "weight_decay", "optim"),
    *("per_device_train_batch_size", "gradient_accumulation_steps", "train_sampling_strategy"),
)


def _fingerprint(split: Any) -> dict[str, Any]:
    """Return the size of a split and the names of its columns."""
    size = len(split) if hasattr(split, "__len__") else None
    return {"rows": size, "columns": getattr(split, "column_names", None)}


def run_mark(args: TrainingArguments, config: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that a resumed run must share with its checkpoint: data, configuration and training.

    Args:
        args: the training arguments. Length, device and logging may change on resume. So may the number of processes
            and workers, unless the training data is a stream, whose batches depend on them.
        config: the configuration of the model.
        parts: the splits; only ``train`` and ``validation`` count, since a test split may be added later.
    """
    config = portable({name: value for name, value in config.items() if name != "transformers_version"})
    stream = {"processes": args.world_size, "workers": args.dataloader_num_workers}
    mark = {
        "run": uuid.uuid4().hex[:12],
        **({} if hasattr(parts["train"], "__len__") else stream),
        "data": {name: _fingerprint(parts[name]) for name in ("train", "validation")},
        "configuration": config,
        "training": {name: getattr(args, name, None) for name in _SAME},
    }
    return dict(json.loads(json.dumps(mark, default=str)))  # as `read_mark` returns it


def _other_run(checkpoint: str, mark: Mapping[str, Any]) -> str | None:
    """Describe the run of a checkpoint if it is another one."""
    found = read_mark(checkpoint)
    if not found:
        return "an unknown run"
    other = [name for name in mark if name != "run" and found.get(name) != mark[name]]
    return f"run {found['run']}, with other {' and '.join(other)}" if other else None


def _check_folder(folder: Path, mark: Mapping[str, Any], resumes: bool) -> None:
    """Raise for complete checkpoints of another run, unless that run has finished and this one starts."""
    before = read_mark(folder)
    for path in filter(is_complete, sorted_checkpoints(folder)):
        is_finished = before == {**read_mark(path), "finished": True}
        if (other := _other_run(path, mark)) and (resumes or not is_finished):
            raise ValueError(
                f"output_dir must not have checkpoints of another run, got {path} of {other}. Choose another, or "
                f"remove them from {folder}."
            )


@contextmanager
def run_folder(output_dir: str | Path, mark: Mapping[str, Any], checkpoint: str | None) -> Iterator[dict[str, Any]]:
    """Lock the folder of a run; yield the mark of the run, taken from ``checkpoint`` if it resumes.

    A new run removes the checkpoints of an earlier run that has finished or has the same mark, and incomplete ones.

    Raises:
        ValueError: another run uses the folder, its checkpoints are there, or ``checkpoint`` is of another run.
    """
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "run.lock")  # released by the system when a process is killed
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ValueError(
            f"output_dir must not be in use by another run, got {folder}. Choose another, or wait."
        ) from error
    try:
        _check_folder(folder, mark, checkpoint is not None)
        if checkpoint is None:
            for path in sorted_checkpoints(folder):
                clear_checkpoint(path)
        elif other := _other_run(checkpoint, mark):
            raise ValueError(f"resume_from_checkpoint must be a checkpoint of this run, got {checkpoint} of {other}.")
        else:
            mark = {**mark, "run": read_mark(checkpoint)["run"]}
        write_mark(folder, mark)
        yield dict(mark)
        write_mark(folder, {**mark, "finished": True})
    finally:
        (folder / "run.lock").unlink(missing_ok=True)
        lock.release()
