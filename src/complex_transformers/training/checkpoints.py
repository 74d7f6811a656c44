# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a training: the mark of their run, which are complete, and how one is removed."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers.trainer_utils import sort_checkpoints

__all__ = [
    "clear_checkpoint",
    "is_complete",
    "last_complete_checkpoint",
    "read_mark",
    "sorted_checkpoints",
    "write_mark",
]

MARK = "run.json"
STATE = "trainer_state.json"  # what a Trainer writes last into a checkpoint


def read_mark(folder: str | Path) -> dict[str, Any]:
    """The mark of a folder or a checkpoint; empty where there is none."""
    try:
        return dict(json.loads((Path(folder) / MARK).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def write_mark(folder: str | Path, mark: Mapping[str, Any]) -> None:
    """Mark a folder, which is made."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / MARK).write_text(json.dumps(mark, indent=2) + "\n", encoding="utf-8")


def clear_checkpoint(folder: str | Path) -> None:
    """Remove a checkpoint; one that is killed at it leaves a folder that is not taken for whole."""
    (Path(folder) / STATE).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def is_complete(checkpoint: str | Path) -> bool:
    """Return whether a checkpoint was written completely: the ``Trainer`` writes its state last."""
    try:
        json.loads((Path(checkpoint) / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def last_complete_checkpoint(output_dir: str | Path) -> str | None:
    """Return the newest checkpoint in ``output_dir`` that was written to its end, or None.

    A run that is killed while it saves leaves half a checkpoint: it is skipped with a warning.
    """
    for checkpoint in reversed(sorted_checkpoints(output_dir)):
        if is_complete(checkpoint):
            return checkpoint
        warnings.warn(f"{checkpoint} was not written to its end and is passed over", stacklevel=2)
    return None


def sorted_checkpoints(output_dir: str | Path) -> list[str]:
    """Return the checkpoint folders in ``output_dir``, ordered by their steps."""
    found = sort_checkpoints(output_dir=str(output_dir)) if Path(output_dir).is_dir() else []
    return sorted(found, key=lambda path: int(path.rsplit("-", 1)[-1]))
