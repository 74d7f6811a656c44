# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent language models with complex layers (Thesis 4.3), and diagonal state space models (LRU)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexRecurrentLMConfig",
    "AutoModel": "ComplexRecurrentLMModel",
    "AutoModelForCausalLM": "ComplexRecurrentLMForCausalLM",
}
