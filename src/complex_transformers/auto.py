# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""One table of everything registered with Transformers: models and processors, and tasks of ``pipeline()``.

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

__all__ = [
    "AUTO_CLASSES",
    "FEATURE_EXTRACTORS",
    "PIPELINES",
    "PROCESSORS",
    "SPEECH_TO_TEXT_TASK",
    "TEXT_TO_TEXT_TASK",
    "register_all",
]

# Transformers 5 refuses its old names of this task, "translation" and "text2text-generation".
TEXT_TO_TEXT_TASK = "complex-text2text"
# "automatic-speech-recognition" takes every model that is not in Transformers' own list for one of CTC.
SPEECH_TO_TEXT_TASK = "complex-speech2text"

# model type -> configuration, and the class of each Auto class; names are attributes of this package.
AUTO_CLASSES: dict[str, dict[str, str]] = {
    "complex_fasttext": {
        "AutoConfig": "ComplexFastTextConfig",
        "AutoModel": "ComplexFastTextModel",
        "AutoModelForSequenceClassification": "ComplexFastTextForSequenceClassification",
    },
    "complex_text_cnn": {
        "AutoConfig": "ComplexTextCNNConfig",
        "AutoModel": "ComplexTextCNNModel",
        "AutoModelForSequenceClassification": "ComplexTextCNNForSequenceClassification",
    },
    "complex_text_gcn": {
        "AutoConfig": "ComplexTextGCNConfig",
        "AutoModel": "ComplexTextGCNModel",
        "AutoModelForSequenceClassification": "ComplexTextGCNForSequenceClassification",
    },
    "complex_text_rnn": {
        "AutoConfig": "ComplexTextRNNConfig",
        "AutoModel": "ComplexTextRNNModel",
        "AutoModelForSequenceClassification": "ComplexTextRNNForSequenceClassification",
    },
    "complex_order": {
        "AutoConfig": "ComplexOrderConfig",
        "AutoModel": "ComplexOrderModel",
        "AutoModelForMaskedLM": "ComplexOrderForMaskedLM",
        "AutoModelForSequenceClassification": "ComplexOrderForSequenceClassification",
        "AutoModelForTokenClassification": "ComplexOrderForTokenClassification",
    },
    "complex_seq2seq": {
        "AutoConfig": "ComplexSeq2SeqConfig",
        "AutoModel": "ComplexSeq2SeqModel",
        "AutoModelForSeq2SeqLM": "ComplexSeq2SeqForConditionalGeneration",
    },
    "complex_transfo_xl": {
        "AutoConfig": "ComplexTransfoXLConfig",
        "AutoModel": "ComplexTransfoXLModel",
        "AutoModelForCausalLM": "ComplexTransfoXLForCausalLM",
    },
    "spectral_transformer": {
        "AutoConfig": "SpectralTransformerConfig",
        "AutoModel": "SpectralTransformerModel",
        "AutoModelForAudioClassification": "SpectralTransformerForAudioClassification",
        "AutoModelForCTC": "SpectralTransformerForCTC",
        "AutoModelForSpeechSeq2Seq": "SpectralTransformerForConditionalGeneration",
    },
    "synconmt": {
        "AutoConfig": "SynCoNMTConfig",
        "AutoModel": "SynCoNMTModel",
        "AutoModelForSeq2SeqLM": "SynCoNMTForConditionalGeneration",
    },
}

# model type -> its feature extractor
FEATURE_EXTRACTORS = {"spectral_transformer": "SpectralFeatureExtractor"}

# model type -> processor
PROCESSORS = {"spectral_transformer": "SpectralTransformerProcessor", "synconmt": "SynCoNMTProcessor"}

# task -> module of this package, its pipeline, the Auto class of the models, and what goes in
PIPELINES = {
    SPEECH_TO_TEXT_TASK: (
        "pipelines.speech_to_text",
        "SpeechToTextPipeline",
        "AutoModelForSpeechSeq2Seq",
        "multimodal",
    ),
    TEXT_TO_TEXT_TASK: ("pipelines.text_to_text", "TextToTextPipeline", "AutoModelForSeq2SeqLM", "text"),
}

_CONFIGURATION_AUTO = "transformers.models.auto.configuration_auto"
_FEATURE_EXTRACTION_AUTO = "transformers.models.auto.feature_extraction_auto"
_MODELING_AUTO = "transformers.models.auto.modeling_auto"
_PROCESSING_AUTO = "transformers.models.auto.processing_auto"
_PIPELINES = "transformers.pipelines"


