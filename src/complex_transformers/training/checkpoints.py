# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: the mark of their run, completeness, removal."""

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
STATE = "trainer_state.json"  # the file that a Trainer writes last into a checkpoint


def read_mark(folder: str | Path) -> dict[str, Any]:
    """Return the mark of a folder or a checkpoint, empty if there is none."""
    try:
        return dict(json.loads((Path(folder) / MARK).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def write_mark(folder: str | Path, mark: Mapping[str, Any]) -> None:
    """Write the mark of a folder, which is created."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / MARK).write_text(json.dumps(mark, indent=2) + "\n", encoding="utf-8")


def clear_checkpoint(folder: str | Path) -> None:
    """Remove a checkpoint; if the process is killed meanwhile, the rest counts as incomplete."""
    (Path(folder) / STATE).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def is_complete(checkpoint: str | Path) -> bool:
    """Return whether a checkpoint is complete: the ``Trainer`` writes its state last."""
    try:
        json.loads((Path(checkpoint) / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def last_complete_checkpoint(output_dir: str | Path) -> str | None:
    """Return the newest complete checkpoint in ``output_dir``, or None.

    An incomplete one, of a run that was killed while saving, is skipped with a warning.
    """
    for checkpoint in reversed(sorted_checkpoints(output_dir)):
        if is_complete(checkpoint):
            return checkpoint
        warnings.warn(f"{checkpoint} is incomplete and is skipped", stacklevel=2)
    return None


def sorted_checkpoints(output_dir: str | Path) -> list[str]:
    """Return the checkpoint folders in ``output_dir``, ordered by their steps."""
    found = sort_checkpoints(output_dir=str(output_dir)) if Path(output_dir).is_dir() else []
    return sorted(found, key=lambda path: int(path.rsplit("-", 1)[-1]))
