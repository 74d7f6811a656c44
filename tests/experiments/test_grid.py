# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The runner of grids: what runs, what is skipped, and the definitions of the grids."""

from __future__ import annotations

import argparse
import re
import runpy
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.reporting import RESULTS, ROOT, add_line, read_lines
from experiments.grid import Commands, Functions, Need, Place
from experiments.grids import GRIDS
from experiments.run import main, run_grid

from refusals import refused

# Writes its results like the scripts of the examples, with its arguments.
SCRIPT = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--output_dir") + 1])
folder.mkdir(parents=True, exist_ok=True)
seed = int(sys.argv[sys.argv.index("--seed") + 1])
results = {"seed": seed, "score": 0.5, "evaluations": [1], "called": sys.argv[1:]}
(folder / "results.json").write_text(json.dumps(results))
"""
COMMANDS = {name: grid for name, grid in GRIDS.items() if isinstance(grid, Commands)}
# Arguments of a run besides its row: output folder, seed, restarts.
OWN = ("output_dir", "output_json", "seed", "seeds", "disable_tqdm", "resume_from_checkpoint")


@pytest.fixture
def table(tmp_path: Path) -> Commands:
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "make.py").write_text("import sys; open(sys.argv[1], 'x').close()", encoding="utf-8")
    return Commands(
        "table",
        {"decoder": "--model @table/ctc --layers 2", "ctc": "--network real", "other": "--network 'a b'"},
        script=str(tmp_path / "train.py"),
        common=f"--data {tmp_path}/data",
        seed_options="--seed $SEED",
        needs=[Need(f"{tmp_path}/data", "", f"{tmp_path}/make.py {tmp_path}/data")],
    )


def options(words: list[str]) -> dict[str, list[str]]:
    """Return options and their values; later ones override earlier ones, as in argparse."""
    found: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            values = found[word[2:]] = []
        elif found:
            values.append(word)
    return found


def test_every_row_and_seed_runs_once_and_decoders_last(table: Commands, tmp_path: Path, capfd: Any) -> None:
    place = Place(tmp_path / "results", "--epochs 5")
    run_grid(table, table.choose(["ctc", "decoder"]), [3, 10], place)
    lines = read_lines(tmp_path / "results" / "table.jsonl")
    order = [("ctc", 3), ("decoder", 3), ("ctc", 10), ("decoder", 10)]
    assert [(line["row"], line["seed"]) for line in lines] == order
    assert all("evaluations" not in line and line["score"] == 0.5 for line in lines)  # logs of epochs are not results
    called = options(lines[1]["called"])
    assert (called["layers"], called["seed"], called["epochs"]) == (["2"], ["3"], ["5"])
    assert ROOT / called["model"][0] == tmp_path / "results" / "table" / "ctc-seed-3"
    assert ROOT / called["output_dir"][0] == tmp_path / "results" / "table" / "decoder-seed-3"
    assert capfd.readouterr().out.count("make.py") == 1  # the input was created once

    run_grid(table, ["ctc", "other"], [3], place)
    assert "skipped, has a result: ctc, seed 3" in capfd.readouterr().out
    lines = read_lines(tmp_path / "results" / "table.jsonl")
    assert [line["row"] for line in lines if line["seed"] == 3] == ["ctc", "decoder", "other"]
    assert options(lines[-1]["called"])["network"] == ["a b"]


def test_a_row_that_begins_with_a_missing_model_names_it(table: Commands, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"starts from .*ctc-seed-3, which does not exist. Run ctc"):
        run_grid(table, ["decoder"], [3], Place(tmp_path / "results"))
    assert not (tmp_path / "data").exists()  # nothing was created


def test_a_stopped_or_failed_run_leaves_no_result(table: Commands, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise SystemExit(1)", encoding="utf-8")
    refused("returned non-zero exit status 1", run_grid, table, ["ctc"], [0], Place(tmp_path), error=Exception)
    path = tmp_path / "table.jsonl"
    assert not path.exists()
    add_line(path, {"row": "ctc", "seed": 0})
    with path.open("a") as file:
        file.write('{"row": "other", "se')  # cut short
    add_line(path, {"row": "ctc", "seed": 1})
    assert read_lines(path) == [{"row": "ctc", "seed": 0}, {"row": "ctc", "seed": 1}]


def test_results_of_other_settings_are_refused(tmp_path: Path) -> None:
    def grid(rate: float) -> Functions:
        return Functions(
            "cells", {"a": 1, "b": 2}, function=lambda v, seed: {"value": v + seed}, settings=lambda v: {"rate": rate}
        )

    run_grid(grid(0.1), ["a", "b"], [5], Place(tmp_path))
    path = tmp_path / "cells.jsonl"
    assert len(path.read_text().splitlines()) == 3  # shared fields are written once
    shared = {"settings": {"rate": 0.1}}
    assert read_lines(path) == [{**shared, "row": r, "seed": 5, "value": v} for r, v in (("a", 6), ("b", 7))]
    refused("a was measured with other settings", run_grid, grid(0.2), ["a"], [4, 5], Place(tmp_path))
    assert len(read_lines(path)) == 2  # before anything ran
    refused("--options must be empty", run_grid, grid(0.1), ["a"], [6], Place(tmp_path, "--epochs 5"))


def test_unknown_rows_are_named_before_anything_runs(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["fsdd", "real", "reall", "--results", str(tmp_path)])
    assert "ROW must match a row of fsdd, got reall. Rows: fully_spectral; " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    main(["fsdd", "real*", "--list"])
    listed = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[:3] for line in listed] == [
        [f"{row}:", "python", "examples/speech/run_audio_classification.py"] for row in ("real", "real-mfcc")
    ]
    main([])
    assert "fsdd: 10 rows" in capsys.readouterr().out
    main(["fsdd-leave-out", "theo/real", "--dry-run", "--seeds", "7", "--results", str(tmp_path)])
    out = capsys.readouterr().out
    assert "--leave_out theo" in out
    assert "george" not in out  # inputs that the row does not use are not created
    assert not list(tmp_path.iterdir())


class Parsed(Exception):
    """Raised after parsing the command line."""


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_fit_their_scripts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = COMMANDS[name]
    parse = argparse.ArgumentParser.parse_known_args

    def stop(parser: argparse.ArgumentParser, *arguments: Any, **keywords: Any) -> Any:
        found = parse(parser, *arguments, **keywords)
        if not found[1]:
            raise Parsed
        return found

    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", stop)
    commands = [grid.command(row, 0, Place(dry_run=True)) for row in grid.rows]
    commands += [grid.words(need.command, 0) for need in grid.needs]
    for script, *words in commands:
        monkeypatch.syspath_prepend(ROOT / Path(script).parent)
        run = partial(runpy.run_path, str(ROOT / script), run_name="__main__")
        if script == "-m":
            script, *words = words
            run = partial(runpy.run_module, script, run_name="__main__")
        monkeypatch.setattr(sys, "argv", [script, *words])
        with pytest.raises(Parsed):
            run()


# Options added to rows after defaults changed, or equal to the default.
ONCE_DEFAULT = (
    {"number_field": ["complex"]},
    {"gate": ["modulus"], "lm_readout": ["modulus"]},
    {"warmup_steps": ["200"]},
    {"position_type": ["rotary"]},
)
ONCE_CALLED = {
    **{f"{part}_files": f"{part}_file" for part in ("train", "validation", "test")},
    "dev_files": "validation_file",
    "dev_split": "validation_split",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_results_are_those_of_the_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the recorded command of every result is the command of its row, apart from folders."""
    monkeypatch.delenv("COMPLEX_TRANSFORMERS_DATA", raising=False)  # recorded commands name the default
    grid = COMMANDS[name]
    for line in read_lines(RESULTS / f"{name}.jsonl"):
        assert line["row"] in grid.rows
        if "command" not in line:
            continue
        words = shlex.split(line["command"].replace("$COMPLEX_TRANSFORMERS_DATA", "../shared/data"))
        recorded = {ONCE_CALLED.get(name, name): value for name, value in options(words).items()}
        now = options(grid.command(line["row"], line["seed"], Place(dry_run=True)))
        if "decoder_layers" not in recorded:
            recorded.pop("generation_max_length", None)  # once passed to CTC, which does not use it
        for own in OWN:
            recorded.pop(own, None)
            now.pop(own, None)
        assert {k: v for k, v in recorded.items() if now.get(k) != v} == {}
        assert {k: v for k, v in now.items() if k not in recorded} in ({}, *ONCE_DEFAULT)


def test_every_file_of_results_belongs_to_something_that_runs() -> None:
    # The commands of all but the first are shown in the pages.
    others = {"bench", "bench-gpu", "bench-xeon", "export", "launches", "synconmt-pud"}
    assert {path.stem for path in RESULTS.iterdir()} <= {*GRIDS, *others}
    for page in (ROOT / "README.md", *ROOT.glob("examples/*/README.md"), *ROOT.glob("docs/**/*.md")):
        for grid in re.findall(r"python -m experiments\.run ([\w-]+)", page.read_text(encoding="utf-8")):
            assert grid in GRIDS
