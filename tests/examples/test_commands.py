# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every command that the READMEs and docstrings of the examples and the grids of the tables show has known options."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from itertools import takewhile

import pytest
from example_runs import EXAMPLES, load_example
from experiments.grid import Commands, Place
from experiments.grids import GRIDS
from transformers import HfArgumentParser


def commands() -> Iterator[tuple[str, ...]]:
    """The words of each command, the script first; one that is told in part (...) is parsed without that part."""
    pages = EXAMPLES.parent.glob("docs/**/*.md")
    for path in sorted([*EXAMPLES.glob("*/README.md"), *EXAMPLES.glob("*/*.py"), *pages]):
        text = re.sub(r"\\\n\s*", "", path.read_text(encoding="utf-8"))
        for line in re.findall(r"^ *(?:python|torchrun .*?) (examples/\S+\.py.*)", text, re.MULTILINE):
            words = takewhile(lambda word: word not in ("<", ">", "|"), shlex.split(line, comments=True))
            yield tuple(word for word in words if word != "...")
    for grid in GRIDS.values():
        if isinstance(grid, Commands):
            for row in grid.rows:
                yield tuple(grid.command(row, 0, Place(dry_run=True)))


class Parsed(Exception):
    """The command line is understood."""


def test_every_command_that_is_shown_has_known_options(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = HfArgumentParser.parse_args_into_dataclasses

    def stop(self: HfArgumentParser, *args: object, **kwargs: object) -> None:
        parse(self, *args, **kwargs)
        raise Parsed

    monkeypatch.setattr(HfArgumentParser, "parse_args_into_dataclasses", stop)
    monkeypatch.setenv("COMPLEX_TRANSFORMERS_DATA", "data")
    modules, seen = {}, 0
    for script, *words in sorted({each for each in commands() if each[0].startswith("examples/")}):
        path = script.removeprefix("examples/")
        module = modules.get(path) or modules.setdefault(path, load_example(path))
        if not hasattr(module, "HfArgumentParser"):
            continue
        monkeypatch.setattr(sys, "argv", [script, *words])
        with pytest.raises(Parsed):
            module.main()
        seen += 1
    assert seen > 100
