# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: whose checkpoints lie in it, which are whole, and that one run at a time writes there."""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from transformers import TrainingArguments

from ..training.checkpoints import clear_checkpoint, is_complete, read_mark, sorted_checkpoints, write_mark
from .records import portable

__all__ = ["checksum", "run_folder", "run_mark"]

# What a resumed training cannot have changed: Transformers would go on with the old value, or read other rows.
_SAME = (
    *("seed", "data_seed", "learning_rate", "lr_scheduler_type", "warmup_steps", "weight_decay", "max_grad_norm"),
    *("optim", "label_smoothing_factor", "per_device_train_batch_size", "gradient_accumulation_steps"),
    "train_sampling_strategy",
)
# The same of its optimizer; apart, as checkpoints that do not say it are resumed all the same.
_SAME_OPTIMIZER = (
    *("frequency_learning_rate", "phase_learning_rate", "adam_beta1", "adam_beta2", "adam_epsilon"),
    *("optim_args", "optim_target_modules", "lr_scheduler_kwargs"),
)


def checksum(part: Any) -> int:
    """CRC-32 of what a part of the data holds, the same in every process.

    Args:
        part: a ``datasets.Dataset`` (its rows), a data set with a ``checksum`` of its own, or one of clips (their
            file names and targets); of any other only the length counts.
    """
    if hasattr(part, "checksum"):
        return int(part.checksum)
    if hasattr(part, "targets"):
        clips = [(Path(part.name(index)).name, target) for index, target in enumerate(part.targets)]
        return zlib.crc32(repr((len(part), clips)).encode())
    if not hasattr(part, "with_format"):
        return zlib.crc32(str(len(part)).encode())
    value = 0
    for rows in part.with_format("arrow").iter(batch_size=1000):  # images and sounds as they are stored
        value = zlib.crc32(repr(rows.to_pydict()).encode("utf-8", "surrogatepass"), value)
    return value


def run_mark(args: TrainingArguments, config: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a resumed run must share with its checkpoint: checksums of data, configuration, training, optimizer.

    Args:
        args: the training arguments. Length, device and logging may change on resume. So may the processes and
            workers, unless the training data is a stream, whose batches depend on them.
        config: the configuration of the model.
        parts: the data; only ``train`` and ``validation`` count, since a test split may be added later.
    """
    config = portable({name: value for name, value in config.items() if name != "transformers_version"})

    def settings(names: tuple[str, ...]) -> str:
        values = {name: str(getattr(args, name, None)) for name in names}
        return f"{zlib.crc32(json.dumps(values).encode()):08x}"

    stream = {"processes": args.world_size, "workers": args.dataloader_num_workers}
    return {
        "run": uuid.uuid4().hex[:12],
        **({} if hasattr(parts["train"], "__len__") else stream),
        "data": "-".join(f"{checksum(parts[name]):08x}" for name in ("train", "validation")),
        "configuration": f"{zlib.crc32(json.dumps(config, sort_keys=True, default=str).encode()):08x}",
        "training": settings(_SAME),
        "optimizer": settings(_SAME_OPTIMIZER),
    }


def _other_run(checkpoint: str, mark: Mapping[str, Any]) -> str | None:
    """Describe the run of a checkpoint if it is another one; what the checkpoint does not record counts as equal."""
    found = read_mark(checkpoint)
    if not found:
        return "an unknown run"
    other = [name for name in mark if name != "run" and found.get(name, mark[name]) != mark[name]]
    return f"run {found['run']}, with other {' and '.join(other)}" if other else None


def _check_folder(folder: Path, mark: Mapping[str, Any], resumes: bool) -> None:
    """Raise for complete checkpoints of another run, unless that run has finished and this one starts."""
    before = read_mark(folder)
    for path in filter(is_complete, sorted_checkpoints(folder)):
        is_finished = before == {**read_mark(path), "finished": True}
        if (other := _other_run(path, mark)) and (resumes or not is_finished):
            raise ValueError(f"{path} is of {other}: choose another output_dir, or remove the checkpoints in {folder}")


@contextmanager
def run_folder(output_dir: str | Path, mark: Mapping[str, Any], checkpoint: str | None) -> Iterator[dict[str, Any]]:
    """Lock the folder of a run; yield the mark of the run, taken from ``checkpoint`` where it resumes.

    A run that starts removes the checkpoints of an earlier one that has finished or has the same mark, and those that
    were not written to their end.

    Raises:
        ValueError: another run is at work in the folder, its checkpoints lie there, or ``checkpoint`` is of another.
    """
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "run.lock")  # the system releases it when a process is killed
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ValueError(f"another run is at work in {folder}: choose another output_dir, or wait for it") from error
    try:
        _check_folder(folder, mark, checkpoint is not None)
        if checkpoint is None:
            for path in sorted_checkpoints(folder):
                clear_checkpoint(path)
        elif other := _other_run(checkpoint, mark):
            raise ValueError(
                f"resume_from_checkpoint must be of the same run, got {checkpoint} of {other}. Resume with the data "
                "and arguments of that run."
            )
        else:
            mark = {**mark, "run": read_mark(checkpoint)["run"]}
        write_mark(folder, mark)
        yield dict(mark)
        write_mark(folder, {**mark, "finished": True})
    finally:
        (folder / "run.lock").unlink(missing_ok=True)
        lock.release()
