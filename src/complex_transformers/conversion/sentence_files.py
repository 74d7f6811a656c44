# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Copy the pooling and normalization modules of a ``sentence-transformers`` folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

__all__ = ["copy_sentence_files", "sentence_files"]

MODULES = "modules.json"
SETTINGS = ("sentence_bert_config.json", "config_sentence_transformers.json")


def sentence_files(folder: str | Path) -> list[Path]:
    """Return the relative paths of the modules after the network and of their settings; none without modules.

    Raises:
        ValueError: ``modules.json`` names a path outside the folder.
    """
    folder = Path(folder)
    if not (folder / MODULES).is_file():
        return []
    files = [Path(name) for name in (MODULES, *SETTINGS) if (folder / name).is_file()]
    for module in json.loads((folder / MODULES).read_text(encoding="utf-8")):
        if not (path := module["path"]):  # the network lies in the folder itself
            continue
        place = (folder / path).resolve()
        if ".." in Path(path).parts or folder.resolve() not in place.parents:
            raise ValueError(f"paths of {folder / MODULES} must be folders within it, got {path!r}.")
        files += [Path(path) / file.relative_to(place) for file in sorted(place.rglob("*")) if file.is_file()]
    return files


def copy_sentence_files(folder: str | Path, output: str | Path, files: Sequence[Path]) -> None:
    """Copy ``files``, relative to ``folder``, to the same relative paths in ``output``."""
    for file in files:
        target = Path(output) / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(folder) / file, target)
