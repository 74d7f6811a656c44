# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Two and four processes train (DDP, FSDP2, gradient accumulation) and answer as one does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import pipeline

from complex_transformers import build_tokenizer
from families import Case
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


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return train(tmp_path_factory.mktemp("four"), processes=4, heads=("mlm", "llama"))


# An encoder, an encoder-decoder, a bag of words, a recurrence, a decoder, a memory; others are divided as these are.
OTHERS = ("classification", "cnn", "gcn", "mlp", "convnet", "quantum")
HEADS = pytest.mark.parametrize(
    "head",
    [
        *("mlm", "seq2seq", "fasttext", "rnn", "llama", "memory"),
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
@pytest.mark.parametrize("head", ["mlm", "llama"])
def test_four_processes(single: dict[str, dict[str, Any]], four: dict[str, dict[str, Any]], head: str) -> None:
    for accumulation in (1, 2):
        result = four[f"{head}-{accumulation}"]
        assert result["world_size"] == 4
        assert_same_training(result, single[f"{head}-1"])
    assert four[f"{head}-sharded"]["sharded"]
    assert_same_training(four[f"{head}-sharded"], single[f"{head}-sharded"])


@pytest.mark.slow
def test_streams(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two processes with two lanes each train as one with four; resumed in an epoch they end with the same weights."""
    single, double = (train(tmp_path_factory.mktemp("stream"), processes, "stream_worker.py") for processes in (1, 2))
    assert set(single) == {f"{name}-{count}" for name in ("transfo_xl", "lstm") for count in (1, 3)}
    for run_name, expected in single.items():
        assert len(set(expected["losses"])) == (16 if run_name.endswith("-1") else 6), run_name
        for name in ("losses", "grad_norms", "eval_loss"):
            assert double[run_name][name] == pytest.approx(expected[name], rel=2e-3), (run_name, name)
        assert expected["resumed_equal"], run_name
        assert double[run_name]["resumed_equal"], run_name


WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
SOURCES = [" ".join(WORDS[(first + 3 * step) % 10] for step in range(2 + first % 5)) for first in range(10)]
TARGETS = [" ".join(reversed(source.split())) for source in SOURCES]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned ten sentences by heart, saved with its tokenizer."""
    tokenizer = build_tokenizer([*SOURCES, *TARGETS], "bpe", vocab_size=300, append_eos=True)
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 32, "decoder_start_token_id": tokenizer.bos_token_id}
    model = Case("complex_seq2seq", "modulus").without_dropout(**sizes, **ids)
    source, target = (tokenizer(texts, padding=True, return_tensors="pt") for texts in (SOURCES, TARGETS))
    labels = target["input_ids"].masked_fill(target["attention_mask"] == 0, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(150):
        model(**source, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    path = tmp_path_factory.mktemp("translator")
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_same_translations_wherever_they_are_made(translator: Path, tmp_path: Path, dtype: str) -> None:
    here = pipeline("complex-text2text", model=str(translator), dtype=dtype)(SOURCES, num_beams=3)
    assert [answer[0]["generated_text"] for answer in here] == TARGETS
    texts = translator / "texts.txt"
    texts.write_text("\n".join(SOURCES), encoding="utf-8")
    for processes in (1, 2):
        run("serve_worker.py", translator, dtype, texts, tmp_path / f"{processes}-", processes=processes)
    answers = sorted(tmp_path.iterdir())
    assert [path.name for path in answers] == ["1-0.json", "2-0.json", "2-1.json"]
    assert all(json.loads(path.read_text()) == TARGETS for path in answers)
