# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Spectral Transformers for speech (Mönning 2019, chapter 5)."""

AUTO_CLASSES = {
    "AutoConfig": "SpectralTransformerConfig",
    "AutoModel": "SpectralTransformerModel",
    "AutoModelForAudioClassification": "SpectralTransformerForAudioClassification",
    "AutoModelForCTC": "SpectralTransformerForCTC",
    "AutoModelForSpeechSeq2Seq": "SpectralTransformerForConditionalGeneration",
    "AutoFeatureExtractor": "SpectralFeatureExtractor",
    "AutoProcessor": "SpectralTransformerProcessor",
}
