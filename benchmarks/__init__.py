# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Measurements behind the figures of the documentation: time, memory and stability of training."""
