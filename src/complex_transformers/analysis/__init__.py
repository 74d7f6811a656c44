# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Looking into trained models."""

from .frequencies import WordFrequency, frequency_table, period_summary, plot_frequency_density
from .waves import plot_waves

__all__ = ["WordFrequency", "frequency_table", "period_summary", "plot_frequency_density", "plot_waves"]
