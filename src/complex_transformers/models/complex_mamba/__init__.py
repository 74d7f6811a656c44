# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Causal language model of Mamba-3: a state space model whose states rotate, or its real twin."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexMambaConfig",
    "AutoModel": "ComplexMambaModel",
    "AutoModelForCausalLM": "ComplexMambaForCausalLM",
    "AutoModelForSequenceClassification": "ComplexMambaForSequenceClassification",
}
