# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Translation: the complex encoder-decoder Transformer (Wang et al., ICLR 2020, section 3.2)."""

AUTO_CLASSES = {
    "AutoConfig": "ComplexSeq2SeqConfig",
    "AutoModel": "ComplexSeq2SeqModel",
    "AutoModelForSeq2SeqLM": "ComplexSeq2SeqForConditionalGeneration",
}
