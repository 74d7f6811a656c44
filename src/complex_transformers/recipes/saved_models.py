# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Loading of saved models whose class the caller does not know."""

from __future__ import annotations

from typing import Any

import transformers
from transformers import AutoConfig, PreTrainedModel

__all__ = ["load_model"]


def load_model(path: str, **options: Any) -> PreTrainedModel:
    """Load a saved model, from a folder or the Hub, in the class it was saved as, in evaluation mode.

    Args:
        path: a folder of ``save_pretrained`` or a repository of the Hub.
        options: of ``from_pretrained``.

    Raises:
        ValueError: the configuration names no class.
    """
    import complex_transformers

    names = AutoConfig.from_pretrained(path).architectures
    if not names:
        raise ValueError(f"the config of {path} must name a class in architectures: save a model there first")
    package = complex_transformers if names[0] in complex_transformers.__all__ else transformers
    return getattr(package, names[0]).from_pretrained(path, **options).eval()
