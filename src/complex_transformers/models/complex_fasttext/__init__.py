# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""FastText with complex layers (ComplexOrder App. B)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexFastTextConfig",
    "AutoModel": "ComplexFastTextModel",
    "AutoModelForSequenceClassification": "ComplexFastTextForSequenceClassification",
}
