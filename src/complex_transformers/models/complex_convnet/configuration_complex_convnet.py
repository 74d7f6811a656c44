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
    """Configuration of a convolutional network for images (Thesis chapter 3; Trabelsi et al. 2017).

    ``norm_type="whitening"``, ``block="residual"`` and ``imaginary_input="learned"`` are the components of Trabelsi et
    al. 2017. Takes the arguments of ``ImageConfig`` and, in addition:

    Args:
        num_filters: stored channels of each layer, even in the complex field; default one layer of ``hidden_size``.
            The last one is ``hidden_size``.
        hidden_act: as in ``ImageConfig``, default ``modulus``, the best in the thesis.
        kernel_size: kernel size of the convolutions, an integer or ``[height, width]``.
        padding: ``valid`` for none, as in the thesis, or ``same`` for zero padding.
        pool_size: size and stride of the pooling after each layer, an integer or ``[height, width]``; 1 for none.
        pooling: ``max`` takes the element of largest modulus (Thesis 2.29), ``average`` the mean modulus (2.28),
            ``max_value`` the largest value (real field only).
        norm_type: norm before each activation: ``none`` (as in the thesis), ``batch`` normalizes real and imaginary
            parts separately, ``whitening`` jointly (complex field only).
        layer_norm_eps: epsilon of the norms.
        block: ``residual`` adds a residual block of two convolutions before each pooling (Trabelsi et al. 2017, 4.1),
            and the head reads the mean over positions instead of the flattened features; ``plain`` does neither.
        imaginary_input: ``learned`` computes the imaginary part of a real image by two convolutions (Trabelsi et al.
            2017, section 3.7), ``zero`` uses none. Only for ``input_transform="none"`` in the complex field.

    Raises:
        ValueError: the image is too small for the layers; see also ``ImageConfig``.
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
                setattr(self, name, list(value))  # JSON has no tuples
        super().__post_init__(**kwargs)

    def real_twin(self, **changes: Any) -> Self:
        """Return the real twin; whitening becomes batch norm, its real counterpart."""
        norm = {"norm_type": "batch"} if self.norm_type == "whitening" else {}
        return super().real_twin(**{**norm, **changes})

    @property
    def feature_shape(self) -> tuple[int, int, int]:
        """Stored channels, height and width after the last layer; below 1 if the image is too small."""
        _, *size = self.image_shape
        for _ in self.layer_widths:
            for axis, (kernel, pool) in enumerate(zip(pair(self.kernel_size), pair(self.pool_size), strict=True)):
                size[axis] = (size[axis] - (kernel - 1 if self.padding == "valid" else 0)) // pool
        return self.layer_widths[-1], size[0], size[1]

    def validate_sizes(self) -> None:
        """Validate sizes, and that the image is large enough for all layers."""
        super().validate_sizes()
        for name in ("kernel_size", "pool_size"):
            value = getattr(self, name)
            if len(pair(value)) != 2 or min(pair(value)) < 1:
                raise ValueError(f"{name} must be a positive integer or [height, width], got {value}.")
        if min(self.feature_shape[1:]) < 1:
            raise ValueError(f"image_size must be larger for {self.num_hidden_layers} layers, got {self.image_size}.")

    def validate_names(self) -> None:
        """Validate named choices and their combination with the number field."""
        super().validate_names()
        names = {"norm_type": NORMS, "pooling": POOLINGS, "padding": PADDINGS, "block": BLOCKS}
        for name, valid in {**names, "imaginary_input": IMAGINARY_INPUTS}.items():
            check_choice(name, getattr(self, name), valid)
        needed = {("pooling", "max_value"): "real", ("norm_type", "whitening"): "complex"}
        for (name, value), field in {**needed, ("imaginary_input", "learned"): "complex"}.items():
            if getattr(self, name) == value and self.number_field != field:
                raise ValueError(f"number_field must be {field!r} with {name}={value!r}, got {self.number_field!r}.")


def pair(size: int | list[int] | tuple[int, ...]) -> tuple[int, ...]:
    """Return height and width."""
    return (size, size) if isinstance(size, int) else tuple(size)
