# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Two processes (DDP, FSDP2) and gradient accumulation give the losses of one process with the whole batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

WORKER = Path(__file__).with_name("train_worker.py")
STREAM_WORKER = Path(__file__).with_name("stream_worker.py")

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without distributed")


def train(folder: Path, processes: int = 1, worker: Path = WORKER, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Run the worker in its own process or under torchrun: its results by head and way of training."""
    launch = [sys.executable]
    if processes > 1:
        launch += ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    output = folder / "results.json"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [*launch, str(worker), str(output), *arguments]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(output.read_text(encoding="utf-8"))


def assert_same_training(result: dict[str, Any], expected: dict[str, Any]) -> None:
    assert len(set(expected["losses"])) == 5
    for name in ("losses", "grad_norms", "eval_loss"):
        if name in expected:
            assert result[name] == pytest.approx(expected[name], abs=1e-4), name


def heads_in(request: pytest.FixtureRequest) -> list[str]:
    """The heads of the tests that will run: a process trains all of them, but no others."""
    tests = [item for item in request.session.items if item.path == request.path]
    return sorted({item.callspec.params["head"] for item in tests if hasattr(item, "callspec")})


@pytest.fixture(scope="module")
def single(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return train(tmp_path_factory.mktemp("single"), arguments=heads_in(request))


@pytest.fixture(scope="module")
def double(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return train(tmp_path_factory.mktemp("double"), processes=2, arguments=heads_in(request))


FULL = [pytest.param(head, marks=pytest.mark.full) for head in ("classification", "fasttext", "cnn", "gcn", "rnn")]
HEADS = pytest.mark.parametrize("head", ["mlm", "seq2seq", *FULL])


@pytest.mark.full
@HEADS
def test_gradient_accumulation(single: dict[str, dict[str, Any]], head: str) -> None:
    assert_same_training(single[f"{head}-2"], single[f"{head}-1"])


@pytest.mark.full
@HEADS
@pytest.mark.parametrize("accumulation", [1, 2])
def test_ddp(
    single: dict[str, dict[str, Any]], double: dict[str, dict[str, Any]], head: str, accumulation: int
) -> None:
    result = double[f"{head}-{accumulation}"]
    assert result["world_size"] == 2  # a launcher that quietly starts one process would pass the comparison
    assert_same_training(result, single[f"{head}-1"])


@pytest.mark.full
@HEADS
def test_fsdp2(single: dict[str, dict[str, Any]], double: dict[str, dict[str, Any]], head: str) -> None:
    result = double[f"{head}-sharded"]
    assert result["sharded"]
    assert_same_training(result, single[f"{head}-sharded"])


@pytest.mark.full
def test_streams(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two processes with two lanes each train as one with four; resumed in an epoch they end with the same weights."""
    single, double = (train(tmp_path_factory.mktemp("stream"), processes, STREAM_WORKER) for processes in (1, 2))
    for accumulation, steps in (("1", 16), ("3", 6)):
        assert len(set(single[accumulation]["losses"])) == steps
        for name in ("losses", "grad_norms", "eval_loss"):
            assert double[accumulation][name] == pytest.approx(single[accumulation][name], rel=2e-3), name
        assert single[accumulation]["resumed_equal"]
        assert double[accumulation]["resumed_equal"]
