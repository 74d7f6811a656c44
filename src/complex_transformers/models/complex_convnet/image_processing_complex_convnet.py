# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The image processor of the multilayer perceptron also serves the convolutional network."""

from ..complex_mlp.image_processing_complex_mlp import ComplexImageProcessor

__all__ = ["ComplexImageProcessor"]
