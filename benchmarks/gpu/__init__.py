# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What a GPU takes for a training step: layers by length, and the networks of ``benchmarks.cases``."""
