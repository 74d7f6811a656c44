# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Quantum-inspired text classifiers: word states, mixtures and measurements (Thesis 4.5)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexQuantumConfig",
    "AutoModel": "ComplexQuantumModel",
    "AutoModelForSequenceClassification": "ComplexQuantumForSequenceClassification",
}
