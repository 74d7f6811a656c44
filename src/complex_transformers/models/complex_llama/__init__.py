# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A causal decoder of today over both number fields: Llama with complex layers."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexLlamaConfig",
    "AutoModel": "ComplexLlamaModel",
    "AutoModelForCausalLM": "ComplexLlamaForCausalLM",
    "AutoModelForSequenceClassification": "ComplexLlamaForSequenceClassification",
    "AutoModelForTokenClassification": "ComplexLlamaForTokenClassification",
}
