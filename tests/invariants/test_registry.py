# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every family is under every law, or is named with a reason that holds."""

import importlib
import inspect
import itertools
from pathlib import Path

import pytest
from laws import LAWS, SKIPS, named
from transformers import PreTrainedConfig, PreTrainedModel

import complex_transformers
from complex_transformers.models import model_families
from families import CASES, FAMILIES
from family_inputs import result, rows

for path in Path(__file__).parent.glob("test_*.py"):  # all laws, whatever is collected
    if path.stem != Path(__file__).stem:
        importlib.import_module(path.stem)
# Compiling takes minutes.
TRIED = {(name, place): reason for (name, place), reason in SKIPS.items() if "compiled" not in name}


def test_every_family_is_here():
    assert FAMILIES.keys() == model_families().keys()
    fields = {(case.family, case.config().number_field) for case in CASES if case.is_default}
    assert fields == {(name, field) for name in FAMILIES for field in ("complex", "real")}


@pytest.mark.parametrize("family", FAMILIES)
def test_variants_are_different_networks(family):
    cases = [case for case in CASES if case.family == family]
    found = [result(model, rows(model)[0]) for model in (case.model() for case in cases)]
    for (case, said), (other, others) in itertools.combinations(zip(cases, found, strict=True), 2):
        names = [name for name in said.keys() & others.keys() if said[name].shape == others[name].shape]
        assert not names or any((said[name] - others[name]).abs().max() > 1e-3 for name in names), (case, other)


# Classes in the method resolution order; Transformers' Llama has 12.
LONGEST = {"ComplexLlamaForCausalLM": 14, "SynCoNMTForConditionalGeneration": 16}


def test_inheritance_is_short():
    classes = [
        value
        for name in complex_transformers.__all__
        if isinstance(value := getattr(complex_transformers, name), type)
    ]
    for cls in classes:
        if issubclass(cls, PreTrainedConfig):
            assert len(cls.__mro__) <= 9, cls
        if issubclass(cls, PreTrainedModel):
            assert len(cls.__mro__) <= LONGEST.get(cls.__name__, 15), cls


PAGES = Path(__file__).parents[2] / "docs" / "models"


@pytest.mark.parametrize("family", FAMILIES)
def test_pages_say_where_gradient_checkpointing_is_not_supported(family):
    supported = {c.model_class.supports_gradient_checkpointing for c in CASES if c.family == family}
    page = " ".join((PAGES / f"{family}.md").read_text(encoding="utf-8").split())
    assert supported == {"Gradient checkpointing is not supported" not in page}


def test_names_of_exceptions_exist():
    places = {*FAMILIES, *map(str, CASES)}
    assert {name for name, _ in SKIPS} <= LAWS.keys()
    assert {place for _, place in SKIPS} <= places
    assert all(len(reason) > 10 for reason in SKIPS.values())
    for name in LAWS:  # a law that nobody keeps is none
        assert not all(named(SKIPS, name, case) for case in CASES), name


@pytest.mark.full
@pytest.mark.parametrize(("name", "place"), [pytest.param(*key, id=" of ".join(key)) for key in TRIED])
def test_exceptions_are_needed(name, place, tmp_path):
    case = next(case for case in CASES if place in (case.family, str(case)))
    test = inspect.unwrap(LAWS[name])
    wanted = inspect.signature(test).parameters
    given = {
        "case": case,
        "tmp_path": tmp_path,
        "angle": 0.7,
        "penalty": 1.0,
        "poison": float("nan"),
        "seeds": range(1),
        "reentrant": False,
    }
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it is
        test(**{argument: value for argument, value in given.items() if argument in wanted})
