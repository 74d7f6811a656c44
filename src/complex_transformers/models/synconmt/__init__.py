# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Syntax-aware translation: words in the real part, dependency relations in the imaginary part (SynCoNMT)."""

AUTO_CLASSES = {
    "AutoConfig": "SynCoNMTConfig",
    "AutoModel": "SynCoNMTModel",
    "AutoModelForSeq2SeqLM": "SynCoNMTForConditionalGeneration",
    "AutoProcessor": "SynCoNMTProcessor",
}
