# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Chapter 3 of the thesis: how its networks are trained here."""
