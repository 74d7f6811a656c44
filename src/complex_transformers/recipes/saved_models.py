# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Loading of saved models whose class the caller does not know."""

from __future__ import annotations

from typing import Any

import transformers
from transformers import AutoConfig, PreTrainedModel

import complex_transformers

__all__ = ["load_model"]


def load_model(path: str, **options: Any) -> PreTrainedModel:
    """Load a saved model, from a folder or the Hub, in the class it was saved as, in evaluation mode.

    Args:
        path: a folder of ``save_pretrained`` or a repository of the Hub.
        options: of ``from_pretrained``.

    Raises:
        ValueError: the configuration names no class.
    """
    names = AutoConfig.from_pretrained(path).architectures
    if not names:
        raise ValueError(f"architectures in the config of {path} must name a class, got none.")
    model_class = getattr(complex_transformers, names[0], None) or getattr(transformers, names[0])
    return model_class.from_pretrained(path, **options).eval()
