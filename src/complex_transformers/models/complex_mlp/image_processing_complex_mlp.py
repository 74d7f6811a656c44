# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Images of any size and mode as pixels in [0, 1]."""

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

# Rec. 601, as PIL's mode "L".
_LUMA = np.array([299, 587, 114]) / 1000


def as_bytes(image: Image.Image) -> Image.Image:
    """A grey or coloured image of 8 bits; a palette is looked up, transparency left out, 16 bits are cut to 8.

    Raises:
        ValueError: 32-bit integers or floating-point numbers, of which nothing says which one is white.
    """
    if image.mode in ("L", "RGB"):
        return image
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise ValueError(
            f"an image of mode {image.mode!r} does not say which number is white: scale it to 0...255 and convert it "
            "to mode 'L'"
        )
    return image.convert("RGB")


class ComplexImageProcessor(HubMixin, PilBackend):
    """Images as ``pixel_values [B, num_channels, height, width]``: resized, with channels as asked for, times 1/255.

    Args:
        size: ``{"height": ..., "width": ...}`` of what is returned, 32 x 32 by default.
        num_channels: 3 for colours, 1 for grey: a weighted sum of red, green and blue, which are equal in a grey
            image that was loaded as colours.
        resample: of PIL, bilinear by default; an image of the right size stays as it is.
        do_rescale, rescale_factor: multiply by 1/255, on by default.
        do_normalize, image_mean, image_std: subtract a mean and divide by a deviation, channel by channel; off by
            default.

    Raises:
        ValueError: ``num_channels`` is neither 1 nor 3, an image has neither 1, 3 nor 4 channels, or numbers of
            more than 16 bits.
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
            raise ValueError(f"num_channels must be 1 (grey) or 3 (colours), got {num_channels}")
        super().__init__(**kwargs)
        self.num_channels = num_channels

    @classmethod
    def from_config(cls, config: ImageConfig, **kwargs: Any) -> Self:
        """A processor that makes what a network of this configuration reads.

        Raises:
            ValueError: it reads complex pixels, which no image file has.
        """
        if config.input_transform == "complex":
            raise ValueError(
                "input_transform='complex' reads complex pixels, which this processor does not make: give the model "
                "pixel_values=torch.cat([z.real, z.imag], dim=1) of z [batch, channels, height, width]"
            )
        channels, height, width = config.image_shape
        return cls(num_channels=channels, **{"size": {"height": height, "width": width}, **kwargs})

    def process_image(self, image: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """As in Transformers, ``[C, H, W]``; with the channels asked for."""
        if isinstance(image, Image.Image):
            image = as_bytes(image)
        return self.convert_channels(super().process_image(image, *args, **kwargs))

    def convert_channels(self, image: np.ndarray) -> np.ndarray:
        """``[1, 3 or 4, H, W] -> [num_channels, H, W]``; transparency is left out."""
        if image.shape[0] not in (1, 3, 4):
            raise ValueError(f"an image has 1, 3 or 4 channels, got shape {image.shape}")
        colours = image[:3]
        if len(colours) == self.num_channels:
            return colours
        if self.num_channels == 3:
            return np.repeat(colours, 3, axis=0)
        grey = np.tensordot(_LUMA, colours, axes=1)[None]
        return (
            np.rint(grey).astype(image.dtype) if np.issubdtype(image.dtype, np.integer) else grey.astype(image.dtype)
        )