def _our_module(kind: str, model_type: str) -> str:
    return f"{__package__}.models.{model_type}.{kind}_{model_type}"


def _our_class(kind: str, model_type: str, name: str) -> Any:
    return getattr(importlib.import_module(_our_module(kind, model_type)), name)


# Modules below that are being executed now. Transformers imports its Auto classes from inside modules that ours
# import, and ours from inside its own: registration that finds either half done waits until they are complete.
_executing: set[str] = set()


def _incomplete(module: str) -> bool:
    """True while ``module``, or a module of ours, is not there or is half done."""
    half_done = module in _executing or any(name.startswith(__package__) for name in _executing)
    return half_done or module not in sys.modules


def _register_configurations() -> None:
    if _incomplete(_CONFIGURATION_AUTO):
        return
    auto = sys.modules[_CONFIGURATION_AUTO]
    for model_type, classes in AUTO_CLASSES.items():
        config = _our_class("configuration", model_type, classes["AutoConfig"])
        auto.AutoConfig.register(model_type, config, exist_ok=True)


def _register_feature_extractors() -> None:
    if _incomplete(_FEATURE_EXTRACTION_AUTO):
        return
    auto = sys.modules[_FEATURE_EXTRACTION_AUTO].AutoFeatureExtractor
    for model_type, name in FEATURE_EXTRACTORS.items():
        config = _our_class("configuration", model_type, AUTO_CLASSES[model_type]["AutoConfig"])
        auto.register(config, _our_class("feature_extraction", model_type, name), exist_ok=True)


def _register_models() -> None:
    if _incomplete(_MODELING_AUTO):
        return
    auto = sys.modules[_MODELING_AUTO]
    for model_type, classes in AUTO_CLASSES.items():
        config = _our_class("configuration", model_type, classes["AutoConfig"])
        for auto_class, name in classes.items():
            if auto_class != "AutoConfig":
                getattr(auto, auto_class).register(config, _our_class("modeling", model_type, name), exist_ok=True)


def _register_processors() -> None:
    if _incomplete(_PROCESSING_AUTO):
        return
    for model_type, name in PROCESSORS.items():
        config = _our_class("configuration", model_type, AUTO_CLASSES[model_type]["AutoConfig"])
        processor = _our_class("processing", model_type, name)
        sys.modules[_PROCESSING_AUTO].AutoProcessor.register(config, processor, exist_ok=True)


def _register_pipelines() -> None:
    if _incomplete(_PIPELINES):
        return
    pipelines = sys.modules[_PIPELINES]
    for task, (module, name, auto_class, kind) in PIPELINES.items():
        implementation = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        models = (getattr(sys.modules[_MODELING_AUTO], auto_class),)
        # Not register_pipeline(): it marks the class as one whose file save_pretrained() copies, and such a folder
        # then asks for trust_remote_code.
        pipelines.PIPELINE_REGISTRY.supported_tasks[task] = {"impl": implementation, "pt": models, "type": kind}


def _register() -> None:
    _register_configurations()
    _register_feature_extractors()
    _register_models()
    _register_processors()
    _register_pipelines()


_AFTER_IMPORT: dict[str, Callable[[], None]] = {
    _CONFIGURATION_AUTO: _register_configurations,
    _FEATURE_EXTRACTION_AUTO: _register_feature_extractors,
    _MODELING_AUTO: _register_models,
    _PROCESSING_AUTO: _register_processors,
    _PIPELINES: _register_pipelines,
    f"{__package__}.modeling_utils": _register,
    **{_our_module(kind, name): _register for kind in ("configuration", "modeling") for name in AUTO_CLASSES},
    **{_our_module("feature_extraction", name): _register for name in FEATURE_EXTRACTORS},
    **{_our_module("processing", name): _register for name in PROCESSORS},
    **{f"{__package__}.{module}": _register for module, *_ in PIPELINES.values()},
}


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function once, after a module of ``_AFTER_IMPORT`` has been executed by its own loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The usual spec of a module of ``_AFTER_IMPORT``, its loader followed by the function; None for others."""
        if fullname not in _AFTER_IMPORT:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            _executing.add(fullname)
            try:
                execute(module)
            finally:
                _executing.discard(fullname)
            _AFTER_IMPORT[fullname]()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def register_all() -> None:
    """Register every model and task now, or as soon as Transformers has imported what it needs. Safe to call twice."""
    if not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())
    _register()
