# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words as quantum states, texts as mixtures, and what measurements say of them (Thesis 4.5)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexQuantumConfig",
    "AutoModel": "ComplexQuantumModel",
    "AutoModelForSequenceClassification": "ComplexQuantumForSequenceClassification",
}
