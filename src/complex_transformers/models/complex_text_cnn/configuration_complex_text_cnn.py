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

    Takes the arguments of ``TextConfig`` and, in addition:

    Args:
        kernel_sizes: kernel sizes in tokens, default 3, 4 and 5 as in the paper.
        num_filters: stored width per kernel size, even: twice the number of complex filters (paper: 64, 128).
        intermediate_size: stored width of the dense layer after pooling, even.
        hidden_act: activation of the convolutions and of the dense layer.
    """

    model_type = "complex_text_cnn"
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "num_filters", "intermediate_size")

    kernel_sizes: list[int] | tuple[int, ...] = (3, 4, 5)
    num_filters: int = 256
    intermediate_size: int = 256
    hidden_act: str = "split_relu"

    def __post_init__(self, **kwargs: Any) -> None:
        self.kernel_sizes = list(self.kernel_sizes)  # JSON has no tuples
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Validate sizes, kernel sizes included."""
        super().validate_sizes()
        if not self.kernel_sizes or min(self.kernel_sizes) < 1:
            raise ValueError(f"kernel_sizes must be a non-empty list of positive sizes, got {self.kernel_sizes}.")
