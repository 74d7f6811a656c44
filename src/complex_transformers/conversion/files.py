# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and settings as files: read without running code that they may hold; damaged ones are named."""

from __future__ import annotations

import json
import pickle
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

__all__ = [
    "check_names",
    "check_numbers",
    "check_shapes",
    "check_tensors",
    "listed",
    "read_folder",
    "read_json",
    "read_weights",
]

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_MOST_LISTED = 1000

_HOW_TO_SAVE = (
    'write its weights where it can be loaded: torch.save(torch.load("model.pt").state_dict(), "weights.pt"), in the '
    "environment it was made in and only if you trust the file"
)


def read_weights(path: str | Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint by name, without running code that it may hold.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a damaged file, a pickled object other than tensors by name.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint at {path}; give the file of the state dict itself")
    damaged = f"{path} is damaged or not complete ({path.stat().st_size} bytes); get it again"
    with path.open("rb") as file:
        start = file.read(9)
    if path.suffix == ".safetensors" or start[8:] == b"{":  # a size and json, whatever the name
        try:
            return load_file(path)
        except SafetensorError as error:
            raise ValueError(f"{damaged}: {error}") from error
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # any: the file is not known to be one of torch at all
        if not isinstance(error, pickle.UnpicklingError) or "global" not in str(error).lower():
            raise ValueError(f"{damaged}, or it is no file of torch.save") from error
        raise ValueError(
            f"{path} holds more than tensors, and to unpickle it would run code of its maker. If it is a whole module "
            f"(model.pt of the authors' train.py), {_HOW_TO_SAVE}"
        ) from error
    check_tensors(weights, str(path))
    return dict(weights)


def read_folder(folder: str | Path) -> dict[str, Tensor]:
    """The tensors of ``model.safetensors`` in a folder, else of the files that ``model.safetensors.index.json`` names.

    That order is the one of Transformers: an index beside one file is left over from what was saved there before.

    Raises:
        FileNotFoundError: neither is there, or a file that the index names is not.
        ValueError: a damaged file, one that does not hold what the index says.
    """
    folder = Path(folder)
    if (folder / WEIGHTS).is_file():
        return read_weights(folder / WEIGHTS)
    if not (folder / INDEX).is_file():
        raise FileNotFoundError(
            f"{folder} holds neither {WEIGHTS} nor {INDEX}; load the model with Transformers and save it again by "
            "save_pretrained, which writes them"
        )
    places = read_json(folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise ValueError(f"{folder / INDEX} has no weight_map, the file of each tensor; get it again")
    weights: dict[str, Tensor] = {}
    for name in sorted(set(places.values())):
        if Path(name).is_absolute() or ".." in Path(name).parts:  # links may lead out: those of the Hub's cache do
            raise ValueError(f"{folder / INDEX} names {name!r}, which is no file within {folder}; get it again")
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder / name} is missing, and {INDEX} names it; get it, too")
        found = read_weights(folder / name)
        asked = {tensor for tensor, place in places.items() if place == name}
        if asked != found.keys():
            raise ValueError(
                f"{folder / name} does not hold what {INDEX} says; missing: {listed(asked - found.keys())}; of no "
                f"use: {listed(found.keys() - asked)}. Get both from one release"
            )
        weights |= found
    return weights


def check_tensors(weights: Any, source: str) -> None:
    """Raise unless these are tensors by name."""
    if not isinstance(weights, Mapping):
        wrong, what = [weights], ""
    else:
        wrong = [name for name in weights if not isinstance(name, str)]
        wrong += [value for value in weights.values() if not isinstance(value, Tensor)]
        what = f", its keys are {sorted(map(str, weights))[:10]}"
    if wrong:
        raise ValueError(
            f"{source} must hold tensors by name, it holds a {type(wrong[0]).__name__}{what}; "
            "save the state dict itself"
        )


def listed(names: Iterable[str]) -> str:
    """All names, as far as someone can read them."""
    names = sorted(names)
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return (", ".join(names[:_MOST_LISTED]) or "none") + more


def check_numbers(weights: Mapping[str, Tensor]) -> None:
    """Raise unless all are dense tensors of floating-point numbers that are here."""
    unfit = [
        f"{name} ({value.dtype}, {value.layout})"
        for name, value in weights.items()
        if value.layout != torch.strided or value.is_meta or value.dtype not in _DTYPES
    ]
    if unfit:
        raise ValueError(f"weights must be dense tensors of floating-point numbers, these are not: {listed(unfit)}")


def check_names(found: Collection[str], expected: Collection[str], network: str, remedy: str) -> None:
    """Raise unless the tensors are those of a network."""
    missing, extra = set(expected) - set(found), set(found) - set(expected)
    if missing or extra:
        raise ValueError(
            f"these are not the weights of {network}: missing: {listed(missing)}; of no use: {listed(extra)}. {remedy}"
        )


def check_shapes(weights: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Raise unless tensors have these shapes."""
    wrong = [
        f"{name} {tuple(weights[name].shape)} instead of {shape}"
        for name, shape in expected.items()
        if weights[name].shape != shape
    ]
    if wrong:
        raise ValueError(f"shapes do not match each other: {'; '.join(wrong)}")


def read_json(path: Path, name: str = "json file") -> dict[str, Any]:
    """Settings by name; ``name`` says in an error what file is missing."""
    if not path.is_file():
        raise FileNotFoundError(f"no {name} at {path}")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not json: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold settings by name, it holds a {type(values).__name__}")
    return values
