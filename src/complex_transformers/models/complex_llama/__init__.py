# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Causal decoder: Llama with complex (or real) layers."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexLlamaConfig",
    "AutoModel": "ComplexLlamaModel",
    "AutoModelForCausalLM": "ComplexLlamaForCausalLM",
    "AutoModelForSequenceClassification": "ComplexLlamaForSequenceClassification",
    "AutoModelForTokenClassification": "ComplexLlamaForTokenClassification",
}
