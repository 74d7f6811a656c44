# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Reproductions of papers: grids of runs, their protocols and results, and the tables of the documentation."""
