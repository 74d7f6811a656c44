# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_runs import ONE_EPOCH, assert_refused
from PIL import Image
from transformers import pipeline

IMAGES = "image-classification/run_image_classification.py"
SMALL = ["--hidden_sizes", "16"]


def squares(number: int, seed: int, channels: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Dark images whose upper or lower half is bright."""
    generator = np.random.default_rng(seed)
    images = generator.integers(0, 60, (number, 6, 5, channels), dtype=np.uint8)
    labels = generator.integers(0, 2, number)
    for image, label in zip(images, labels, strict=True):
        image[:3] += np.uint8(150 * label)
        image[3:] += np.uint8(150 * (1 - label))
    return (images[..., 0] if channels == 1 else images), labels


def write_arrays(path: Path, *args: int) -> Path:
    images, labels = squares(*args)
    np.savez(path, images=images, labels=labels)
    return path


def write_folder(folder: Path) -> Path:
    for part, number, seed in (("train", 40, 1), ("test", 10, 2)):
        for index, (image, label) in enumerate(zip(*squares(number, seed, 3), strict=True)):
            path = folder / part / ("lower", "upper")[label] / f"{index}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path)
    return folder


@pytest.mark.full
def test_arrays_are_learned(run: Callable[..., Any], tmp_path: Path) -> None:
    train, test = write_arrays(tmp_path / "train.npz", 120, 1), write_arrays(tmp_path / "test.npz", 40, 2)
    results = run(IMAGES, "--train_file", train, "--test_file", test, *SMALL, "--num_train_epochs", "25")
    assert results["rows"] == {"train": 108, "validation": 12, "test": 40}
    assert results["test"]["accuracy"] >= 0.95
    saved = json.loads((tmp_path / "out" / "results.json").read_text())
    assert saved["config"]["id2label"] == {"0": "0", "1": "1"}
    assert saved["config"]["image_size"] == [6, 5]
    assert saved["config"]["num_channels"] == 1
    image, label = (part[0] for part in squares(1, 3))
    (answer,) = pipeline("image-classification", model=str(tmp_path / "out"))(Image.fromarray(image), top_k=1)
    assert answer["label"] == str(label)


@pytest.mark.parametrize("options", [[], ["--number_field", "real"]], ids=["complex", "real"])
def test_a_folder_of_images_and_convolutions(run: Callable[..., Any], tmp_path: Path, options: list[str]) -> None:
    folder = write_folder(tmp_path / "photos")
    convolutions = ["--model_type", "complex_convnet", "--num_filters", "8", "--image_size", "8", "7"]
    run(IMAGES, "--dataset_name", folder, *convolutions, *ONE_EPOCH, *options)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["id2label"] == {"0": "lower", "1": "upper"}
    assert (config["image_size"], config["num_channels"], config["num_filters"]) == ([8, 7], 3, [8])


@pytest.mark.full
def test_a_run_goes_on(run: Callable[..., Any], tmp_path: Path) -> None:
    arguments = [IMAGES, "--train_file", write_arrays(tmp_path / "train.npz", 60, 1), *SMALL]
    first = run(*arguments, *ONE_EPOCH)
    second = run(*arguments, "--num_train_epochs", "2", "--resume_from_checkpoint", "last")
    assert (first["resumed"], second["resumed"]) == (False, True)
    assert second["steps"] == 2 * first["steps"]


def test_refusals(run: Callable[..., Any], tmp_path: Path) -> None:
    train = write_arrays(tmp_path / "train.npz", 20, 1)
    images, labels = squares(10, 2)
    np.savez(tmp_path / "other.npz", images=images, labels=labels + 7)
    folder = write_folder(tmp_path / "photos")
    (folder / "train" / "upper" / "broken.png").write_bytes(b"no image")
    assert_refused(
        lambda *words: run(IMAGES, *words),
        (["--train_file", train, "--model_type", "resnet"], r"--model_type must be one of \['complex_convnet'"),
        (
            ["--train_file", train, "--num_filters", "8"],
            "--num_filters must be left out with --model_type complex_mlp",
        ),
        (["--train_file", train, "--image_size", "8"], r"--image_size must be height and width, got \[8\]"),
        (["--train_file", train, "--num_channels", "2"], r"num_channels must be 1 \(greyscale\) or 3 \(RGB\), got 2"),
        (
            ["--train_file", train, "--test_file", tmp_path / "other.npz"],
            r"must be training labels, .*, got \['7', '8'\]",
        ),
        (["--dataset_name", folder], r"1 image\(s\) of the train data cannot be decoded: .*broken\.png"),
    )
