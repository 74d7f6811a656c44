# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Adapters of PEFT for complex layers and wave embeddings; needs the extra ``peft``."""

from .lora import ComplexLora, WidelyLora
from .registration import register

__all__ = ["ComplexLora", "WidelyLora", "register"]
