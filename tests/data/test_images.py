# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Images from files of arrays, folders and data sets: what is read, and what is refused by its name."""

import gzip
import struct

import numpy as np
import pytest

from complex_transformers.recipes import load_image_dataset, read_image_files
from complex_transformers.recipes.datasets.images import _decoded_key

Image = pytest.importorskip("PIL.Image")
datasets = pytest.importorskip("datasets")

GREY = np.random.default_rng(0).integers(0, 256, (12, 4, 3), dtype=np.uint8)
COLOURS = np.random.default_rng(1).integers(0, 256, (12, 5, 4, 3), dtype=np.uint8)
LABELS = np.arange(12, dtype=np.uint8) % 3


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_idx(folder, part="train", images=GREY, labels=LABELS, ending=""):
    pack = gzip.compress if ending else bytes
    path = folder / f"{part}-images-idx3-ubyte{ending}"
    path.write_bytes(pack(idx(images)))
    (folder / f"{part}-labels-idx1-ubyte{ending}").write_bytes(pack(idx(labels)))
    return path


def write_png(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def assert_images(found, images, labels=LABELS):
    assert found.images.dtype == np.uint8
    assert found.labels.dtype == np.int64
    assert np.array_equal(found.images, images)
    assert np.array_equal(found.labels, labels)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_idx(tmp_path, ending):
    assert_images(read_image_files(write_idx(tmp_path, ending=ending)), GREY)


@pytest.mark.parametrize("images", [GREY, COLOURS, COLOURS.transpose(0, 3, 1, 2)], ids=["grey", "last", "first"])
def test_npz(tmp_path, images):
    np.savez(tmp_path / "a.npz", images=images, labels=LABELS)
    assert_images(read_image_files(tmp_path / "a.npz"), GREY if images is GREY else COLOURS)


def test_a_folder_of_idx_files(tmp_path):
    write_idx(tmp_path, ending=".gz")
    write_idx(tmp_path, "t10k", GREY[:3, ::-1], LABELS[:3], ".gz")
    parts = load_image_dataset(dataset_name=str(tmp_path), validation_split=0.25)
    assert {name: len(part) for name, part in parts.items()} == {"train": 9, "validation": 3, "test": 3}
    assert parts["test"]["label"] == ["0", "1", "2"]
    for image, pixels in zip(parts["test"]["image"], GREY[:3, ::-1], strict=True):
        assert np.array_equal(np.asarray(image), pixels)
    assert sorted(parts["validation"]["label"]) == ["0", "1", "2"]  # of every class a quarter
    single = load_image_dataset(str(tmp_path / "train-images-idx3-ubyte.gz"), validation_split=0.25)
    assert single["train"]["label"] == parts["train"]["label"]


def test_files_take_the_place_of_the_parts_of_a_folder(tmp_path):
    write_idx(tmp_path, images=GREY[:6], labels=LABELS[:6])
    write_idx(tmp_path, "t10k", GREY[6:9], LABELS[6:9])
    (tmp_path / "other").mkdir()
    other = str(write_idx(tmp_path / "other", "test", GREY[9:], LABELS[9:]))
    parts = load_image_dataset(dataset_name=str(tmp_path), validation_file=other)
    assert {name: len(part) for name, part in parts.items()} == {"train": 6, "validation": 3, "test": 3}
    parts = load_image_dataset(dataset_name=str(tmp_path), test_file=other, validation_split=0.5)
    assert np.array_equal(np.asarray(parts["test"][0]["image"]), GREY[9])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_image_dataset(dataset_name=str(tmp_path), test_file="nowhere.npz")
    with pytest.raises(ValueError, match="exactly one of dataset_name and train_file must be given"):
        load_image_dataset(other, dataset_name=str(tmp_path))


def image_folder(folder):
    for number, (pixels, label) in enumerate(zip(COLOURS, LABELS, strict=True)):
        write_png(folder / "train" / "abc"[label] / f"{number}.png", pixels)
    for number, pixels in enumerate(COLOURS[:3, ::-1]):
        write_png(folder / "test" / "abc"[number] / f"{number}.png", pixels)
    return folder


def test_a_folder_of_images(tmp_path):
    parts = load_image_dataset(
        dataset_name=str(image_folder(tmp_path / "data")), validation_split=0.25, cache_dir=str(tmp_path / "cache")
    )
    assert {name: len(part) for name, part in parts.items()} == {"train": 9, "validation": 3, "test": 3}
    found = {np.asarray(row["image"]).tobytes(): row["label"] for row in parts["test"]}
    assert found == {np.ascontiguousarray(COLOURS[i, ::-1]).tobytes(): "abc"[i] for i in range(3)}


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n" + bytes(40), None], ids=str)
def test_a_broken_image_is_named(tmp_path, content, capsys):
    folder = image_folder(tmp_path / "data")
    broken = folder / "train" / "a" / "broken.png"
    whole = next((folder / "train" / "a").glob("*.png")).read_bytes()
    broken.write_bytes(whole[: len(whole) // 2] if content is None else content)
    options = {"dataset_name": str(folder), "validation_split": 0.25, "cache_dir": str(tmp_path / "cache")}
    with pytest.raises(ValueError, match=r"1 image\(s\) of the train data cannot be decoded: .*broken\.png: .*"):
        load_image_dataset(**options)
    parts = load_image_dataset(**options, broken="drop")
    assert len(parts["train"]) + len(parts["validation"]) == 12
    assert "broken.png" in capsys.readouterr().out


def test_parts_that_share_an_image(tmp_path):
    train = str(write_idx(tmp_path))
    test = str(write_idx(tmp_path, "test", GREY[:4], LABELS[:4]))
    with pytest.raises(ValueError, match=r"4 row\(s\) of the train data have a picture that is also in the test data"):
        load_image_dataset(train, test_file=test)
    parts = load_image_dataset(train, test_file=test, overlap="drop", validation_split=0.25)
    assert len(parts["train"]) + len(parts["validation"]) == 8
    assert len(load_image_dataset(train, validation_file=test, overlap="allow")["train"]) == 12


def test_pictures_of_a_palette_are_the_same_where_their_colours_are(tmp_path):
    keys = []
    for number, colours in enumerate(([255, 0, 0, 0, 0, 255], [0, 255, 0, 0, 0, 255], [0, 0, 255, 255, 0, 0])):
        image = Image.new("P", (4, 4), color=int(number == 2))  # the third is the first with its palette turned round
        image.putpalette(colours)
        image.save(tmp_path / f"{number}.png")
        keys.append(_decoded_key({"bytes": None, "path": str(tmp_path / f"{number}.png")}))
    assert keys[0] == keys[2] != keys[1]


def test_files_of_other_contents(tmp_path):
    path = write_idx(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=r"cannot reshape array of size 143"):
        read_image_files(path)
    path.write_bytes(b"other bytes")
    with pytest.raises(ValueError, match=r"must be an IDX file of bytes or end in \.npz, got b'oth'"):
        read_image_files(path)
    path.write_bytes(whole)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(LABELS[:5]))
    with pytest.raises(ValueError, match=r"labels \[N\], got uint8 \[12, 4, 3\] and \[5\]"):
        read_image_files(path)
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(FileNotFoundError, match="train-labels-idx1-ubyte"):
        read_image_files(path)
    np.savez(tmp_path / "a.npz", images=np.array([{}], dtype=object), labels=LABELS)
    with pytest.raises(ValueError, match=r"(?s)allow_pickle=False.*a\.npz"):
        read_image_files(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", images=GREY)
    with pytest.raises(KeyError, match=r"(?s)labels is not a file.*a\.npz"):
        read_image_files(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", images=GREY / 255, labels=LABELS)
    with pytest.raises(ValueError, match=r"must have uint8 images .* got float64"):
        read_image_files(tmp_path / "a.npz")


def test_options(tmp_path):
    with pytest.raises(ValueError, match="exactly one of dataset_name and train_file must be given"):
        load_image_dataset()
    for option in ("overlap", "broken"):
        with pytest.raises(ValueError, match=f"{option} must be one of"):
            load_image_dataset(str(write_idx(tmp_path)), **{option: "ignore"})
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "train.csv").write_text("image,label\na,1\nb,2\n")
    options = {"dataset_name": str(tmp_path / "table"), "cache_dir": str(tmp_path / "cache")}
    with pytest.raises(ValueError, match=r"Column name .*picture"):
        load_image_dataset(**options, image_column="picture")
