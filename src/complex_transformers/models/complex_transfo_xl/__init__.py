# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Language modelling: Transformer-XL, real and complex (Dai et al., ACL 2019; Wang et al., ICLR 2020, section 3.3)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexTransfoXLConfig",
    "AutoModel": "ComplexTransfoXLModel",
    "AutoModelForCausalLM": "ComplexTransfoXLForCausalLM",
    "AutoModelForSequenceClassification": "ComplexTransfoXLForSequenceClassification",
}
