# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Labelled images from folders, IDX and npz files or the Hub, in splits that share no image."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.extras import check_option, require, require_datasets
from .image_files import find_image_files, read_image_files
from .splits import OVERLAPS, given_files, hold_out, in_order, load_hub_splits, separate, strings_of

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

__all__ = ["load_image_dataset"]

BROKEN = ("error", "drop")


def load_image_dataset(
    train_file: str | None = None,
    validation_file: str | None = None,
    test_file: str | None = None,
    *,
    dataset_name: str | None = None,
    dataset_config_name: str | None = None,
    image_column: str = "image",
    label_column: str = "label",
    validation_split: float = 0.1,
    split_seed: int = 0,
    overlap: str = "error",
    broken: str = "error",
    cache_dir: str | None = None,
) -> DatasetDict:
    """Load ``image`` (``datasets.Image``) and ``label`` (strings) of train, validation and, if there is one, test.

    Every image is decoded once, so that broken ones are reported before training.

    Args:
        train_file, validation_file, test_file: IDX or npz, see ``read_image_files``; with ``dataset_name`` the last
            two replace its splits.
        dataset_name, dataset_config_name: a folder of such files under their usual names; a folder of images,
            ``train/CLASS/*.png``; or a data set of the Hub.
        image_column, label_column: names of the columns of a data set of the Hub.
        validation_split: share of the training rows, stratified by label, held out without a validation split.
        split_seed: seed of the held-out rows.
        overlap: images in two splits: ``error``, ``drop`` them from the earlier split, or ``allow``.
        broken: files that cannot be decoded, and decompression bombs: ``error``, or ``drop`` them and print their
            names.
        cache_dir: cache folder of ``datasets`` for ``dataset_name``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another format, two sources of the training split, a missing column or label, images that cannot
            be decoded, splits that overlap.
    """
    check_option("overlap", overlap, OVERLAPS)
    check_option("broken", broken, BROKEN)
    arrays: dict[str, list[str]] = {}
    splits: dict[str, Dataset] = {}
    given = given_files("train_file", (train_file, validation_file, test_file), dataset_name)
    if dataset_name is not None and Path(dataset_name).is_dir():
        arrays = find_image_files(dataset_name)
    if dataset_name is not None and not arrays:
        for name, split in load_hub_splits(dataset_name, dataset_config_name, cache_dir).items():
            splits[name] = _decoded(name, split, image_column, label_column, broken)
    arrays |= {name: [path] for name, path in given.items()}
    splits |= {name: _from_arrays(paths) for name, paths in arrays.items()}
    splits = separate(splits, overlap, ["key"], "picture")
    if "validation" not in splits:
        train = splits["train"]
        held = hold_out(train, train["key"], train["label"], validation_split, split_seed)
        splits["train"], splits["validation"] = held
    return in_order({name: split.remove_columns("key") for name, split in splits.items()})


def _features() -> Any:
    datasets = require_datasets()
    text = datasets.Value("string")
    return datasets.Features({"image": datasets.Image(), "label": text, "key": text})


def _from_arrays(paths: list[str]) -> Dataset:
    """Return a split with each image of the files as a PNG."""
    image_class = require("PIL.Image", "reading images needs Pillow", "vision")
    images, labels = read_image_files(paths)

    def row(pixels: Any, label: Any) -> dict[str, Any]:
        file = io.BytesIO()
        image_class.fromarray(pixels).save(file, format="png", compress_level=1)
        return {"image": {"bytes": file.getvalue(), "path": None}, "label": str(label), "key": _key(pixels.tobytes())}

    rows = [row(pixels, label) for pixels, label in zip(images, labels, strict=True)]
    return require_datasets().Dataset.from_list(rows, features=_features())


def _decoded(name: str, split: Dataset, image_column: str, label_column: str, broken: str) -> Dataset:
    """Return image, label and key of a split; report or drop the images that cannot be decoded."""
    datasets = require_datasets()
    split = split.select_columns([image_column, label_column])  # raises if one is missing
    labels = strings_of(name, split, label_column, "label")
    bomb = require("PIL.Image", "reading images needs Pillow", "vision").DecompressionBombError
    rows, failures = [], []
    for number, image in enumerate(split.cast_column(image_column, datasets.Image(decode=False))[image_column]):
        try:
            rows.append({"image": image, "label": labels[number], "key": _decoded_key(image)})
        except (OSError, ValueError, SyntaxError, TypeError, bomb) as error:  # Pillow raises all of them
            failures.append(f"{(image or {}).get('path') or f'row {number}'}: {error}")
    if failures:
        found = f"{len(failures)} image(s) of the {name} data cannot be decoded: {'; '.join(failures[:5])}"
        if broken == "error":
            raise ValueError(f"{found}. Remove them, or use broken='drop'.")
        print(f"{found}: left out")
    return datasets.Dataset.from_list(rows, features=_features())


def _decoded_key(image: Mapping[str, Any]) -> str:
    """Return a digest of the decoded pixels; equal digests count as copies."""
    image_class = require("PIL.Image", "reading images needs Pillow", "vision")
    data = image["bytes"]
    with image_class.open(image["path"] if data is None else io.BytesIO(data)) as opened:
        # Palette indices are not colours.
        pixels = opened.convert("RGBA") if opened.mode in ("P", "PA") else opened
        about = (opened.mode, opened.size, opened.info.get("transparency"))
        return _key(pixels.tobytes() + repr(about).encode())


def _key(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
