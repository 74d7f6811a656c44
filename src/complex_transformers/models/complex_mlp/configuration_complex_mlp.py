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
    """Configuration of a multilayer perceptron for images or bags of words (Thesis 2.18, chapter 3).

    Takes the arguments of ``ImageConfig`` and, in addition:

    Args:
        hidden_sizes: stored widths of the hidden layers, even in the complex field; default one layer of
            ``hidden_size``. The last one is ``hidden_size``. ``nn.equal_parameter_widths`` and
            ``nn.parameter_budget_width`` compute widths with equal parameter counts in both fields.
        norm_type: norm before each activation: ``none`` (as in the thesis), ``layer``, ``rms`` or ``batch``.
        layer_norm_eps: epsilon of the norms.
        bag_of_words: ``none`` for images; ``binary`` or ``count`` for texts as vectors over ``vocab_size`` tokens that
            hold 1 for every token in the text, or its number of occurrences.
        pad_token_id: token that is not counted; padding in ``attention_mask`` is not counted either.
    """

    model_type = "complex_mlp"
    positive_sizes: ClassVar[tuple[str, ...]] = (*ImageConfig.positive_sizes, "vocab_size")

    widths: ClassVar[str] = "hidden_sizes"

    hidden_sizes: list[int] | tuple[int, ...] | None = None
    norm_type: str = "none"
    layer_norm_eps: float | int = 1e-5
    bag_of_words: str = "none"

    def validate_names(self) -> None:
        """Validate named choices."""
        super().validate_names()
        for name, valid in {"bag_of_words": BAGS, "norm_type": NORMS}.items():
            check_choice(name, getattr(self, name), valid)
