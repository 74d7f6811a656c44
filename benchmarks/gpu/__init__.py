# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training steps on a GPU: layers by sequence length, and the networks of ``benchmarks.cases``."""
