# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The default tests meet every pair of choices that the whole set meets, and the suite every model in both fields.

A pair of choices may be met by a default class of the suite or by a default variant of ``families.py``, on which all
laws are tried.
"""

import importlib
import inspect
import itertools
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


def pairs(config):
    """The pairs of choices that a configuration makes."""
    given = config.to_dict()
    given = {**(given.get("decoder") or {}), **given}
    return set(itertools.combinations([(name, str(given[name])) for name in CHOICES if name in given], 2))


def is_full(test_class):
    marks = getattr(test_class, "pytestmark", [])
    return getattr(test_class, "is_further_variant", False) or any(mark.name == "full" for mark in marks)


# Heads on models that others have as well, and whose own tests are in the default set.
FULL_HEADS = {
    "ComplexOrderForMultipleChoice",
    "ComplexOrderForQuestionAnswering",
    "ComplexTransfoXLForSequenceClassification",
}


def models_of(test_class):
    return tuple(model for model in test_class.all_model_classes if model.__name__ not in FULL_HEADS)


def test_default_classes_meet_every_model_in_both_fields():
    met = {(models_of(test), config_of(test).number_field, is_full(test)) for test in model_tests()}
    assert {full for _, _, full in met} == {True, False}
    assert {(*key, False) for *key, _ in met} <= met


def test_default_tests_meet_every_pair_of_choices():
    variants = (case.config() for case in CASES if case.is_default)
    default = [config_of(test) for test in model_tests() if not is_full(test)]
    met = set().union(*map(pairs, (*default, *variants)))
    for test_class in model_tests():
        missing = pairs(config_of(test_class)) - met
        assert not missing, f"{test_class}: no default test meets {missing}"
