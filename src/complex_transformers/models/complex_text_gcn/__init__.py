# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Graph convolution over the words of a text with complex layers (ComplexOrder slides)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexTextGCNConfig",
    "AutoModel": "ComplexTextGCNModel",
    "AutoModelForSequenceClassification": "ComplexTextGCNForSequenceClassification",
}
