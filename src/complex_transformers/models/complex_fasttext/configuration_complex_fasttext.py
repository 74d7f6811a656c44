# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of FastText."""

from typing import ClassVar

from huggingface_hub.dataclasses import strict

from ..base.configuration import TextConfig

__all__ = ["ComplexFastTextConfig"]


@strict
class ComplexFastTextConfig(TextConfig):
    """Configuration of FastText (Joulin et al. 2016) with complex layers (ComplexOrder Eq. 10).

    Takes the arguments of ``TextConfig`` and, in addition:

    Args:
        intermediate_size: stored width of the dense layer, even.
        hidden_act: activation of the dense layer.
    """

    model_type = "complex_fasttext"
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "intermediate_size")

    intermediate_size: int = 256
    hidden_act: str = "split_relu"
