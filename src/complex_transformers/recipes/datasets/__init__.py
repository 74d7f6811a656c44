# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Data sets of the recipes: readers, splits and generators."""
