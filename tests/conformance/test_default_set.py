# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The default classes meet every pair of choices that the whole set meets, and every family in both fields."""

import importlib
import inspect
import itertools
import unittest
from pathlib import Path

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


def pairs(test_class):
    """The pairs of choices one class makes; among them how its models generate, and its models with their field."""
    test = test_class("test_config")
    test.setUp()
    config = test.model_tester.get_config()
    given = config.to_dict()
    given = {**(given.get("decoder") or {}), **given}
    choices = {name: str(given[name]) for name in CHOICES if name in given}
    choices["cache"] = str(getattr(test, "has_static_cache", None)) if hasattr(test, "generating") else "none"
    models = (test_class.all_model_classes, given["number_field"])
    return {*itertools.combinations(sorted(choices.items()), 2), models}


def is_full(test_class):
    return any(mark.name == "full" for mark in getattr(test_class, "pytestmark", []))


def test_default_classes_meet_every_pair():
    tests = list(model_tests())
    default = [test_class for test_class in tests if not is_full(test_class)]
    assert len(default) < len(tests)
    met = set().union(*map(pairs, default))
    for test_class in tests:
        missing = pairs(test_class) - met
        assert not missing, f"{test_class}: no class of the default set meets {missing}"
