# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of the four sources, and where each is built, run and answered: ``docs/sources``.

Rows are in the order of the source. ``experiments.tables.sources`` writes them as tables and adds the figures.
"""
