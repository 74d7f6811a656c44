# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``examples/runs.sh``: the loop over rows and seeds of the scripts of the tables, with ``echo`` for Python."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*/*.sh") if "run_rows" in path.read_text(encoding="utf-8"))


def run(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHON": "echo", **environment}
    return subprocess.run(["bash", script, *arguments], env=variables, capture_output=True, text=True, check=False)


def digits(tmp_path: Path, *arguments: str, **environment: str) -> list[str]:
    script = EXAMPLES / "speech" / "fsdd.sh"
    done = run(script, *arguments, RESULTS=str(tmp_path), LEAVE_OUT="theo", **environment)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if "/fsdd.py" not in line]


def test_scripts_were_found() -> None:
    assert len(SCRIPTS) == 6


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_usage_and_unknown_rows(script: Path) -> None:
    usage = run(script)
    assert usage.returncode == 2
    assert f"# Usage: bash examples/{script.relative_to(EXAMPLES)} SEEDS" in usage.stdout
    unknown = run(script, "0", "reall")
    assert unknown.returncode == 2
    assert "no run reall; there are: " in unknown.stderr
    assert not unknown.stdout  # nothing was made or trained


def test_every_row_and_seed_runs_with_its_options(tmp_path: Path) -> None:
    lines = digits(tmp_path, "3,10", "real", "spectral_scaled", OPTIONS="--num_train_epochs 5")
    assert [line.split()[0] for line in lines] == ["examples/speech/run_audio_classification.py"] * 4
    runs = [("real", 3), ("spectral_scaled", 3), ("real", 10), ("spectral_scaled", 10)]
    for line, (name, seed) in zip(lines, runs, strict=True):
        assert f" --network {name} --window_ms " in line
        assert f" --seed {seed} " in line
        assert f"/fsdd-leave-out/theo/{name}-seed-{seed} " in line  # the model of other results is another
        assert f" --output_json {tmp_path}/fsdd-leave-out/theo/{name}-seed-{seed}.json " in line
        assert line.endswith(" --num_train_epochs 5")
    assert len(digits(tmp_path, "0")) == 10  # every row


def test_a_run_with_a_result_is_left_out(tmp_path: Path) -> None:
    result = tmp_path / "fsdd-leave-out" / "theo" / "real-seed-0.json"
    result.parent.mkdir(parents=True)
    result.touch()
    left_out, other = digits(tmp_path, "0,1", "real")
    assert left_out == f"left out, as it has a result: {result}"
    assert " --seed 1 " in other


def test_models_lie_beside_those_of_other_results() -> None:
    script = f"source {EXAMPLES / 'runs.sh'}; output_of fsdd real 0"
    for results, folder in (
        (None, "outputs"),
        ("benchmarks/results/long", "outputs/long"),
        ("other", "outputs/other"),
    ):
        environment = {name: value for name, value in os.environ.items() if name != "RESULTS"}
        environment |= {"RESULTS": results} if results else {}
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"{folder}/fsdd/real-seed-0\n"


def test_a_row_that_begins_with_another_runs_after_it(tmp_path: Path) -> None:
    script = tmp_path / "table.sh"
    script.write_text(
        f"""
        cd {tmp_path}; source {EXAMPLES / "runs.sh"}
        declare -A ROWS=([decoder]="--model_name_or_path @ctc --decoder_layers 2" [ctc]="--network real")
        choose "$@"
        run_rows table train.py
        """,
        encoding="utf-8",
    )
    missing = run(script, "3", "decoder", RESULTS="other")
    assert missing.returncode == 2
    assert "decoder begins with outputs/other/table/ctc-seed-3, which is not there: run ctc first" in missing.stderr
    assert not missing.stdout
    (tmp_path / "outputs" / "other" / "table" / "ctc-seed-3").mkdir(parents=True)
    first, second = run(script, "3", RESULTS="other").stdout.splitlines()
    assert first.startswith("train.py --network real ")
    assert second.startswith("train.py --model_name_or_path outputs/other/table/ctc-seed-3 --decoder_layers 2 ")
    assert "--output_dir outputs/other/table/decoder-seed-3 " in second
