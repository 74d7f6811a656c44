# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes Transformers' own test suite importable as the package ``hf_suite``, and teaches it our class names.

The folder of the suite is ``HF_SDIST_TESTS``, or the cache of ``fetch_suite.py``, which is filled when it is empty.
"""

import importlib
import importlib.metadata
import importlib.util
import os
import sys
import types
from functools import cache
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
collect_ignore = ["stubs"]  # named like test files, as the suite imports them, but without tests

# Nothing in the suite may ask the Hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# Auto class -> the table of class names in which the suite looks up what a model is for.
NAME_TABLES = {
    "AutoModel": "MODEL_MAPPING_NAMES",
    "AutoModelForAudioClassification": "MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES",
    "AutoModelForCTC": "MODEL_FOR_CTC_MAPPING_NAMES",
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "AutoModelForImageClassification": "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES",
    "AutoModelForMaskedLM": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "AutoModelForMultipleChoice": "MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES",
    "AutoModelForQuestionAnswering": "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES",
    "AutoModelForSeq2SeqLM": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "AutoModelForSequenceClassification": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    "AutoModelForSpeechSeq2Seq": "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "AutoModelForTokenClassification": "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES",
}
# Of 25 ways to compare sdpa with eager attention: every pair of dtype, side of padding, mask and kernels, and weights.
SDPA_PAIRS = ("00", "07", "09", "14", "18", "21", "24")
DEFAULT_SDPA_PAIRS = ("00", "21")
# Checks of files and names, which tests/invariants makes for every variant: in the full set, on one class per group of
# models.
FILES_AND_NAMES = frozenset(
    f"test_{name}"
    for name in (
        "base_model_prefix_loads_base_weights",
        "can_use_safetensors",
        "correct_missing_keys",
        "from_pretrained_no_checkpoint",
        "keep_in_fp32_modules",
        "load_contiguous_weights",
        "load_save_without_tied_weights",
        "model_outputs_equivalence",
        "model_weights_reload_no_missing_tied_weights",
        "save_load",
    )
)
# Tests of many seconds, of which tests/invariants has short forms: one class is enough.
LONG = ("test_can_init_all_missing_weights", "test_training_overfit")
CLASS_OF_LONG = "ComplexLlamaConformanceTest"
# An old keyword that Transformers itself translates: one class shows that it passes.
OLD_KEYWORD_CLASS = "RealComplexOrderConformanceTest"


def _suite_folder() -> Path:
    if given := os.environ.get("HF_SDIST_TESTS"):
        if not (Path(given) / "test_modeling_common.py").is_file():
            raise FileNotFoundError(f"HF_SDIST_TESTS={given} holds no test_modeling_common.py")
        return Path(given)
    spec = importlib.util.spec_from_file_location("fetch_suite", HERE / "fetch_suite.py")
    fetch_suite = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fetch_suite)
    return fetch_suite.fetch(importlib.metadata.version("transformers"))


def _import_suite(folder: Path) -> None:
    """Import the suite from ``folder``, with our stand-ins for what the source distribution leaves out."""
    import transformers.utils

    suite = types.ModuleType("hf_suite")
    suite.__path__ = [str(HERE / "stubs"), str(folder)]  # relative imports of the suite resolve over both
    sys.modules["hf_suite"] = suite
    # Names the media of tests that read images, films or sound from the Hub.
    sys.modules["fetch_hub_objects_for_ci"] = hub = types.ModuleType("fetch_hub_objects_for_ci")
    hub.url_to_local_path = str
    direct_import = transformers.utils.direct_transformers_import
    # The suite would import Transformers from a source tree, which there is not.
    transformers.utils.direct_transformers_import = lambda *args, **kwargs: transformers
    try:
        for name in (
            "test_configuration_common",
            "test_modeling_common",
            "test_processing_common",
            "test_sequence_feature_extraction_common",
            "test_training_mixin",
        ):
            importlib.import_module(f"hf_suite.{name}")
    finally:
        transformers.utils.direct_transformers_import = direct_import


try:
    _import_suite(_suite_folder())
    SUITE_MISSING = None
except RuntimeError as error:
    SUITE_MISSING = f"{error}; connect once, or set HF_SDIST_TESTS to the tests folder of the source distribution"


class _SkippedModule(pytest.Module):
    def collect(self):
        pytest.skip(SUITE_MISSING, allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    """Without the suite the modules of this folder cannot even be imported: skip them with the reason."""
    if SUITE_MISSING and HERE in module_path.parents:
        return _SkippedModule.from_parent(parent, path=module_path)
    return None


@pytest.fixture(autouse=True, scope="module")
def class_names():
    """Our class names in the tables of the suite, for as long as its tests run."""
    from transformers.models.auto import modeling_auto

    from complex_transformers.models import model_families

    with pytest.MonkeyPatch.context() as patch:
        for model_type, classes in model_families().items():
            for auto_class, table in NAME_TABLES.items():
                if auto_class in classes:
                    patch.setitem(getattr(modeling_auto, table), model_type, classes[auto_class])
        yield


@pytest.fixture(autouse=True)
def fresh_compiler(request):
    """A test that compiles begins without the graphs of others, whose number is limited in a process."""
    if "compile" in request.node.name:
        torch.compiler.reset()


@cache
def _has_two_attentions(test_class: type) -> bool:
    """Whether sdpa and eager are two functions: every other score or normalisation has one function for both names."""
    test = test_class("test_config")
    test.setUp()
    config = test.model_tester.get_config()
    given = getattr(config, "attention_score", None), getattr(config, "attention_normalization", None)
    return given == ("real", "softmax")


def _is_slow(test_class: type, name: str, is_first: bool) -> bool:
    """Return whether a test compares a function with itself, or repeats what another class or set of tests checks."""
    if name.startswith("test_eager_matches_sdpa_inference_"):
        return name.split("_")[5] not in (SDPA_PAIRS if _has_two_attentions(test_class) else SDPA_PAIRS[:1])
    if name in LONG:
        return test_class.__name__ != CLASS_OF_LONG
    return name in FILES_AND_NAMES and not is_first


def _is_covered(name: str) -> bool:
    """Return whether faster tests of the default set check the same for every model."""
    if name.startswith("test_eager_matches_sdpa_inference_"):
        return name.split("_")[5] not in DEFAULT_SDPA_PAIRS
    return name in FILES_AND_NAMES or name in LONG


def pytest_collection_modifyitems(items):
    """Mark all but the first class of each group of models and covered tests ``full``, repetitions ``slow``."""
    first: dict[object, type] = {}
    for item in items:
        if HERE not in item.path.parents or item.cls is None:
            continue
        if item.name == "test_bc_torch_dtype":
            item.add_marker(pytest.mark.full if item.cls.__name__ == OLD_KEYWORD_CLASS else pytest.mark.slow)
            continue
        marked = item.get_closest_marker("full") or item.get_closest_marker("slow")
        further = marked or getattr(item.cls, "is_further_variant", False)
        is_first = (
            not further and first.setdefault(getattr(item.cls, "all_model_classes", item.cls), item.cls) is item.cls
        )
        if _is_slow(item.cls, item.name, is_first):
            item.add_marker(pytest.mark.slow)
        elif not is_first or _is_covered(item.name):
            item.add_marker(pytest.mark.full)
