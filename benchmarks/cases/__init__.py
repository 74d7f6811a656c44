# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Cases of ``benchmarks.bench``, one per file. The docstring of ``case`` is the caption of its table."""
