# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent text classifiers with complex layers (ComplexOrder App. B)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexTextRNNConfig",
    "AutoModel": "ComplexTextRNNModel",
    "AutoModelForSequenceClassification": "ComplexTextRNNForSequenceClassification",
}
