# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention with complex scores: multi-head, grouped-query, relative, alignment, rotary positions."""
