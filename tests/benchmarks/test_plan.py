# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The plan of GPU measurements at toy sizes on the CPU."""

import time

import pytest
from benchmarks.gpu import plan
from benchmarks.gpu.__main__ import CASES
from benchmarks.reporting import read_lines

LINEAR = plan.Stage("linear layer", 60, "dense")


def test_stages_name_cases():
    assert {stage.case for stage in plan.STAGES} <= {"", *CASES}
    assert len({stage.name for stage in plan.STAGES}) == len(plan.STAGES)


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
    assert [row["group"] for row in line["rows"]] == [
        "8 tokens, float16",
        "8 tokens, float32",
        "8 tokens, float32, compiled",
    ]
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


@pytest.mark.slow
def test_the_whole_plan(tmp_path):
    said = plan.run(tmp_path, 10, True)
    assert len(said) == len(plan.STAGES)
    assert all("failed" not in line for line in read_lines(tmp_path / plan.LINES))


@pytest.mark.parametrize("arguments", [[], ["--output", "a", "--merge", "b"]])
def test_refused_command_lines(arguments):
    with pytest.raises(SystemExit):
        plan.main(arguments)
