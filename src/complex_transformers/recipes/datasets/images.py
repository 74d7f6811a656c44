# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Labelled images from folders, IDX, npz and CIFAR files or the Hub, in parts that share no image."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.extras import (
    check_option,
    require,
    require_datasets,
)
from .image_files import find_image_files, read_image_files
from .splits import (
    OVERLAPS,
    check_columns,
    given_files,
    hold_out,
    in_order,
    load_hub_parts,
    separate,
    strings_of,
)

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
    """Columns ``image`` (``datasets.Image``) and ``label`` (strings) of train, validation and, where given, test.

    Every image is decoded once, so that a broken one is known by its name before a run begins.

    Args:
        train_file, validation_file, test_file: IDX, npz or CIFAR's .bin, see ``read_image_files``; beside
            ``dataset_name`` the last two take the place of its parts.
        dataset_name, dataset_config_name: a folder of such files under their usual names; a folder of images,
            ``train/CLASS/*.png``; or a data set of the Hub.
        image_column, label_column: names of the columns of a data set of the Hub.
        validation_split: share of the training part, by label, set aside where no validation part is given.
        split_seed: of that split.
        overlap: what to do with an image in two parts: ``error``, ``drop`` it from the earlier part, or ``allow``.
        broken: what to do with files that are no images or decompression bombs: ``error``, or ``drop`` them and print
            their names.
        cache_dir: folder for what ``datasets`` keeps of ``dataset_name``, by default its own.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another format, two sources of the training part, a missing column or label, images that cannot be
            decoded, parts that overlap.
    """
    check_option("overlap", overlap, OVERLAPS)
    check_option("broken", broken, BROKEN)
    arrays: dict[str, list[str]] = {}
    parts: dict[str, Dataset] = {}
    given = given_files("train_file", (train_file, validation_file, test_file), dataset_name)
    if dataset_name is not None and Path(dataset_name).is_dir() and (arrays := find_image_files(dataset_name)):
        if "train" not in arrays:
            raise ValueError(
                f"{dataset_name} has no file of part 'train', only {arrays}: give train_file in place of dataset_name"
            )
    elif dataset_name is not None:
        parts = load_hub_parts(dataset_name, dataset_config_name, cache_dir)
    columns = {"image_column": image_column, "label_column": label_column}
    parts = {name: _named(name, part, columns, broken) for name, part in parts.items()}
    arrays |= {name: [path] for name, path in given.items()}
    parts |= {name: _from_arrays(paths) for name, paths in arrays.items()}
    parts = separate(parts, overlap, ["key"], "picture")
    if "validation" not in parts:
        train = parts["train"]
        held = hold_out(train, train["key"], train["label"], validation_split, split_seed)
        parts["train"], parts["validation"] = held
    return in_order({name: part.remove_columns("key") for name, part in parts.items()})


def _features() -> Any:
    datasets = require_datasets()
    text = datasets.Value("string")
    return datasets.Features({"image": datasets.Image(), "label": text, "key": text})


def _from_arrays(paths: list[str]) -> Dataset:
    """A part of the files of arrays, each image as a PNG."""
    image_class = require("PIL.Image", "reading images needs Pillow", "vision")
    images, labels = read_image_files(paths)

    def row(pixels: Any, label: Any) -> dict[str, Any]:
        file = io.BytesIO()
        image_class.fromarray(pixels).save(file, format="png", compress_level=1)
        return {"image": {"bytes": file.getvalue(), "path": None}, "label": str(label), "key": _key(pixels.tobytes())}

    rows = [row(pixels, label) for pixels, label in zip(images, labels, strict=True)]
    return require_datasets().Dataset.from_list(rows, features=_features())


def _named(name: str, part: Dataset, columns: Mapping[str, str], broken: str) -> Dataset:
    """The columns of a data set, without the images that cannot be decoded."""
    datasets = require_datasets()
    check_columns(name, part, dict(columns))
    image_column = columns["image_column"]
    if not isinstance(part.features[image_column], datasets.Image):
        raise ValueError(
            f"column {image_column!r} of the {name} data holds no images but {part.features[image_column]}: name "
            "another with image_column"
        )
    labels = strings_of(name, part, columns["label_column"], "label")
    bomb = require("PIL.Image", "reading images needs Pillow", "vision").DecompressionBombError
    rows, failures = [], []
    for number, image in enumerate(part.cast_column(image_column, datasets.Image(decode=False))[image_column]):
        try:
            rows.append({"image": image, "label": labels[number], "key": _decoded_key(image)})
        except (OSError, ValueError, SyntaxError, TypeError, bomb) as error:  # Pillow raises all of them
            failures.append(f"{(image or {}).get('path') or f'row {number}'}: {error}")
    if failures:
        found = f"{len(failures)} image(s) of the {name} data cannot be decoded: {'; '.join(failures[:5])}"
        if broken == "error":
            raise ValueError(f"{found}: remove them, or leave them out with broken='drop'")
        print(f"{found}: left out")
    if not rows:
        raise ValueError(f"the {name} data holds no image")
    return datasets.Dataset.from_list(rows, features=_features())


def _decoded_key(image: Mapping[str, Any]) -> str:
    """What makes two images the same, their pixels; raises where there are none."""
    image_class = require("PIL.Image", "reading images needs Pillow", "vision")
    data = image["bytes"]
    with image_class.open(image["path"] if data is None else io.BytesIO(data)) as opened:
        # Numbers of a palette are no colours.
        pixels = opened.convert("RGBA") if opened.mode in ("P", "PA") else opened
        about = (opened.mode, opened.size, opened.info.get("transparency"))
        return _key(pixels.tobytes() + repr(about).encode())


def _key(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
