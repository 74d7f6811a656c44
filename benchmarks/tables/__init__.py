# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the documentation from ``benchmarks/results``: ``python -m benchmarks.tables``."""
