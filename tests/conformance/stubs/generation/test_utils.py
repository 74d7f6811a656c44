# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Stand-in for a file that the source distribution leaves out."""


class GenerationTesterMixin:
    """Nothing yet: no model of the package generates."""
