# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The images of the convolutional network are those of the multilayer perceptron."""

from ..complex_mlp.image_processing_complex_mlp import ComplexImageProcessor

__all__ = ["ComplexImageProcessor"]
