# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the files of a packed model say, before Transformers loads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import PreTrainedModel

from ..nn import PackedLinear

__all__ = ["check_files"]

BUFFERS = ("codes", "scales", "conj_codes", "conj_scales")


def check_files(model: PreTrainedModel, files: Sequence[str | Path] | None) -> None:
    """Raise unless these files can be read and hold packed weights of the shapes that packed layers of a model have.

    Files of other formats are not looked at. What is missing is seen when all is loaded, see ``check_packed``.

    Raises:
        ValueError: a damaged file, packed weights of another configuration; with the names of file and tensor.
    """
    prefix = f"{model.base_model_prefix}."  # a model may be loaded from what was saved with a head, and the other way
    layers = {name.removeprefix(prefix): layer for name, layer in model.named_modules()}
    for file in map(Path, files or ()):
        if file.suffix != ".safetensors":
            continue
        for name, shape in _shapes(file).items():
            layer, _, buffer = name.removeprefix(prefix).rpartition(".")
            if buffer in BUFFERS and layer in layers:
                _check_shape(file, name, shape, layers[layer])


def _shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor, from the header alone."""
    try:
        with safe_open(file, "pt") as opened:
            return {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(
            f"{file} is damaged or not complete ({file.stat().st_size} bytes; {error}): get it again, or save the "
            "quantised model again"
        ) from error


def _check_shape(file: Path, name: str, shape: tuple[int, ...], layer: nn.Module) -> None:
    """Raise unless a layer has a buffer of the name and the shape."""
    expected: str | tuple[int, ...] = "none"
    if isinstance(layer, PackedLinear):
        found = dict(layer.named_buffers()).get(name.rpartition(".")[2])
        expected = "none" if found is None else tuple(found.shape)
    if shape != expected:
        described = f"{expected} ({type(layer).__name__}({layer.extra_repr()}))"
        raise ValueError(
            f"{file} holds {name} of shape {shape}, and the layer that config.json describes has {described}: the two "
            "were not saved together; restore config.json, or save the quantised model again"
        )
