# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training protocol and figures of the ComplexOrder paper."""
