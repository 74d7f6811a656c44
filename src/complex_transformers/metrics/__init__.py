# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Metrics of generated text and predictions, computed without internet access."""
