# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Files that hold all images of a split: IDX (MNIST) and npz."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...data.files import named, open_file

__all__ = ["ImageArrays", "find_image_files", "read_image_files"]

# The files of a split under their usual names; the first pattern that matches a file counts.
_NAMES = {
    "train": (r"train-images[.-]idx3-ubyte(\.gz)?", r"train\.npz"),
    "validation": (r"validation-images[.-]idx3-ubyte(\.gz)?", r"validation\.npz"),
    "test": (r"t(est|10k)-images[.-]idx3-ubyte(\.gz)?", r"test\.npz"),
}


class ImageArrays(NamedTuple):
    """Images ``[N, height, width]`` (grey) or ``[N, height, width, 3]``, uint8, and the class of each, ``[N]``."""

    images: np.ndarray
    labels: np.ndarray


def find_image_files(folder: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the IDX or npz files of train, validation and test in a folder; empty for other folders."""
    names = sorted(os.listdir(folder))
    found: dict[str, list[str]] = {}
    for split, patterns in _NAMES.items():
        matches = ([name for name in names if re.fullmatch(pattern, name)] for pattern in patterns)
        if files := next(filter(None, matches), None):
            found[split] = [str(Path(folder) / name) for name in files]
    return found


def read_image_files(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> ImageArrays:
    """Read the images and labels of one or more files of a split.

    - IDX, also ``.gz``: a file of images, ``...images...idx3...``, next to its ``...labels...idx1...``;
    - npz: uint8 array ``images`` ``[N, H, W]``, ``[N, H, W, 3]`` or ``[N, 3, H, W]``, and ``labels`` ``[N]``.

    Raises:
        FileNotFoundError: no such file, or no file of labels.
        ValueError: another format, a truncated file, images that are not uint8.
    """
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    read = [_read_one(str(path)) for path in files]
    return ImageArrays(*(np.concatenate(arrays) for arrays in zip(*read, strict=True)))


def _read_one(path: str) -> ImageArrays:
    with named(path):
        if path.endswith(".npz"):
            with np.load(path, allow_pickle=False) as arrays:
                images, labels = arrays["images"], arrays["labels"]
        else:
            name = Path(path).name.replace("images", "labels").replace("idx3", "idx1")
            images, labels = _read_idx(path), _read_idx(str(Path(path).with_name(name)))
    if images.ndim == 4 and images.shape[1] == 3 != images.shape[3]:
        images = images.transpose(0, 2, 3, 1)
    if images.dtype != np.uint8 or images.shape[3:] not in ((), (3,)) or labels.shape != images.shape[:1]:
        raise ValueError(
            f"{path} must have uint8 images [N, H, W], [N, H, W, 3] or [N, 3, H, W] and labels [N], got "
            f"{images.dtype} {list(images.shape)} and {list(labels.shape)}."
        )
    return ImageArrays(images, labels.astype(np.int64))


def _read_idx(path: str) -> np.ndarray:
    """Read an IDX file of uint8 (LeCun et al. 1998): 0, 0, 8, number of axes, size of each (4 bytes), elements."""
    with open_file(path) as file:
        data = file.read()
    if data[:3] != bytes([0, 0, 8]):
        raise ValueError(f"{path} must be an IDX file of bytes or end in .npz, got {data[:3]!r} at its start.")
    start = 4 + 4 * data[3]
    sizes = np.frombuffer(data[4:start], dtype=">u4").tolist()
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(sizes)
