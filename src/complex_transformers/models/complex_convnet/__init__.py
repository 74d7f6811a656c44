# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Convolutional networks for images over both number fields (Thesis 2.24, 2.29, chapter 3; Trabelsi et al. 2017)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexConvNetConfig",
    "AutoImageProcessor": "ComplexImageProcessor",
    "AutoModel": "ComplexConvNetModel",
    "AutoModelForImageClassification": "ComplexConvNetForImageClassification",
}
