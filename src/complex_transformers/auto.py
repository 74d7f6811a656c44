# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""One table of everything registered with Transformers' Auto classes.

Transformers builds its Auto classes when they are first used, which takes seconds. So does registration: it waits for
the import of the modules that hold them, and runs at once where they have been imported already.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

__all__ = ["AUTO_CLASSES", "register_all"]

# model type -> configuration, and the class of each Auto class; names are attributes of this package.
AUTO_CLASSES: dict[str, dict[str, str]] = {
    "complex_order": {
        "AutoConfig": "ComplexOrderConfig",
        "AutoModel": "ComplexOrderModel",
        "AutoModelForMaskedLM": "ComplexOrderForMaskedLM",
        "AutoModelForSequenceClassification": "ComplexOrderForSequenceClassification",
        "AutoModelForTokenClassification": "ComplexOrderForTokenClassification",
    },
}

_CONFIGURATION_MODULE = "transformers.models.auto.configuration_auto"
_MODELING_MODULE = "transformers.models.auto.modeling_auto"


def _ours(name: str) -> Any:
    return getattr(importlib.import_module(__package__), name)


def _register_configurations(module: ModuleType) -> None:
    for model_type, classes in AUTO_CLASSES.items():
        module.AutoConfig.register(model_type, _ours(classes["AutoConfig"]), exist_ok=True)


def _register_models(module: ModuleType) -> None:
    for classes in AUTO_CLASSES.values():
        config = _ours(classes["AutoConfig"])
        for auto_class, name in classes.items():
            if auto_class != "AutoConfig":
                getattr(module, auto_class).register(config, _ours(name), exist_ok=True)


_AFTER_IMPORT: dict[str, Callable[[ModuleType], None]] = {
    _CONFIGURATION_MODULE: _register_configurations,
    _MODELING_MODULE: _register_models,
}


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function once, after a module of ``_AFTER_IMPORT`` has been executed by its own loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _AFTER_IMPORT:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _AFTER_IMPORT[fullname](module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def register_all() -> None:
    """Register every model now, or as soon as Transformers' Auto classes are imported. Safe to call twice."""
    if not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())
    for name, register in _AFTER_IMPORT.items():
        if name in sys.modules:
            register(sys.modules[name])
