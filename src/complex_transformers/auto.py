# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Registration of the models, pipelines, quantizer and adapters with Transformers and PEFT.

Transformers builds its Auto classes on first use, which takes seconds. Registration needs them and
our model classes, so it waits until their modules have been imported. It never runs inside an import, where modules of
either side can be incomplete, but after the outermost import (``docs/decisions/0001-import.md``).
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
import threading
import warnings
from collections.abc import Sequence
from functools import partial
from types import ModuleType

from .models import family_class, file_kind, model_families

__all__ = ["register_all", "register_when_imported"]

_PIPELINES = "transformers.pipelines"
_QUANTIZERS = "transformers.quantizers.auto"
_PEFT, _OLDEST_PEFT = "peft", "0.21"
# Modules of Transformers and PEFT already registered with. Registering twice is harmless, but takes time.
_registered: set[str] = set()


def _register_kind(kind: str) -> None:
    """Register the classes of every family with the Auto classes of ``transformers.models.auto.<kind>_auto``."""
    if kind == "image_processing" and importlib.util.find_spec("PIL") is None:  # the extra `vision`
        return
    auto = sys.modules[f"transformers.models.auto.{kind}_auto"]
    for model_type, classes in model_families().items():
        config = family_class(model_type, "AutoConfig")
        for auto_class in classes:
            if file_kind(auto_class) == kind:
                key = model_type if kind == "configuration" else config
                getattr(auto, auto_class).register(key, family_class(model_type, auto_class), exist_ok=True)
        if kind == "modeling" and (name := classes.get("AutoModelForCausalLM")) is not None:
            # With label smoothing, `Trainer` shifts labels only for classes in this table.
            auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[model_type] = name


def _register_pipelines() -> None:
    from .pipelines import PIPELINES, RESAMPLED

    tasks = sys.modules[_PIPELINES].PIPELINE_REGISTRY.supported_tasks
    resampling = importlib.import_module(f"{__package__}.pipelines.resampling")
    for task, name in RESAMPLED.items():
        tasks[task]["impl"] = getattr(resampling, name)
    modeling_auto = importlib.import_module("transformers.models.auto.modeling_auto")
    for task, (module, name, auto_class, kind) in PIPELINES.items():
        implementation = getattr(importlib.import_module(f"{__package__}.pipelines.{module}"), name)
        # Not register_pipeline(): it makes save_pretrained() copy the file of the class, and such a folder
        # then requires trust_remote_code.
        tasks[task] = {
            "impl": implementation,
            "pt": (getattr(modeling_auto, auto_class),),
            "type": kind,
        }


def _register_quantizer() -> None:
    from .quantization import METHOD, ComplexQuantizationConfig, ComplexQuantizer

    quantizers = sys.modules[_QUANTIZERS]
    if METHOD not in quantizers.AUTO_QUANTIZER_MAPPING:  # registering a name twice raises
        quantizers.register_quantization_config(METHOD)(ComplexQuantizationConfig)
        quantizers.register_quantizer(METHOD)(ComplexQuantizer)


def _register_adapters() -> None:
    from packaging.version import Version  # a dependency of Transformers

    if Version(found := importlib.metadata.version(_PEFT)) < Version(_OLDEST_PEFT):
        warnings.warn(
            f"peft must be {_OLDEST_PEFT} or later for complex layers, got {found}. Upgrade it.", stacklevel=2
        )
        return
    from .adapters import register

    register()


# Module of Transformers, or PEFT -> its registration function.
_REGISTER = {
    f"transformers.models.auto.{kind}_auto": partial(_register_kind, kind)
    for kind in ("configuration", "feature_extraction", "image_processing", "modeling", "processing", "tokenization")
} | {_PIPELINES: _register_pipelines, _QUANTIZERS: _register_quantizer, _PEFT: _register_adapters}


def _register_imported() -> None:
    """Register with every module of ``_REGISTER`` that has been imported since the last time."""
    for module, register in _REGISTER.items():
        if sys.modules.get(module) and module not in _registered:
            _registered.add(module)
            register()


class _AfterImport(importlib.abc.MetaPathFinder):
    """Meta path finder that registers after the outermost import of a module of Transformers, PEFT or this package."""

    def __init__(self) -> None:
        self.running = threading.local()

    @property
    def depth(self) -> int:
        """The number of nested imports in progress in this thread."""
        return getattr(self.running, "depth", 0)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the other finders with a loader that counts nested imports; None for other packages."""
        if fullname.partition(".")[0] not in ("transformers", _PEFT, __package__):
            return None
        others = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next((spec for finder in others if (spec := finder.find_spec(fullname, path, target))), None)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            self.running.depth = self.depth + 1
            try:
                execute(module)
                if self.depth == 1:
                    # Still counted, so that imports during registration do not register again.
                    _register_imported()
            finally:
                self.running.depth -= 1

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def register_when_imported() -> None:
    """Register with the modules imported so far, and with the rest as soon as they are imported."""
    if not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())
    _register_imported()


def register_all() -> None:
    """Import Transformers' Auto classes and pipelines, and register everything now. Safe to call twice."""
    for module in _REGISTER.keys() - {_PEFT}:  # an optional extra, registered on import
        importlib.import_module(module)
    _registered.clear()
    _register_imported()
