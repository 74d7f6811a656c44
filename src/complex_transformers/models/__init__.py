# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Model families, one folder each, named by model type. A folder declares its classes in ``AUTO_CLASSES``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

__all__ = ["family_class", "model_families"]

# Auto class -> the file of a family its classes are in; all other Auto classes load models.
_FILES = {
    "AutoConfig": "configuration",
    "AutoFeatureExtractor": "feature_extraction",
    "AutoImageProcessor": "image_processing",
    "AutoProcessor": "processing",
    "AutoTokenizer": "tokenization",
}


@cache
def model_families() -> dict[str, dict[str, str]]:
    """Model type -> Auto class -> name of the class, of every folder beside this file but ``base``."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.name != "base"]
    return {name: importlib.import_module(f"{__name__}.{name}").AUTO_CLASSES for name in names}


def file_kind(auto_class: str) -> str:
    """``configuration``, ``modeling``, ...: how the name of the file begins that holds an Auto class's classes."""
    return _FILES.get(auto_class, "modeling")


def family_class(model_type: str, auto_class: str) -> Any:
    """The class that an Auto class loads for a model type; its module is imported."""
    module = f"{__name__}.{model_type}.{file_kind(auto_class)}_{model_type}"
    return getattr(importlib.import_module(module), model_families()[model_type][auto_class])
