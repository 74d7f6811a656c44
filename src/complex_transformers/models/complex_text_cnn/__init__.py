# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Kim's convolutional classifier with complex layers (ComplexOrder App. B)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexTextCNNConfig",
    "AutoModel": "ComplexTextCNNModel",
    "AutoModelForSequenceClassification": "ComplexTextCNNForSequenceClassification",
}
