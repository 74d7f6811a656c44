# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What all families share with Transformers: configurations, base models, layers, caches, generation, the Hub."""
