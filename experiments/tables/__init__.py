# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the documentation from ``experiments/results``: ``python -m experiments.tables``."""
