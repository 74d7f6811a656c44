# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the convolutional text classifier."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict

from ..base.configuration import TextConfig

__all__ = ["ComplexTextCNNConfig"]


@strict
class ComplexTextCNNConfig(TextConfig):
    """Configuration of a convolutional text classifier (Kim 2014) with complex layers (ComplexOrder App. B).

    Besides the arguments of ``TextConfig``:

    Args:
        kernel_sizes: words under each kernel; the paper has 3, 4 and 5.
        num_filters: width of the features of one kernel size, even, twice the complex filters (paper: 64, 128).
        intermediate_size: width of the dense layer after pooling, even.
        hidden_act: activation of the convolutions and of the dense layer.
    """

    model_type = "complex_text_cnn"
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "num_filters", "intermediate_size")

    kernel_sizes: list[int] | tuple[int, ...] = (3, 4, 5)
    num_filters: int = 256
    intermediate_size: int = 256
    hidden_act: str = "split_relu"

    def __post_init__(self, **kwargs: Any) -> None:
        self.kernel_sizes = list(self.kernel_sizes)  # as it is read from a file
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """As in ``TextConfig``; kernels are positive."""
        super().validate_sizes()
        if not self.kernel_sizes or min(self.kernel_sizes) < 1:
            raise ValueError(f"kernel_sizes must be positive, at least one, got {self.kernel_sizes}")
