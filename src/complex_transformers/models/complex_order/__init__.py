# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ComplexOrder: word order as phase (Wang et al., ICLR 2020)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexOrderConfig",
    "AutoModel": "ComplexOrderModel",
    "AutoModelForMaskedLM": "ComplexOrderForMaskedLM",
    "AutoModelForMultipleChoice": "ComplexOrderForMultipleChoice",
    "AutoModelForQuestionAnswering": "ComplexOrderForQuestionAnswering",
    "AutoModelForSequenceClassification": "ComplexOrderForSequenceClassification",
    "AutoModelForTextEncoding": "ComplexOrderModel",
    "AutoModelForTokenClassification": "ComplexOrderForTokenClassification",
}
