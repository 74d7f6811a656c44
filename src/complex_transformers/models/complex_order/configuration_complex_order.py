# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the ComplexOrder encoder."""

from typing import ClassVar

from huggingface_hub.dataclasses import strict

from ..base.configuration import TransformerConfig

__all__ = ["ComplexOrderConfig"]


@strict
class ComplexOrderConfig(TransformerConfig):
    """Configuration of a ComplexOrder encoder (Wang et al., ICLR 2020, section 3.1 and App. B); the paper's size.

    Besides the arguments of ``TransformerConfig``, which has those of ``TextConfig``:

    Args:
        num_hidden_layers: encoder layers.

    Example:
        >>> from complex_transformers import ComplexOrderConfig, ComplexOrderModel
        >>> model = ComplexOrderModel(ComplexOrderConfig(vocab_size=100, hidden_size=32, num_attention_heads=4))
        >>> model.config.complex_size
        16
    """

    model_type = "complex_order"
    positive_sizes: ClassVar[tuple[str, ...]] = (*TransformerConfig.positive_sizes, "num_hidden_layers")

    num_hidden_layers: int = 1
