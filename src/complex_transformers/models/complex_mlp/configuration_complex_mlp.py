# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the multilayer perceptron."""

from typing import ClassVar

from huggingface_hub.dataclasses import strict

from ...nn.checks import check_choice
from ..base.configuration import NORM_TYPES
from ..base.image_configuration import ImageConfig

__all__ = ["ComplexMLPConfig"]

NORMS = ("none", *NORM_TYPES)
BAGS = ("none", "binary", "count")


@strict
class ComplexMLPConfig(ImageConfig):
    """Configuration of a multilayer perceptron (Thesis 2.18, chapter 3) over either number field.

    Besides the arguments of ``ImageConfig``:

    Args:
        hidden_sizes: widths of the hidden layers, by default one of ``hidden_size``, which is the last of them;
            even, but in the real field. ``nn.equal_parameter_widths`` and ``nn.parameter_budget_width`` find those of
            networks with as many parameters in both fields.
        norm_type: of each hidden layer before its activation: ``none`` (the thesis), ``layer``, ``rms`` or ``batch``.
        layer_norm_eps: added to the variances of every norm.
        bag_of_words: what is read: an image (``none``), or a text as one number for each of ``vocab_size`` words, 1
            for those that occur (``binary``) or how often they do (``count``).
        pad_token_id: left out of the bag, as what ``attention_mask`` hides is.
    """

    model_type = "complex_mlp"
    positive_sizes: ClassVar[tuple[str, ...]] = (*ImageConfig.positive_sizes, "vocab_size")

    widths: ClassVar[str] = "hidden_sizes"

    hidden_sizes: list[int] | tuple[int, ...] | None = None
    norm_type: str = "none"
    layer_norm_eps: float | int = 1e-5
    bag_of_words: str = "none"

    def validate_names(self) -> None:
        """As in ``ImageConfig``; also the norm and the bag."""
        super().validate_names()
        check_choice("bag_of_words", self.bag_of_words, BAGS)
        check_choice("norm_type", self.norm_type, NORMS)
