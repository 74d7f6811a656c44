# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every workflow is valid YAML and runs targets of the Makefile."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def targets(command: str) -> set[str]:
    (words,) = re.findall(r"^make (.*)$", command)
    return {word for word in re.sub(r"\$\{\{.*?\}\}", "", words).split() if "=" not in word}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_that_exist(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow[True]  # YAML reads `on` as a truth value
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    for job in jobs.values():
        assert job["runs-on"]
        assert job.get("needs", next(iter(jobs))) in jobs
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert "@" in step.get("uses", "@")
            assert targets(step.get("run", "make test")) <= TARGETS


def test_the_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["docs", "lint", "newest", "release", "tests"]
    commands = [path.read_text(encoding="utf-8") for path in WORKFLOWS]
    assert all("make " in text for text in commands)


def test_the_checks_of_a_change_begin_with_lint_and_types() -> None:
    lines = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("make ")] == [
        "make lint",
        "make types",
        "make test",
        "make test-rest",
    ]
