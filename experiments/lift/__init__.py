# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Comparison of lifted checkpoints with their originals: the rows of ``experiments.run lift``."""
