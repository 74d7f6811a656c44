# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every command that the READMEs and docstrings of the examples show has known options."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import takewhile

import pytest
from example_runs import EXAMPLES, load_example
from transformers import HfArgumentParser

from complex_transformers.cli import COMMANDS, RECIPES, module_of


def commands() -> Iterator[tuple[str, ...]]:
    """Yield the words of each command, the script or the recipe first, without redirections and dots."""
    root = EXAMPLES.parent
    pages = [*EXAMPLES.glob("*/README.md"), *root.glob("docs/**/*.md"), root / "README.md"]
    for path in sorted([*pages, *(root / "src").glob("*/recipes/commands/*.py")]):
        text = re.sub(r"\\\n\s*", "", path.read_text(encoding="utf-8"))
        for line in re.findall(r"^ *(?:python|torchrun .*?) (examples/\S+\.py.*)", text, re.MULTILINE):
            yield words_of(line)
        for line in re.findall(r"^ *complex-transformers (?:run )?(.*)", text, re.MULTILINE):
            yield words_of(line)


def words_of(line: str) -> tuple[str, ...]:
    words = takewhile(lambda word: word not in ("<", ">", "|"), shlex.split(line, comments=True))
    return tuple(word for word in words if word != "...")


class Parsed(Exception):
    """The command line is understood."""


def test_every_command_that_is_shown_has_known_options(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = HfArgumentParser.parse_args_into_dataclasses

    def stop(self: HfArgumentParser, *args: object, **kwargs: object) -> None:
        parse(self, *args, **kwargs)
        raise Parsed

    monkeypatch.setattr(HfArgumentParser, "parse_args_into_dataclasses", stop)
    monkeypatch.setenv("COMPLEX_TRANSFORMERS_DATA", "data")
    seen = 0
    for command, *words in sorted(set(commands())):
        if command.startswith("examples/"):
            module = load_example(command.removeprefix("examples/"))
        elif command in RECIPES or command in COMMANDS.commands.keys() - {"run", "convert"}:
            module = import_module(module_of(["run", command] if command in RECIPES else [command]))
        else:
            continue
        if not hasattr(module, "HfArgumentParser") or "--help" in words:
            continue
        monkeypatch.setattr(sys, "argv", [command, *words])
        with pytest.raises(Parsed):
            module.main()
        seen += 1
    assert seen > 100
