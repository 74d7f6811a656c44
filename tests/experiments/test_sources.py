# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The pages of the sources: complete, with names and commands that exist and figures from the results."""

from __future__ import annotations

import argparse
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.reporting import ROOT, add_line
from experiments.grids import GRIDS
from experiments.sources.rows import Part, Row, check_command, resolve, table
from experiments.tables.sources import SOURCES, counts, rows_of, time_row

from refusals import refused

# Source -> kind of place -> chapter -> its last number; chapter "" where numbers have no chapter.
NUMBERED = {
    "complex-order": {"Eq.": {"": 14}, "Table": {"": 7}, "Figure": {"": 3}},
    "synconmt": {"Eq.": {"": 19}, "Table": {"": 2}, "Figure": {"": 5}},
    "thesis": {
        "Eq.": {"2.": 65, "3.": 9, "4.": 82, "5.": 11},
        "Table": {"3.": 12, "4.": 7, "5.": 3},
        "Figure": {"2.": 4, "3.": 9, "4.": 7, "5.": 7},
    },
}
SECTIONS = {
    "complex-order": "1 2 2.1 2.2 2.3 3 3.1 3.2 3.3 4 5",
    "synconmt": "1 2 2.1 2.2 3 3.1 3.2 3.3 4 4.1 4.2 4.3 4.4 4.5 5 6",
    "thesis": (
        "1.1 1.2 1.3 1.4 2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8 2.9 2.10 3.1 3.2 3.3 3.4 3.5 3.6 3.7 3.8 "
        "4.1 4.2 4.3 4.3.1 4.3.2 4.3.3 4.3.4 4.4 4.4.1 4.5 4.5.1 4.5.2 4.5.3 4.5.4 4.5.5 4.5.6 4.5.6.1 4.5.6.2 4.5.7 "
        "4.5.8 4.5.8.1 4.5.8.2 4.5.8.3 4.5.9 4.6 4.6.1 4.6.2 4.6.3 4.7 "
        "5.1 5.2 5.2.1 5.3 5.4 5.5 5.5.1 5.5.2 5.5.3 5.5.4 5.5.5 5.6 6.1 6.2 6.2.1 6.2.2"
    ),
}


def places(rows: list[Row], kind: str) -> Iterator[str]:
    """Yield the numbers of a kind of place, with ranges such as "2.15 to 2.17" written out."""
    number = r"\d+(?:\.\d+)?"
    for row in rows:
        for listed in re.findall(rf"{kind}s? ({number}(?:(?:, | to ){number})*)", row.place):
            for part in listed.split(", "):
                first, _, last = part.partition(" to ")
                chapter, low = re.fullmatch(r"(\d+\.)?(\d+)", first).groups(default="")
                high = last.rpartition(".")[2] or low
                yield from (f"{chapter}{index}" for index in range(int(low), int(high) + 1))


@pytest.mark.parametrize("source", SOURCES)
def test_names_and_commands_exist(source: str) -> None:
    for row in rows_of(source):
        assert row.code or row.command or row.result, row.place
        for name in row.names:
            resolve(name)
        if row.command:
            check_command(row.command)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "sources").glob("*.md")), ids=lambda page: page.stem)
def test_rows_that_are_not_repeated_have_a_reason(page: Path) -> None:
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if "| not repeated" in line]
    assert [row for row in rows if "| not repeated, because " not in row and not row.startswith("| source |")] == []


class Parsed(Exception):
    """Raised after parsing a command line."""


