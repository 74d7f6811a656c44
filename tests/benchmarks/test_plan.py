# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The plan of GPU measurements at toy sizes on the CPU."""

import time
from dataclasses import replace

import pytest
from benchmarks.gpu import plan
from benchmarks.gpu.__main__ import CASES
from benchmarks.gpu.contest import TINY, Size
from benchmarks.race import Outcome
from benchmarks.reporting import read_lines

(SIZE,) = TINY.sizes
LINEAR = plan.Stage("linear layer", 60, "dense")


def test_stages_name_cases():
    assert {stage.case for stage in plan.STAGES} <= {"", *CASES}
    assert len({stage.name for stage in plan.STAGES}) == len(plan.STAGES)
    assert all(Size.parse(size).tokens for stage in plan.STAGES for size in stage.sizes)


def test_an_interrupted_plan_continues_and_is_merged(tmp_path, monkeypatch):
    stages = [LINEAR, plan.Stage("linear layer, compiled", 60, "dense", compiled=(True,))]
    said = plan.run(tmp_path, 1, True, stages[:1])
    assert said[0].startswith("linear layer: 2 rows")
    said = plan.run(tmp_path, 1, True, stages)
    assert said[0] == "linear layer: measured before"
    assert said[1].startswith("linear layer, compiled: 1 rows")
    results = tmp_path / "bench-gpu.jsonl"
    assert plan.merge(tmp_path, results) == ["gpu-dense", "gpu-dense"]
    (line,) = read_lines(results)
    modes = ("float16", "float32", "float32, compiled")
    assert [row["group"] for row in line["rows"]] == [f"{SIZE}, {mode}" for mode in modes]
    plan.merge(tmp_path, results)  # rows of the same name are replaced
    assert len(read_lines(results)[0]["rows"]) == 3
    monkeypatch.setattr(plan, "version", lambda: "other code")
    assert plan.run(tmp_path, 1, True, [LINEAR])[0].startswith("linear layer: 2 rows")


def test_a_stage_that_fails_or_takes_too_long_does_not_stop_the_others(tmp_path, monkeypatch):
    def case(setting, rounds):
        if rounds:
            time.sleep(20)

    monkeypatch.setitem(CASES, "slow", case)
    stages = [plan.Stage("slow", 1, "slow"), LINEAR]
    said = plan.run(tmp_path, 1, True, stages)
    assert said[0].startswith("slow: OutOfTime: longer than 1 s")
    assert said[1].startswith("linear layer: 2 rows")
    assert plan.run(tmp_path, 0, True, stages) == ["slow: no time left", "linear layer: measured before"]


def test_an_unfinished_stage_keeps_its_rows_and_measures_the_others(tmp_path, monkeypatch):
    dense, sleeps, measured = CASES["dense"], [20], []

    def case(setting, rounds):
        """A dense layer whose second dtype takes long."""

        def report(found):
            measured.extend(row["group"] for row in found.rows)
            setting.report(found)
            time.sleep(sleeps.pop() if sleeps else 0)

        return dense(replace(setting, report=report), rounds)

    monkeypatch.setitem(CASES, "dense", case)
    stage = replace(LINEAR, seconds=5)
    (said,) = plan.run(tmp_path, 1, True, [stage])
    assert said.startswith("linear layer: OutOfTime: longer than 5 s, 1 rows")
    (line,) = read_lines(tmp_path / plan.LINES)
    assert [row["group"] for row in line["found"]["rows"]] == [f"{SIZE}, float16"]
    assert plan.merge(tmp_path, tmp_path / "bench-gpu.jsonl") == ["gpu-dense"]
    (said,) = plan.run(tmp_path, 1, True, [stage])
    assert said.startswith("linear layer: 2 rows")
    assert measured == [f"{SIZE}, float16", f"{SIZE}, float32"]
    (line,) = read_lines(tmp_path / plan.LINES)
    assert "failed" not in line
    assert line["found"]["rows"][0]["group"] == f"{SIZE}, float16"


def test_rows_are_written_before_a_stage_ends(tmp_path, monkeypatch):
    def case(setting, rounds):
        setting.report(Outcome([{"group": "first"}]))
        raise KeyboardInterrupt

    monkeypatch.setitem(CASES, "killed", case)
    with pytest.raises(KeyboardInterrupt):
        plan.run(tmp_path, 1, True, [plan.Stage("killed", 5, "killed")])
    (line,) = read_lines(tmp_path / plan.LINES)
    assert line["found"]["rows"] == [{"group": "first"}]
    assert line["failed"] == "interrupted"


def test_no_handler_of_errors_keeps_a_stage_running():
    handled = []

    def work():
        try:
            time.sleep(20)
        except Exception as error:  # as a compiler does
            handled.append(error)
            raise

    with plan.within(0.1), pytest.raises(plan.OutOfTime):
        work()
    assert not handled


@pytest.mark.slow
def test_the_whole_plan(tmp_path):
    said = plan.run(tmp_path, 10, True)
    assert len(said) == len(plan.STAGES)
    assert all("failed" not in line for line in read_lines(tmp_path / plan.LINES))


@pytest.mark.parametrize("arguments", [[], ["--output", "a", "--merge", "b"]])
def test_refused_command_lines(arguments):
    with pytest.raises(SystemExit):
        plan.main(arguments)
