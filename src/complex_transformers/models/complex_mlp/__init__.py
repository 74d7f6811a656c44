# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Multilayer perceptrons over both number fields (Thesis 2.16 to 2.18, chapter 3)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexMLPConfig",
    "AutoImageProcessor": "ComplexImageProcessor",
    "AutoModel": "ComplexMLPModel",
    "AutoModelForImageClassification": "ComplexMLPForImageClassification",
    "AutoModelForSequenceClassification": "ComplexMLPForSequenceClassification",
}