COMMANDS = sorted({row.command for source in SOURCES for row in rows_of(source) if row.command.startswith("python")})


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.split()[1:4]))
def test_commands_fit_their_scripts(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, *words = shlex.split(command)
    parse = argparse.ArgumentParser.parse_known_args

    def stop(parser: argparse.ArgumentParser, *arguments: Any, **keywords: Any) -> Any:
        if not parse(parser, *arguments, **keywords)[1]:
            raise Parsed
        raise AssertionError("arguments that the script does not have")

    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", stop)
    run = runpy.run_module if words[0] == "-m" else runpy.run_path
    script, *arguments = words[1:] if words[0] == "-m" else words
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    monkeypatch.syspath_prepend(ROOT / Path(script).parent)
    with pytest.raises(Parsed):
        run(script if words[0] == "-m" else str(ROOT / script), run_name="__main__")


@pytest.mark.parametrize(("source", "kind"), [(source, kind) for source, kinds in NUMBERED.items() for kind in kinds])
def test_every_equation_table_and_figure_has_a_row(source: str, kind: str) -> None:
    expected = {f"{chapter}{i}" for chapter, last in NUMBERED[source][kind].items() for i in range(1, last + 1)}
    found = {*places(rows_of(source), kind)}
    if source == "thesis":
        found = {place for place in found if "." in place}  # the appendix has numbers of its own
    assert found == expected


@pytest.mark.parametrize("source", SECTIONS)
def test_every_section_has_a_row(source: str) -> None:
    listed = re.findall(r"Sections? (\d[\d.]*(?:, \d[\d.]*)*)", " ".join(row.place for row in rows_of(source)))
    assert {number for numbers in listed for number in numbers.split(", ")} == {*SECTIONS[source].split()}


@pytest.mark.parametrize(
    ("function", "argument", "words"),
    [
        (resolve, "nn.ComplexNothing", "must be a name of complex_transformers or torch"),
        (resolve, "experiments/nothing.py", "must be a file of the repository"),
        (check_command, "fsdd nothing", "ROW must match a row of fsdd"),
        (check_command, "nothing", "must start with a grid or python"),
        (check_command, "python examples/nothing.py", "must name a script"),
        (Row("", "", result="{fsdd|nothing|test/accuracy}").answer, Path(), "must name a grid and its rows"),
    ],
)
def test_wrong_names_are_found(function, argument, words) -> None:
    refused(words, function, argument, error=(LookupError, ValueError))


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "sources").glob("*.md")), ids=lambda page: page.stem)
def test_rows_have_the_columns_of_their_table(page: Path) -> None:
    for found in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in found.splitlines()}) == 1


def test_figures_and_runs_come_from_the_results(tmp_path: Path) -> None:
    def measured(row: str, seed: int, accuracy: float, **more: float) -> None:
        add_line(tmp_path / "fsdd.jsonl", {"row": row, "seed": seed, "test": {"accuracy": accuracy}, **more})

    compared = Row("Table", "", "nn.rotate", "fsdd real real-mfcc", "{fsdd|real|real-mfcc|test/accuracy}")
    part = Part("", "place", (compared, Row("Other", "no code", result="not repeated, because there is no data")))
    assert table(part, tmp_path).splitlines()[2:] == [
        "| Table |  | `nn.rotate` | `fsdd real real-mfcc` | not run yet | not run yet |",
        "| Other | no code |  |  |  | not repeated, because there is no data |",
    ]
    assert counts(part.rows, tmp_path) == (2, 1, 1, 1, 1)
    measured("real", 0, 0.9, seconds=1800)
    assert compared.runs(tmp_path) == "1 of 2 rows, 1 run, 0.5 h"
    measured("real-mfcc", 0, 0.8, seconds=5400)
    assert compared.answer(tmp_path) == "90.0 against 80.0 (one seed: no verdict)"
    measured("real", 1, 0.92, seconds=1800)
    assert compared.answer(tmp_path) == "91.0 ± 1.4 against 80.0: better"
    assert compared.runs(tmp_path) == "3 runs, 2.5 h"
    # 10 rows, seed 0: 8 are missing, with a mean of 3,000 s; seed 1 is an addition
    assert time_row(GRIDS["fsdd"], tmp_path) == ["`fsdd`", "2 of 10", "3", "2.5", "5,400 s", "6.7"]
    measured("spectral_scaled", 0, 0.5)
    assert Row("", "", command="fsdd spectral_scaled").runs(tmp_path) == "1 run"
