# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the files of a packed model say, before Transformers loads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import PreTrainedModel

from ..nn import PackedLinear

__all__ = ["check_files"]

BUFFERS = ("codes", "scales", "conj_codes", "conj_scales")
DTYPES = {torch.uint8: "U8", torch.float16: "F16"}  # as safetensors calls them


def check_files(model: PreTrainedModel, files: Sequence[str | Path] | None) -> None:
    """Raise unless safetensors files hold packed weights with the shapes and dtypes of the layers of a model.

    Files of other formats are not checked. ``check_packed`` finds missing weights after loading.

    Raises:
        ValueError: a damaged file, or packed weights of another configuration; names the file and the tensor.
    """
    prefix = f"{model.base_model_prefix}."  # a model may be loaded from what was saved with a head, and the other way
    layers = {name.removeprefix(prefix): layer for name, layer in model.named_modules()}
    for file in map(Path, files or ()):
        if file.suffix != ".safetensors":
            continue
        for name, kind in _kinds(file).items():
            layer, _, buffer = name.removeprefix(prefix).rpartition(".")
            if buffer in BUFFERS and layer in layers:
                _check_kind(file, name, kind, layers[layer])


def _kinds(file: Path) -> dict[str, str]:
    """Return shape and dtype of every tensor, from the header alone."""
    try:
        with safe_open(file, "pt") as opened:
            slices = {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118
            return {name: f"{tuple(each.get_shape())} {each.get_dtype()}" for name, each in slices.items()}
    except SafetensorError as error:
        raise ValueError(
            f"{file} is damaged or not complete ({file.stat().st_size} bytes; {error}): get it again, or save the "
            "quantised model again"
        ) from error


def _check_kind(file: Path, name: str, kind: str, layer: nn.Module) -> None:
    """Raise unless a layer has a buffer of the name, the shape and the dtype."""
    buffers = dict(layer.named_buffers()) if isinstance(layer, PackedLinear) else {}
    buffer = buffers.get(name.rpartition(".")[2])
    expected = "none" if buffer is None else f"{tuple(buffer.shape)} {DTYPES[buffer.dtype]}"
    if kind != expected:
        described = f"{expected} ({type(layer).__name__}({layer.extra_repr()}))"
        raise ValueError(
            f"{file} holds {name} of shape {kind}, and the layer that config.json describes has {described}: the two "
            "were not saved together; restore config.json, or save the quantised model again"
        )
