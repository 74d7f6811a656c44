# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Quantization to two bits per complex weight and stage, through Transformers' quantizer interface."""

from .configuration import METHOD, ComplexQuantizationConfig
from .quantizer import ComplexQuantizer, quantize

__all__ = ["METHOD", "ComplexQuantizationConfig", "ComplexQuantizer", "quantize"]
