# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The words of docstrings and errors: field terms, verbs first, errors of at most 25 words; and few checks."""

import ast

import pytest

from source_counts import (
    FUNCTIONS,
    PACKAGE,
    docstrings,
    is_property,
    messages,
    share_of_checks,
    starts_with_a_verb,
    terms,
)

MAX_WORDS = 25
MAX_CHECKS = 0.10
# Legitimate uses of the terms, by file: parts of a sentence that are exact.
ALLOWED: dict[str, tuple[str, ...]] = {}
TREES = {
    str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
}


def without_allowed(name: str, text: str) -> str:
    for phrase in ALLOWED.get(name, ()):
        text = text.replace(phrase, "")
    return " ".join(text.split())


def test_docstrings_have_the_terms_of_the_field() -> None:
    found = [
        f"{name}:{node.lineno} {node.name}: {term}"
        for name, tree in TREES.items()
        for node, text in docstrings(tree)
        for term in terms(without_allowed(name, text))
    ]
    assert found == []


def test_errors_have_the_terms_of_the_field_and_are_short() -> None:
    found = []
    for name, tree in TREES.items():
        for line, text in messages(tree):
            found += [f"{name}:{line}: {term}" for term in terms(without_allowed(name, text))]
            if (count := len(text.split())) > MAX_WORDS:
                found.append(f"{name}:{line}: {count} words")
    assert found == []


def test_docstrings_of_functions_start_with_a_verb() -> None:
    found = [
        f"{name}:{node.lineno} {node.name}: {text.splitlines()[0]}"
        for name, tree in TREES.items()
        for node, text in docstrings(tree)
        if isinstance(node, FUNCTIONS) and not is_property(node) and not starts_with_a_verb(text)
    ]
    assert found == []


def test_few_lines_are_checks() -> None:
    checks, lines = share_of_checks()["all"]
    assert checks / lines <= MAX_CHECKS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("goes on where the beginning ended", 2),
        ("rotated by the phase; turn it off with use_cache=False; in turn", 0),
        ("what is lifted turns by that of a word", 3),
    ],
)
def test_terms_are_found(text: str, found: int) -> None:
    assert len(terms(text)) == found


def test_checks_are_counted() -> None:
    assert share_of_checks()["kernels"][0] < 30
