# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Real checkpoints, lifted and compared with themselves: the rows of ``experiments.grid lift``."""
