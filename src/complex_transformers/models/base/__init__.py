# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Code that all families share: configurations, base models, layers, caches, generation, the Hub."""

from transformers.utils.versions import require_version

__all__: list[str] = []

# Checked here, where models are first used: with an older version imports fail without naming the cause.
_NEEDED = "transformers>=5.24,<6"
require_version(_NEEDED, f"complex_transformers needs it: pip install --upgrade '{_NEEDED}'")
