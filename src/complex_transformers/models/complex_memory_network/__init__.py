# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory networks that answer questions about stories, with complex numbers (Thesis 4.4)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexMemoryNetworkConfig",
    "AutoModel": "ComplexMemoryNetworkModel",
    "AutoModelForSequenceClassification": "ComplexMemoryNetworkForSequenceClassification",
    "AutoProcessor": "MemoryProcessor",
}
