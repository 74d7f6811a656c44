# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the multilayer perceptron."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from typing_extensions import Self

from ...nn.checks import check_choice
from ..base.configuration import NORM_TYPES, ImageConfig

__all__ = ["ComplexMLPConfig"]

NORMS = ("none", *NORM_TYPES)
BAGS = ("none", "binary", "count")


@strict
class ComplexMLPConfig(ImageConfig):
    """Configuration of a multilayer perceptron (Thesis 2.18, chapter 3) over either number field.

    Besides the arguments of ``ImageConfig``:

    Args:
        hidden_sizes: widths of the hidden layers, each even, by default one of ``hidden_size``; the last one is
            ``hidden_size``. ``nn.equal_parameter_widths`` and ``nn.parameter_budget_width`` find those of networks
            with as many parameters in both fields.
        norm_type: of each hidden layer before its activation: ``none`` (the thesis), ``layer``, ``rms`` or ``batch``.
        layer_norm_eps: added to the variances of every norm.
        bag_of_words: what is read: an image (``none``), or a text as one number for each of ``vocab_size`` words, 1
            for those that occur (``binary``) or how often they do (``count``).
        pad_token_id: left out of the bag, as what ``attention_mask`` hides is.
    """

    model_type = "complex_mlp"
    read_with: ClassVar[dict[str, tuple[str, tuple[str, ...]] | str]] = {
        "layer_norm_eps": ("norm_type", NORMS[1:]),
        "vocab_size": ("bag_of_words", BAGS[1:]),
        **dict.fromkeys(("num_channels", "image_size", "input_transform"), ("bag_of_words", ("none",))),
    }
    positive_sizes: ClassVar[tuple[str, ...]] = (*ImageConfig.positive_sizes, "vocab_size")

    hidden_sizes: list[int] | tuple[int, ...] | None = None
    norm_type: str = "none"
    layer_norm_eps: float | int = 1e-5
    bag_of_words: str = "none"

    def __post_init__(self, **kwargs: Any) -> None:
        if self.hidden_sizes is None:
            self.hidden_sizes = [self.hidden_size]
        self.hidden_sizes = list(self.hidden_sizes)
        if self.hidden_size == self.default_of("hidden_size") and self.hidden_sizes:
            self.hidden_size = self.hidden_sizes[-1]
        super().__post_init__(**kwargs)

    @property
    def num_hidden_layers(self) -> int:
        """Layers before the readout, k + 1 in the thesis."""
        assert self.hidden_sizes is not None  # __post_init__ has filled it in
        return len(self.hidden_sizes)

    def real_twin(self, **changes: Any) -> Self:
        """The same network over the real numbers: equal widths, so equal cost. ``changes`` override single fields."""
        if changes.get("hidden_sizes"):
            changes = {"hidden_size": changes["hidden_sizes"][-1], **changes}
        return super().real_twin(**changes)

    def validate_sizes(self) -> None:
        """As in ``ImageConfig``; the layers have widths of halves, the last of which is ``hidden_size``."""
        super().validate_sizes()
        sizes = self.hidden_sizes
        assert sizes is not None
        if not sizes or min(sizes) < 1:
            raise ValueError(f"hidden_sizes must be positive, at least one, got {sizes}")
        if odd := [size for size in sizes if size % 2]:
            raise ValueError(f"hidden_sizes hold [real | imag] halves and must be even, got {odd[0]} in {sizes}")
        if sizes[-1] != self.hidden_size:
            raise ValueError(
                f"hidden_size={self.hidden_size} must be the last of hidden_sizes={sizes}: give hidden_sizes alone"
            )

    def validate_names(self) -> None:
        """As in ``ImageConfig``; also the norm and the bag."""
        super().validate_names()
        check_choice("bag_of_words", self.bag_of_words, BAGS)
        check_choice("norm_type", self.norm_type, NORMS)
