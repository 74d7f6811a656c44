# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Looking into trained models."""

from .waves import plot_waves

__all__ = ["plot_waves"]
