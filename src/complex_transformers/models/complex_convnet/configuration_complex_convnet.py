# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the convolutional network for images."""

from typing import Any, ClassVar, Self

from huggingface_hub.dataclasses import strict

from ...nn.checks import check_choice
from ..base.image_configuration import ImageConfig

__all__ = ["ComplexConvNetConfig"]

NORMS = ("none", "batch", "whitening")
POOLINGS = ("max", "average", "max_value")
BLOCKS = ("plain", "residual")
PADDINGS = ("valid", "same")
IMAGINARY_INPUTS = ("zero", "learned")


@strict
class ComplexConvNetConfig(ImageConfig):
    """Configuration of a convolutional network for images (Thesis chapter 3) over either number field.

    ``norm_type="whitening"``, ``block="residual"`` and ``imaginary_input="learned"`` make a network of the parts of
    Trabelsi et al. 2017. Besides the arguments of ``ImageConfig``:

    Args:
        num_filters: stored channels of each layer, by default one layer of ``hidden_size``, which is the last of them;
            even, but in the real field.
        hidden_act: as in ``ImageConfig``, by default ``modulus``, the best of the thesis's convolutional networks.
        kernel_size: height and width of the filters; one number for both.
        padding: of the convolutions: ``valid``, none (the thesis), or ``same``, zeros around the image.
        pool_size: height and width of the windows that follow each layer, without overlap; 1 for none.
        pooling: the number of largest modulus in a window (``max``, Thesis 2.29), the mean modulus (``average``,
            2.28), or the largest number, in the real field alone (``max_value``).
        norm_type: of each convolution before its activation: ``none`` (the thesis), ``batch``, of each part, or
            ``whitening``, of both parts together.
        layer_norm_eps: added to the variances of every norm.
        block: ``residual`` adds to each layer, before its pooling, two convolutions around which it is led
            (Trabelsi et al. 2017, section 4.1), and the head reads the mean over places instead of all of them.
        imaginary_input: ``learned`` computes the imaginary part of the image by two convolutions of its real part
            (Trabelsi et al. 2017, section 3.7), ``zero`` is none.

    Raises:
        ValueError: beside what ``ImageConfig`` raises, an image that is smaller than the layers need.
    """

    model_type = "complex_convnet"
    widths: ClassVar[str] = "num_filters"
    complex_only: ClassVar[dict[str, Any]] = {"imaginary_input": "zero"}

    hidden_size: int = 64
    hidden_act: str = "modulus"
    num_filters: list[int] | tuple[int, ...] | None = None
    kernel_size: int | list[int] | tuple[int, ...] = 3
    padding: str = "valid"
    pool_size: int | list[int] | tuple[int, ...] = 2
    pooling: str = "max"
    norm_type: str = "none"
    layer_norm_eps: float | int = 1e-5
    block: str = "plain"
    imaginary_input: str = "zero"

    def __post_init__(self, **kwargs: Any) -> None:
        for name in ("kernel_size", "pool_size"):
            if not isinstance(value := getattr(self, name), int):
                setattr(self, name, list(value))  # as it is read from a file
        super().__post_init__(**kwargs)

    def real_twin(self, **changes: Any) -> Self:
        """As in ``ImageConfig``; whitening becomes the batch norm, which is what it is of one part."""
        norm = {"norm_type": "batch"} if self.norm_type == "whitening" else {}
        return super().real_twin(**{**norm, **changes})

    @property
    def feature_shape(self) -> tuple[int, int, int]:
        """Stored channels, height and width behind the last layer; sizes below 1 where the image is too small."""
        _, *size = self.image_shape
        for _ in self.layer_widths:
            for axis, (kernel, pool) in enumerate(zip(pair(self.kernel_size), pair(self.pool_size), strict=True)):
                size[axis] = (size[axis] - (kernel - 1 if self.padding == "valid" else 0)) // pool
        return self.layer_widths[-1], size[0], size[1]

    def validate_sizes(self) -> None:
        """As in ``ImageConfig``; windows have a size, and an image has room for all layers."""
        super().validate_sizes()
        for name in ("kernel_size", "pool_size"):
            value = getattr(self, name)
            if len(pair(value)) != 2 or min(pair(value)) < 1:
                raise ValueError(f"{name} must be a positive number, or [height, width], got {value}")
        if min(self.feature_shape[1:]) < 1:
            raise ValueError(
                f"image_size={self.image_size} has no room for {self.num_hidden_layers} layers of "
                f"kernel_size={self.kernel_size} and pool_size={self.pool_size}: use larger images, fewer layers, or "
                "padding='same'"
            )

    def validate_names(self) -> None:
        """As in ``ImageConfig``; also norm, pooling, padding, block and imaginary part."""
        super().validate_names()
        names = {"norm_type": NORMS, "pooling": POOLINGS, "padding": PADDINGS, "block": BLOCKS}
        for name, valid in {**names, "imaginary_input": IMAGINARY_INPUTS}.items():
            check_choice(name, getattr(self, name), valid)
        is_complex = self.number_field == "complex"
        if is_complex and self.pooling == "max_value":
            raise ValueError("pooling='max_value' needs number_field='real': complex numbers have no order; use 'max'")
        if not is_complex and self.norm_type == "whitening":
            raise ValueError("norm_type='whitening' needs number_field='complex': use 'batch'")
        if not is_complex and self.imaginary_input == "learned":
            raise ValueError("imaginary_input='learned' needs number_field='complex': real numbers have none")


def pair(size: int | list[int] | tuple[int, ...]) -> tuple[int, ...]:
    """Height and width."""
    return (size, size) if isinstance(size, int) else tuple(size)
