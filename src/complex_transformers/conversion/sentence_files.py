# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a folder of ``sentence-transformers`` holds besides its network: what makes sentence vectors of states."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

__all__ = ["copy_sentence_files", "sentence_files"]

MODULES = "modules.json"
SETTINGS = ("sentence_bert_config.json", "config_sentence_transformers.json")


def sentence_files(folder: str | Path) -> list[Path]:
    """The files, from the folder on, of the modules after the network and of their settings; none without modules.

    Raises:
        ValueError: a list of modules that is damaged, or names a place outside the folder.
    """
    folder = Path(folder)
    listed = folder / MODULES
    if not listed.is_file():
        return []
    try:
        paths = [module["path"] for module in json.loads(listed.read_text(encoding="utf-8"))]
        if wrong := [path for path in paths if not isinstance(path, str)]:
            raise TypeError(f"the path {wrong[0]!r} is no text")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{listed} is no list of modules, each with its path: {error}; get it again") from error
    files = [Path(name) for name in (MODULES, *SETTINGS) if (folder / name).is_file()]
    for path in filter(None, paths):  # the network lies in the folder itself
        outside = ValueError(f"{listed} names {path!r}, which is no folder within {folder}; get it again")
        if "\0" in path or ".." in Path(path).parts:
            raise outside
        place = (folder / path).resolve()
        if not place.is_relative_to(folder.resolve()) or place == folder.resolve():
            raise outside
        files += [Path(path) / file.relative_to(place) for file in sorted(place.rglob("*")) if file.is_file()]
    return files


def copy_sentence_files(folder: str | Path, output: str | Path, files: Sequence[Path]) -> None:
    """Copy files of one folder to the same places of another."""
    for file in files:
        target = Path(output) / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(folder) / file, target)
