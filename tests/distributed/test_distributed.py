# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Two and four processes train (DDP, FSDP2, gradient accumulation) as one does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from interpreter import HAS_TRITON
from launcher import run

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without distributed")


def train(folder: Path, processes: int = 1, worker: str = "train_worker.py", heads: Sequence[str] = ()) -> Any:
    """What a worker has found, by head and way of training."""
    run(worker, folder / "results.json", *heads, processes=processes)
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def assert_same_training(result: dict[str, Any], expected: dict[str, Any]) -> None:
    assert len(set(expected["losses"])) == 5
    for name in ("losses", "grad_norms", "eval_loss"):
        if name in expected:
            assert result[name] == pytest.approx(expected[name], abs=1e-4), name


def heads_in(request: pytest.FixtureRequest) -> list[str]:
    """The heads of the tests that will run: a process trains all of them, but no others."""
    tests = [item for item in request.session.items if item.path == request.path]
    params = [item.callspec.params for item in tests if hasattr(item, "callspec")]
    return sorted({each["head"] for each in params if "head" in each})


@pytest.fixture(scope="module")
def single(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return train(tmp_path_factory.mktemp("single"), heads=heads_in(request))


@pytest.fixture(scope="module")
def double(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return train(tmp_path_factory.mktemp("double"), processes=2, heads=heads_in(request))


# An encoder, an encoder-decoder, a recurrence, a decoder; others are divided as these are.
OTHERS = ("classification", "fasttext", "mamba", "memory", "cnn", "gcn", "mlp", "convnet", "quantum")
HEADS = pytest.mark.parametrize(
    "head",
    [
        *("mlm", "seq2seq", "rnn", "llama"),
        *(pytest.param(head, marks=pytest.mark.slow) for head in OTHERS),
    ],
)


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


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")
def test_kernels_of_a_gpu_train_as_formulas(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By DDP, FSDP2 and gradient accumulation on two processes, against formulas on one."""
    heads = ("mlm", "llama", "rnn")
    expected = train(tmp_path_factory.mktemp("formulas"), heads=heads)
    monkeypatch.setenv("CT_TEST_KERNELS", "1")
    found = train(tmp_path_factory.mktemp("kernels"), processes=2, heads=heads)
    assert expected["launched"] == []
    names = {"real_matrix", "parts_of", "product", "product_backward", "recurrent_rows", "recurrent_parts"}
    assert names <= set(found["launched"])
    for head in heads:
        for way in ("1", "2", "sharded"):
            assert_same_training(found[f"{head}-{way}"], expected[f"{head}-{way}"])
        assert found[f"{head}-sharded"]["sharded"]


@pytest.mark.slow
def test_streams(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two processes with two lanes each train as one with four; resumed in an epoch they end with the same weights."""
    single, double = (train(tmp_path_factory.mktemp("stream"), processes, "stream_worker.py") for processes in (1, 2))
    assert set(single) == {f"{name}-{count}" for name in ("transfo_xl", "lstm", "mamba") for count in (1, 3)}
    for run_name, expected in single.items():
        assert len(set(expected["losses"])) == (16 if run_name.endswith("-1") else 6), run_name
        for name in ("losses", "grad_norms", "eval_loss"):
            assert double[run_name][name] == pytest.approx(expected[name], rel=2e-3), (run_name, name)
        assert expected["resumed_equal"], run_name
        assert double[run_name]["resumed_equal"], run_name
