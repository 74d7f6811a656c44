# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of the documentation and of the examples' READMEs: from committed results, and two by hand."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.race import Case, Comparison, Outcome, race_table, row
from benchmarks.reporting import RESULTS, ROOT, add_line, read_lines
from experiments.grids import GRIDS
from experiments.grids.speech import SPEAKERS
from experiments.tables import speech, text
from experiments.tables.__main__ import PAGES, tables_of, write_tables
from experiments.tables.cases import missed_table
from experiments.tables.runs import machines, mean_std

from benchmarks import bench
from refusals import refused

tables = functools.cache(tables_of)  # made once for all tests
RUN = {
    "parameters": 1_500_000,
    "seconds": 60.2,
    "resumed": False,
    "validation": {"bleu": 30.0, "accuracy": 0.99, "label_error_rate": 0.02},
    "signatures": {"bleu": "nrefs:1", "chrf": "nc:6"},
}


def write_result(results: Path, name: str, seed: int, test: dict[str, float], **changes: Any) -> None:
    grid, name = name.split("/", 1)
    add_line(results / f"{grid}.jsonl", {**RUN, "row": name, "seed": seed, "test": test, **changes})


def test_translation_table(tmp_path: Path) -> None:
    for seed, bleu in ((0, 31.0), (10, 34.0), (2, 32.5)):
        write_result(tmp_path, "multi30k-en-de/complex_order-real", seed, {"bleu": bleu, "chrf": 50.0})
    lines = text.multi30k_table(tmp_path, "en-de").splitlines()
    assert lines[2] == (
        "| `complex_order` | real | 0 2 10 | 30.00 ± 0.00 | 32.50 ± 1.50 | 31.00 32.50 34.00 | 50.00 ± 0.00 "
        "| 1.50 M | 60 s |"
    )
    assert lines[-1] == "BLEU: `nrefs:1`; chrF: `nc:6`."
    assert len(lines) == 5  # rows that were not run are left out
    signatures = {"bleu": "nrefs:2", "chrf": "nc:6"}
    write_result(tmp_path, "multi30k-en-de/complex_vanilla", 0, {"bleu": 1.0, "chrf": 1.0}, signatures=signatures)
    refused("must have one sacreBLEU signature", text.multi30k_table, tmp_path, "en-de")


def test_means_over_speakers(tmp_path: Path) -> None:
    for index, speaker in enumerate(SPEAKERS):
        for seed, accuracy in ((0, 0.5), (1, 0.7)):
            test = {"accuracy": accuracy + 0.1 * (index % 2)}
            write_result(tmp_path, f"fsdd-leave-out/{speaker}/fully_spectral", seed, test)
    write_result(tmp_path, "fsdd-leave-out/theo/real", 0, {"accuracy": 0.25})
    lines = speech.leave_out_table(tmp_path).splitlines()
    assert lines[2:] == [  # rows that were not run are left out
        "| Fully Spectral | complex bins | 60.0 | 70.0 | 60.0 | 70.0 | 60.0 | 70.0 | 65.0 ± 5.5 |",
        "| real | log-mel |  |  |  |  | 25.0 |  | not measured yet |",  # one speaker is not a mean over speakers
    ]


@pytest.mark.parametrize(
    ("grid", "names"),
    [
        ("fsdd", {*speech.NETWORKS, *(name + bins for name in speech.WINDOWS for bins in speech.PHASE)}),
        ("digit-strings", {*speech.TRANSCRIBERS}),
        ("espeak", {*speech.TRANSCRIBERS}),
        ("ctc-decoding", {*speech.DECODED}),
        ("synconmt", {*text.SYNCONMT}),
        ("trec", {name + suffix for name in text.TREC for _, suffix in text.FIELDS}),
    ],
)
def test_rows_of_the_tables_are_rows_of_the_grids(grid: str, names: set[str]) -> None:
    assert {*GRIDS[grid].rows} == names


