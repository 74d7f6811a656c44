# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Read the weights of checkpoints without running code that a file may contain."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

__all__ = ["read_folder", "read_weights"]

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLED = "pytorch_model.bin"


def read_weights(path: str | Path) -> dict[str, Tensor]:
    """Return the state dict in a safetensors file or a file of ``torch.save``; other pickled objects raise."""
    if Path(path).suffix == ".safetensors":
        return load_file(path)
    weights = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(weights, dict) or not all(isinstance(value, Tensor) for value in weights.values()):
        raise ValueError(f"{path} must contain a state dict, got {str(weights)[:50]}. Save model.state_dict().")
    return weights


def read_folder(folder: str | Path) -> dict[str, Tensor]:
    """Return the state dict of a folder: ``model.safetensors``, the shards of its index, or ``pytorch_model.bin``.

    Transformers reads them in this order; an index beside a single file is left over from an earlier save.

    Raises:
        FileNotFoundError: none of the files exists, or a shard does not.
        ValueError: the index names a file outside the folder.
    """
    folder = Path(folder)
    if (folder / WEIGHTS).is_file():
        return load_file(folder / WEIGHTS)
    if (folder / PICKLED).is_file() and not (folder / INDEX).is_file():
        return read_weights(folder / PICKLED)
    weights: dict[str, Tensor] = {}
    for name in sorted(set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())):
        if Path(name).is_absolute() or ".." in Path(name).parts:  # links may lead outside, as in the cache of the Hub
            raise ValueError(f"weight_map of {folder / INDEX} must name files in its folder, got {name!r}.")
        weights |= load_file(folder / name)
    return weights
