# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The tables and figures of the ComplexOrder paper, measured anew: ``python -m benchmarks.paper NAME``."""
