# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Image processor: images of any size and mode to pixel values in [0, 1]."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from PIL import Image
from transformers.image_processing_backends import PilBackend
from transformers.image_utils import PILImageResampling
from transformers.processing_utils import ImagesKwargs, Unpack

from ..base.hub import HubMixin
from ..base.image_configuration import ImageConfig

__all__ = ["ComplexImageProcessor"]

# Luma weights of Rec. 601, as in PIL's mode "L".
_LUMA = np.array([299, 587, 114]) / 1000


def as_bytes(image: Image.Image) -> Image.Image:
    """Convert an image to 8-bit greyscale or RGB: apply the palette, drop transparency, reduce 16 bits to 8.

    Raises:
        ValueError: mode ``I`` or ``F``, whose value range is unknown.
    """
    if image.mode in ("L", "RGB"):
        return image
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise ValueError(
            f"image must not have mode I or F, got mode {image.mode!r}. Scale it to 0..255 and convert it to 'L'."
        )
    return image.convert("RGB")


class ComplexImageProcessor(HubMixin, PilBackend):
    """Image processor that returns resized and rescaled ``pixel_values [B, num_channels, height, width]``.

    Args:
        size: output size ``{"height": ..., "width": ...}``, default 32 x 32.
        num_channels: 3 for RGB, 1 for greyscale (Rec. 601 luma).
        resample: PIL resampling filter, default bilinear; images of the right size are not resampled.
        do_rescale, rescale_factor: multiply by 1/255, on by default.
        do_normalize, image_mean, image_std: normalize each channel, off by default.

    Raises:
        ValueError: ``num_channels`` is neither 1 nor 3, or an image has more than 16 bits per channel.
    """

    model_input_names = ["pixel_values"]
    resample = PILImageResampling.BILINEAR
    size = {"height": 32, "width": 32}
    do_resize = True
    do_rescale = True
    rescale_factor = 1 / 255
    num_channels = 3

    def __init__(self, num_channels: int = 3, **kwargs: Unpack[ImagesKwargs]) -> None:
        if num_channels not in (1, 3):
            raise ValueError(f"num_channels must be 1 (greyscale) or 3 (RGB), got {num_channels}.")
        super().__init__(**kwargs)
        self.num_channels = num_channels

    @classmethod
    def from_config(cls, config: ImageConfig, **kwargs: Any) -> Self:
        """Return a processor with the channels and the size of a configuration."""
        channels, height, width = config.image_shape
        return cls(num_channels=channels, **{"size": {"height": height, "width": width}, **kwargs})

    def process_image(self, image: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        if isinstance(image, Image.Image):
            image = as_bytes(image)
        return self.convert_channels(super().process_image(image, *args, **kwargs))

    def convert_channels(self, image: np.ndarray) -> np.ndarray:
        """Convert channels, ``[1, 3 or 4, H, W] -> [num_channels, H, W]``; an alpha channel is dropped."""
        colours = image[:3]
        if len(colours) == self.num_channels:
            return colours
        if self.num_channels == 3:
            return np.repeat(colours, 3, axis=0)
        grey = np.tensordot(_LUMA, colours, axes=1)[None]
        return (
            np.rint(grey).astype(image.dtype) if np.issubdtype(image.dtype, np.integer) else grey.astype(image.dtype)
        )
