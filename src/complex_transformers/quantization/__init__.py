# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Two bits a complex weight, by Transformers' own interface of quantisers."""

from .configuration import METHOD, ComplexQuantizationConfig
from .quantizer import ComplexQuantizer, quantize

__all__ = ["METHOD", "ComplexQuantizationConfig", "ComplexQuantizer", "quantize"]