def test_unequal_runs_are_refused_and_interrupted_ones_have_no_time(tmp_path: Path) -> None:
    write_result(tmp_path, "fsdd/real", 0, {"accuracy": 0.9}, resumed=True)
    assert "stopped and resumed" in speech.official_table(tmp_path)
    write_result(tmp_path, "fsdd/real", 1, {"accuracy": 0.9}, parameters=1)
    refused(r"real: all seeds must have equal parameters, got \[1, 1500000\]", speech.official_table, tmp_path)
    assert mean_std([0.25], 1, 100) == "25.0"


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_what_the_results_give(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.tables.__main__.tables_of", tables)
    committed = (ROOT / page).read_text(encoding="utf-8")
    copy = tmp_path / page
    copy.parent.mkdir(parents=True)
    without = committed
    for name in tables(page, RESULTS):
        before, _, rest = without.partition(f"<!-- {name}:start -->\n")
        without = f"{before}<!-- {name}:start -->\nold\n{rest[rest.index(f'<!-- {name}:end -->') :]}"
    assert without != committed
    copy.write_text(without, encoding="utf-8")
    write_tables(page, tmp_path, RESULTS)
    assert copy.read_text(encoding="utf-8") == committed
    copy.write_text(without.replace(":start -->", ":begin -->"), encoding="utf-8")
    refused(rf"{page} must have the marker .*:start --> once, found 0", write_tables, page, tmp_path, RESULTS)


def test_every_table_of_a_page_is_written_by_the_command() -> None:
    # Images of networks trained for them, and the table of `make test-tools`.
    drawn = {"figure1", "figure3", "tools"}
    for path in (*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")):
        if markers := set(re.findall(r"<!-- (.*):start -->", path.read_text(encoding="utf-8"))) - drawn:
            assert markers == set(tables(str(path.relative_to(ROOT)), RESULTS))


def test_small_ratios_keep_their_figures() -> None:
    for ours, shown in ((10.3, "0.000172 (0.000172 to 0.000172)"), (75_000.0, "1.25 (1.25 to 1.25)")):
        found = row("features", Comparison("features of 60 s", "the audio", 0.005), [ours] * 3, [60_000.0] * 3, "ms")
        facts = {"processor": "P", "vector_instructions": "V", "threads": 1, "cores": 2, "python": "3", "versions": {}}
        data = {"what": "", "rows": [found], "notes": [], "rounds": 3, "machine": facts}
        assert f"| {shown} |" in race_table(data)


def test_a_case_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    threads = torch.get_num_threads()
    times = iter([3.0, 1.5])

    def run(rounds: int) -> Outcome:
        """What is measured."""
        return Outcome([row("step", Comparison("ours", "theirs", 2.0), [next(times)] * rounds, [1.0] * rounds, "ms")])

    monkeypatch.setitem(bench.CASES, "encoder", Case(run, 3))
    path = tmp_path / "bench.jsonl"
    add_line(path, {"row": "linear"})
    for verdict in ("encoder, step: ours / theirs is 3.000, allowed 2.0", "every bar is met"):
        bench.main(["--case", "encoder", "--rounds", "2", "--results", str(path), "--threads", str(threads)])
        assert verdict in capsys.readouterr().out
    first, second = read_lines(path)
    assert (first["row"], second["row"], second["what"]) == ("linear", "encoder", "What is measured.")
    assert "| step: ours / theirs | 1.5 ms | 1 ms | 1.50 (1.50 to 1.50) | 2, met |" in race_table(second)


def test_machines_that_differ_in_vector_instructions_only_share_a_sentence():
    facts = {"processor": "P", "vector_instructions": "A", "threads": 1, "cores": 2, "python": "3", "versions": {}}
    found = {"one": [facts, {**facts, "vector_instructions": "B"}], "two": [facts, {**facts, "cores": 4}]}
    text = machines({row: [{"machine": each} for each in runs] for row, runs in found.items()})
    assert text == "P (A or B), 1 thread(s) of 2 cores, Python 3, . P (A), 1 thread(s) of 4 cores, Python 3, ."


def test_only_missed_goals_are_listed(tmp_path: Path) -> None:
    rows = [row("step", Comparison("ours", "theirs", bar), [1.3] * 2, [1.0] * 2, "ms") for bar in (1.0, 2.0, None)]
    add_line(tmp_path / "bench.jsonl", {"row": "encoder", "rows": rows})
    add_line(tmp_path / "bench.jsonl", {"row": "linear_paths", "rows": rows})  # on another page
    assert missed_table(tmp_path).splitlines()[2:] == ["| encoder | step: ours / theirs | 1.30 (1.30 to 1.30) | 1 |"]
