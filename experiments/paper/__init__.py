# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What the grids of the ComplexOrder paper train, and its figures."""
