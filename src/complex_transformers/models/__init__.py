# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Model families, one folder per model type, which declares its classes in ``AUTO_CLASSES``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

__all__ = ["family_class", "model_families"]

# Auto class -> first part of the name of the file with its classes; all other Auto classes load models.
_FILES = {
    "AutoConfig": "configuration",
    "AutoFeatureExtractor": "feature_extraction",
    "AutoImageProcessor": "image_processing",
    "AutoProcessor": "processing",
    "AutoTokenizer": "tokenization",
}


@cache
def model_families() -> dict[str, dict[str, str]]:
    """Return model type -> Auto class -> class name, for every folder beside this file except ``base``."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.name != "base"]
    return {name: importlib.import_module(f"{__name__}.{name}").AUTO_CLASSES for name in names}


def file_kind(auto_class: str) -> str:
    """Return ``configuration``, ``modeling``, ...: the first part of the file name for an Auto class."""
    return _FILES.get(auto_class, "modeling")


def family_class(model_type: str, auto_class: str) -> Any:
    """Import and return the class that an Auto class loads for a model type."""
    module = f"{__name__}.{model_type}.{file_kind(auto_class)}_{model_type}"
    return getattr(importlib.import_module(module), model_families()[model_type][auto_class])
