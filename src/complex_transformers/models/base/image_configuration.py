# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration fields that the image models share."""

from typing import Any, ClassVar, Self

from huggingface_hub.dataclasses import strict

from ...nn.checks import check_choice
from .configuration import ComplexConfig

__all__ = ["ImageConfig"]

INPUT_TRANSFORMS = ("none", "fft2", "phase", "complex")


@strict
class ImageConfig(ComplexConfig):
    """Base class of the configurations of image models.

    Besides the arguments of ``ComplexConfig``:

    Args:
        hidden_act, classifier_dropout, readout: as in ``TextConfig``; ``readout`` is ``squared_modulus`` by default
            (Thesis 2.53).
        num_channels: channels of the images, such as 1 for gray and 3 for color.
        image_size: height and width, or one number for both.
        input_transform: input of the network: the pixels (``none``), their two-dimensional spectrum (``fft2``) or
            exp(i pi x) of each pixel (``phase``); see ``nn.spectrum2d`` and ``nn.unit_phase``. Complex pixels
            (``complex``) are passed as halves, ``[B, 2 num_channels, height, width]``. In the real field the real and
            imaginary parts are two features.
    """

    positive_sizes: ClassVar[tuple[str, ...]] = ("num_channels", "hidden_size")
    even_sizes: ClassVar[tuple[str, ...]] = ()  # `validate_sizes` checks the widths instead
    # Name of the field with the widths of the layers, which end with `hidden_size`.
    widths: ClassVar[str]

    hidden_act: str = "split_relu"
    classifier_dropout: float | int | None = None
    readout: str | None = None
    hidden_dropout_prob: float | int = 0.0
    pad_token_id: int | None = None
    num_channels: int = 3
    image_size: int | list[int] | tuple[int, ...] = 32
    input_transform: str = "none"

    def __post_init__(self, **kwargs: Any) -> None:
        if not isinstance(self.image_size, int):
            self.image_size = list(self.image_size)  # as JSON restores it
        sizes = getattr(self, self.widths)
        setattr(self, self.widths, [self.hidden_size] if sizes is None else list(sizes))
        if sizes and self.hidden_size == self.default_of("hidden_size"):
            self.hidden_size = sizes[-1]
        super().__post_init__(**kwargs)

    def default_of(self, name: str) -> Any:
        if name == "readout" and self.number_field == "complex":
            return "squared_modulus"
        return super().default_of(name)

    def real_twin(self, **changes: Any) -> Self:
        """Return the configuration of the real twin, of equal widths and cost; ``changes`` override fields."""
        if changes.get(self.widths):
            changes = {"hidden_size": changes[self.widths][-1], **changes}
        return super().real_twin(**changes)

    @property
    def layer_widths(self) -> list[int]:
        """Stored widths of the layers."""
        widths: list[int] = getattr(self, self.widths)
        return widths

    @property
    def num_hidden_layers(self) -> int:
        """Number of layers before the readout, k + 1 in the thesis."""
        return len(self.layer_widths)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        size = [self.image_size] * 2 if isinstance(self.image_size, int) else self.image_size
        return (self.num_channels, size[0], size[1])

    @property
    def pixel_shape(self) -> tuple[int, int, int]:
        """Shape of one image in ``pixel_values``; complex channels are stored as halves."""
        channels, height, width = self.image_shape
        return (2 * channels if self.input_transform == "complex" else channels, height, width)

    def validate_sizes(self) -> None:
        super().validate_sizes()
        widths = self.layer_widths
        if not widths or min(widths) < 1:
            raise ValueError(f"{self.widths} must be a non-empty list of positive widths, got {widths}.")
        if self.number_field == "complex" and (odd := [width for width in widths if width % 2]):
            raise ValueError(
                f"{self.widths} (the last is hidden_size) must be even ([real | imag] halves), got {odd[0]} in "
                f"{widths}. Use {odd[0] + 1}."
            )
        if widths[-1] != self.hidden_size:
            raise ValueError(f"hidden_size must be the last of {self.widths}={widths}, got {self.hidden_size}.")
        size = [self.image_size] * 2 if isinstance(self.image_size, int) else self.image_size
        if len(size) != 2 or min(size) < 1:
            raise ValueError(f"image_size must be a positive number or [height, width], got {self.image_size}.")

    def validate_names(self) -> None:
        super().validate_names()
        check_choice("input_transform", self.input_transform, INPUT_TRANSFORMS)
