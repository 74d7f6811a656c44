# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Files that hold all images of a part: IDX (MNIST), npz, and the binary batches of CIFAR."""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...data.files import check_file, open_file

__all__ = ["ImageArrays", "find_image_files", "read_image_files"]

CIFAR_SIDE = 32
IDX_DIMENSIONS = {"images": 3, "labels": 1}

# The files of a part, in the folders in which they are handed out; the first pattern that some file matches.
_PARTS = {
    "train": (r"train-images[.-]idx3-ubyte(\.gz)?", r"train\.npz", r"data_batch_\d+\.bin", r"train\.bin"),
    "validation": (r"validation-images[.-]idx3-ubyte(\.gz)?", r"validation\.npz", r"validation\.bin"),
    "test": (r"t(est|10k)-images[.-]idx3-ubyte(\.gz)?", r"test\.npz", r"test_batch\.bin", r"test\.bin"),
}


class ImageArrays(NamedTuple):
    """Images ``[N, height, width]`` (grey) or ``[N, height, width, 3]``, bytes, and the class of each, ``[N]``."""

    images: np.ndarray
    labels: np.ndarray


def find_image_files(folder: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Files of the parts train, validation and test in a folder of MNIST, CIFAR or npz files; empty for others."""
    names = sorted(os.listdir(folder))
    if pickles := [name for name in names if re.fullmatch(r"data_batch_\d+", name)]:
        raise ValueError(
            f"{Path(folder) / pickles[0]} is a pickle, which may run code when it is read: use the binary version of "
            "the data set, whose names end in .bin"
        )
    found: dict[str, list[str]] = {}
    for part, patterns in _PARTS.items():
        matches = ([name for name in names if re.fullmatch(pattern, name)] for pattern in patterns)
        if files := next(filter(None, matches), None):
            found[part] = [str(Path(folder) / name) for name in files]
    return found


def read_image_files(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> ImageArrays:
    """Images and labels of one or more files of a part.

    - IDX, also ``.gz``: a file of images, ``...images...idx3...``, beside which lies ``...labels...idx1...``;
    - npz: arrays ``images`` ``[N, H, W]``, ``[N, H, W, 3]`` or ``[N, 3, H, W]`` of bytes, and ``labels`` ``[N]``;
    - ``.bin``: rows of one or two labels, the last of which counts, and 3 x 32 x 32 bytes (CIFAR-10 and -100).

    Raises:
        FileNotFoundError: no such file, or none with the labels.
        ValueError: another format, a file that was cut off, labels and images that do not fit.
    """
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not files:
        raise ValueError("give at least one file of images")
    read = [_read_one(str(path)) for path in files]
    shapes = {arrays.images.shape[1:] for arrays in read}
    if len(shapes) > 1:
        raise ValueError(f"the images of {files} have different shapes: {sorted(shapes)}")
    return ImageArrays(*(np.concatenate(parts) for parts in zip(*read, strict=True)))


def _read_one(path: str) -> ImageArrays:
    name = Path(path).name
    if name.endswith(".npz"):
        images, labels = _read_npz(path)
    elif name.endswith(".bin"):
        images, labels = _read_cifar(path)
    elif re.search(r"idx\d", name):
        images, labels = read_idx(path, "images"), read_idx(_label_path(path), "labels")
    else:
        raise ValueError(f"{path} must end in .npz, .bin, or be an IDX file with idx3 in its name (and .gz)")
    if len(images) != len(labels):
        raise ValueError(f"{path} has {len(images)} images and {len(labels)} labels")
    if not images.size:
        raise ValueError(f"{path} holds no image")
    return ImageArrays(images, labels.astype(np.int64))


def _label_path(path: str) -> str:
    file = Path(path)
    labels = file.with_name(file.name.replace("images", "labels").replace("idx3", "idx1"))
    if labels == file or not labels.is_file():
        raise FileNotFoundError(f"{path} has no file of labels beside it: {labels.name}")
    return str(labels)


def read_idx(path: str | os.PathLike[str], kind: str) -> np.ndarray:
    """Bytes of an IDX file (LeCun et al. 1998): 0, 0, 8, the number of axes, each size (4 bytes), the numbers.

    Args:
        path: also ``.gz``.
        kind: ``images``, three axes, or ``labels``, one.

    Raises:
        ValueError: another type or number of axes, or a file whose length its header does not say.
    """
    with open_file(path) as file:
        data = file.read()
    axes = IDX_DIMENSIONS[kind]
    if data[:4] != bytes([0, 0, 8, axes]):
        raise ValueError(
            f"{path} is no IDX file of {kind}: it must begin with bytes 0, 0, 8, {axes}, got {data[:4]!r}"
        )
    sizes = np.frombuffer(data[4 : 4 + 4 * axes].ljust(4 * axes, b"\0"), dtype=">u4").tolist()
    expected = 4 + 4 * axes + math.prod(sizes)
    if len(data) != expected:
        raise ValueError(f"{path} was cut off or changed: its header says {expected} bytes, it has {len(data)}")
    return np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * axes).reshape(sizes)


def _read_npz(path: str) -> tuple[np.ndarray, np.ndarray]:
    check_file(path)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if missing := {"images", "labels"} - set(arrays.files):
                raise ValueError(f"it has no array {sorted(missing)[0]!r}, only {arrays.files}")
            images, labels = arrays["images"], arrays["labels"]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is no readable npz file of images: {error}") from error
    if images.ndim == 4 and images.shape[1] == 3 != images.shape[3]:
        images = images.transpose(0, 2, 3, 1)
    if images.dtype != np.uint8 or not (images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)):
        raise ValueError(
            f"{path}: images must be bytes [N, H, W], [N, H, W, 3] or [N, 3, H, W], got {images.dtype} "
            f"{list(images.shape)}"
        )
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"{path}: labels must be integers [N], got {labels.dtype} {list(labels.shape)}")
    return images, labels


def _read_cifar(path: str) -> tuple[np.ndarray, np.ndarray]:
    with open_file(path) as file:
        data: np.ndarray[Any, Any] = np.frombuffer(file.read(), dtype=np.uint8)
    size = 3 * CIFAR_SIDE**2
    for num_labels in (1, 2):  # CIFAR-10; CIFAR-100 with a coarse and a fine one
        if len(data) and len(data) % (size + num_labels) == 0:
            rows = data.reshape(-1, size + num_labels)
            images = rows[:, num_labels:].reshape(-1, 3, CIFAR_SIDE, CIFAR_SIDE).transpose(0, 2, 3, 1)
            return images, rows[:, num_labels - 1]
    raise ValueError(
        f"{path} is no batch of CIFAR, or was cut off: {len(data)} bytes are no multiple of {size + 1} or {size + 2}"
    )
