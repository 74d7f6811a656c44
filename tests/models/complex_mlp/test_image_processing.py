# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Images of any size and mode as pixels, and what a saved model says of them by ``pipeline()``."""

import numpy as np
import pytest
import torch
from PIL import Image, UnidentifiedImageError
from transformers import AutoImageProcessor, pipeline

from complex_transformers import ComplexImageProcessor, ComplexMLPConfig, ComplexMLPForImageClassification

GENERATOR = np.random.default_rng(0)
COLOURS = GENERATOR.integers(0, 256, (6, 5, 3), dtype=np.uint8)
GREY = COLOURS[..., 0]


def processor(channels=3, size=(6, 5), **options):
    config = ComplexMLPConfig(num_channels=channels, image_size=list(size))
    return ComplexImageProcessor.from_config(config, **options)


def pixels(images, *args, **options):
    return processor(*args, **options)(images, return_tensors="pt").pixel_values


def test_pixels_are_the_bytes_of_the_image():
    expected = torch.from_numpy(COLOURS).permute(2, 0, 1).float() / 255
    for image in (Image.fromarray(COLOURS), COLOURS, COLOURS.transpose(2, 0, 1), torch.from_numpy(COLOURS)):
        torch.testing.assert_close(pixels(image), expected[None])
    torch.testing.assert_close(pixels([COLOURS, COLOURS[::-1]]), torch.stack([expected, expected.flip(1)]))
    assert torch.equal(pixels(COLOURS, do_rescale=False), (expected * 255).round()[None].to(torch.uint8))
    mean, std = [0.1, 0.2, 0.3], [0.5, 0.25, 2.0]
    normalized = pixels(COLOURS, do_normalize=True, image_mean=mean, image_std=std)
    columns = [torch.tensor(values)[:, None, None] for values in (mean, std)]
    torch.testing.assert_close(normalized[0], (expected - columns[0]) / columns[1])


def test_grey_and_colours():
    grey = torch.from_numpy(GREY).float() / 255
    torch.testing.assert_close(pixels(Image.fromarray(GREY), 1), grey[None, None])
    torch.testing.assert_close(pixels(Image.fromarray(GREY), 3), grey.expand(1, 3, -1, -1))
    # A grey image that was loaded as colours, as pipeline() does, is what it was.
    assert torch.equal(pixels(Image.fromarray(GREY).convert("RGB"), 1), pixels(Image.fromarray(GREY), 1))
    luma = Image.fromarray(COLOURS).convert("L")
    difference = pixels(Image.fromarray(COLOURS), 1) - pixels(luma, 1)
    assert difference.abs().max() <= 1.01 / 255


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_mode_of_an_image(mode, channels):
    image = Image.fromarray(GREY).convert("L")
    found = pixels(image.convert(mode), channels, size=(4, 7))
    assert found.shape == (1, channels, 4, 7)
    assert found.dtype == torch.float32
    assert 0 <= found.min() < found.max() <= 1


def test_sixteen_bits_are_not_cut_off():
    deep = Image.fromarray(np.array([[0, 65535], [32768, 256]], dtype=np.uint16))
    torch.testing.assert_close(
        pixels(deep, 1, size=(2, 2))[0, 0], torch.tensor([[0, 1.0], [0.5, 0.0]]), atol=0.01, rtol=0
    )


def test_one_and_many_images_in_a_pipeline(tmp_path):
    config = ComplexMLPConfig(image_size=[6, 5], hidden_sizes=[8], num_labels=3)
    model = ComplexMLPForImageClassification(config).eval()
    classify = pipeline("image-classification", model=model, image_processor=ComplexImageProcessor.from_config(config))
    images = [Image.fromarray(COLOURS), Image.fromarray(GREY).resize((30, 20))]
    alone = [classify(image) for image in images]
    for one, many in zip(alone, classify(images, batch_size=2), strict=True):
        assert [row["label"] for row in one] == [row["label"] for row in many]
        assert [row["score"] for row in one] == pytest.approx([row["score"] for row in many], abs=1e-5)
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno more")
    with pytest.raises(UnidentifiedImageError, match=r"broken\.png"):
        classify(str(tmp_path / "broken.png"))


def test_what_is_no_image():
    for wrong, words in (
        ({"num_channels": 2}, "num_channels must be 1"),
        ({"num_channels": 0}, "num_channels must be 1"),
    ):
        with pytest.raises(ValueError, match=words):
            ComplexImageProcessor(**wrong)
    with pytest.raises(ValueError, match="image"):
        pixels("no such file")
    for mode in ("I", "F"):
        with pytest.raises(ValueError, match=f"got mode '{mode}'"):
            pixels(Image.fromarray(GREY).convert(mode))
    with pytest.raises(ValueError, match="channel"):
        pixels(np.zeros((2, 6, 5), dtype=np.uint8))


def test_the_processor_of_a_folder_is_found(tmp_path):
    processor(1, (3, 4)).save_pretrained(tmp_path)
    found = AutoImageProcessor.from_pretrained(tmp_path)
    assert type(found) is ComplexImageProcessor
    assert found.to_dict() == processor(1, (3, 4)).to_dict()
    assert found(COLOURS, return_tensors="pt").pixel_values.shape == (1, 1, 3, 4)
