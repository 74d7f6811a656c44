# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the graph-convolutional text classifier."""

from typing import ClassVar

from huggingface_hub.dataclasses import strict

from ..base.configuration import TextConfig

__all__ = ["ComplexTextGCNConfig"]


@strict
class ComplexTextGCNConfig(TextConfig):
    """Configuration of a graph-convolutional text classifier (Kipf & Welling 2017; ComplexOrder slides, "PE in GCN").

    Takes the arguments of ``TextConfig`` and, in addition:

    Args:
        num_hidden_layers: number of graph convolutions.
        intermediate_size: stored width of their features, even.
        window_size: without an ``adjacency``, tokens at most this far apart are neighbours.
        hidden_act: activation of the convolutions.
    """

    model_type = "complex_text_gcn"
    even_sizes: ClassVar[tuple[str, ...]] = ("hidden_size", "intermediate_size")
    positive_sizes: ClassVar[tuple[str, ...]] = ("vocab_size", "num_hidden_layers", "window_size")

    num_hidden_layers: int = 2
    intermediate_size: int = 256
    window_size: int = 2
    hidden_act: str = "split_relu"
