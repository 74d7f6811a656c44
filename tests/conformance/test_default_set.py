# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The default tests run the suite on every model, and meet every choice of a configuration that the whole set meets.

A choice may be met by a default class of the suite or by a default variant of ``families.py``, on which all invariants
are tested.
"""

import importlib
import inspect
import unittest
from pathlib import Path

from families import CASES

CHOICES = (
    "number_field",
    "attention_score",
    "norm_type",
    "norm_position",
    "embedding_type",
    "lm_readout",
    "readout",
    "tie_word_embeddings",
)


def model_tests():
    for path in sorted(Path(__file__).parent.glob("test_conformance_*.py")):
        module = importlib.import_module(path.stem)
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, unittest.TestCase) and hasattr(value, "all_model_classes"):
                yield value


def config_of(test_class):
    test = test_class("test_config")
    test.setUp()
    return test.model_tester.get_config()


def choices(config):
    """Return the choices that a configuration makes, as pairs of a name and a value."""
    given = config.to_dict()
    given = {**(given.get("decoder") or {}), **given}
    return {(name, str(given[name])) for name in CHOICES if name in given}


def default_tests():
    """Return the first class of each group of models that is not marked: the others are in the full set."""
    first = {}
    for test_class in model_tests():
        marks = [mark.name for mark in getattr(test_class, "pytestmark", [])]
        if not {"full", "slow"}.intersection(marks) and not getattr(test_class, "is_further_variant", False):
            first.setdefault(test_class.all_model_classes, test_class)
    return list(first.values())


# Heads on models that others have as well, and whose own tests are in the default set.
FULL_HEADS = {
    "ComplexOrderForMultipleChoice",
    "ComplexOrderForQuestionAnswering",
    "ComplexTransfoXLForSequenceClassification",
}


def models_of(test_class):
    return tuple(model for model in test_class.all_model_classes if model.__name__ not in FULL_HEADS)


def test_default_classes_meet_every_model():
    assert set(map(models_of, default_tests())) == set(map(models_of, model_tests()))
    assert len(default_tests()) < len(list(model_tests())) / 2


def test_default_tests_meet_every_choice():
    configs = [*map(config_of, default_tests()), *(case.config() for case in CASES if case.is_default)]
    met = set().union(*map(choices, configs))
    for test_class in model_tests():
        missing = choices(config_of(test_class)) - met
        assert not missing, f"{test_class}: no default test meets {missing}"
