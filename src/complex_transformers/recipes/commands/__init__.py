# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Command lines of the recipes, one module each with a ``main``: ``complex-transformers run`` and ``examples/``."""
