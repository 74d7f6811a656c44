# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs on generated tasks: training sequences, scores, equal parameters, choice of the learning rate, the table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from benchmarks.reporting import add_line
from experiments.diagnostics import Cell, Network, Task, batches, build, length_scores, run, settings
from experiments.grid import Functions, Place
from experiments.grids.long_range import ATTENTION, COMPLEX_ONLY, FIELDS, GRIDS, RATES, ROWS, Row, rate_grids
from experiments.grids.rates import ChosenRate
from experiments.run import run_grid
from experiments.tables import long_range

from complex_transformers.analysis import count_parameters
from complex_transformers.recipes import TokenSequences
from experiments import diagnostics
from refusals import refused

CHOICE, FINAL = GRIDS
TINY = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}


def tiny(steps: int = 3, **changes: Any) -> Cell:
    task = Task("parity_data", (), (4, 8), (8, 40), steps)
    return Cell(task, Network("ComplexLlama", tuple({**TINY, **changes}.items())), 1e-2)


class Oracle(torch.nn.Module):
    """A causal model that knows the parity of every prefix, and is wrong at the last position of odd sequences."""

    def forward(self, input_ids: torch.Tensor) -> SimpleNamespace:
        answers = input_ids.where(input_ids < 2, 0).cumsum(dim=1) % 2
        answers[:, -2] ^= answers[:, -2]
        return SimpleNamespace(logits=torch.nn.functional.one_hot(answers, 3) * 50.0)


def test_scores_are_those_of_the_labelled_tokens() -> None:
    task = tiny().task
    odd = task.sample(diagnostics.PROTOCOL["test_tokens"] // 8, 8, 5).labels[:, -1].float().mean().item()
    found = length_scores(Oracle(), task, 8, seed=5)
    assert found["exact"] == pytest.approx(1 - odd, abs=1e-5)
    assert found["accuracy"] == pytest.approx(1 - odd / 8, abs=1e-5)
    assert found["loss"] == pytest.approx(50 * odd / 8, rel=1e-4)


@pytest.mark.parametrize("family", ["ComplexLlama", "ComplexRecurrentLM"])
def test_models_are_scored_by_the_loss_that_they_are_trained_with(family: str) -> None:
    options = {"hidden_size": 16, "recurrent_size": 16} if family == "ComplexRecurrentLM" else TINY
    task = Task("modular_arithmetic_data", (), (9, 9), (9,), 1)
    model = build(Cell(task, Network(family, tuple(options.items())), 1e-3)).eval()
    input_ids, labels, _ = task.sample(diagnostics.PROTOCOL["test_tokens"] // 9, 9, seed=5)
    with torch.no_grad():
        loss = model(input_ids, labels=labels).loss.item()
    assert length_scores(model, task, 9, seed=5)["loss"] == pytest.approx(loss, abs=1e-4)


def test_training_sequences_are_new_and_differ_from_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def sample(number: int, length: int, seed: int) -> TokenSequences:
        seeds.append(seed)
        ids = torch.full((number, length), seed)
        return TokenSequences(ids, ids, 3)

    monkeypatch.setattr(diagnostics.recipes, "parity_data", sample)
    task = tiny().task
    drawn = [next(stream) for seed in (0, 1) for stream in [batches(task, seed)] for _ in range(20)]
    assert {found.input_ids.shape[1] for found in drawn} == {4, 5, 6, 7, 8}
    assert len({*seeds, diagnostics.VALIDATION_SEED, diagnostics.TEST_SEED}) == 42


def test_a_run_learns_and_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(diagnostics.PROTOCOL, "test_tokens", 2048)
    monkeypatch.setitem(diagnostics.PROTOCOL, "warmup_steps", 5)
    task = Task("copy_data", (("num_symbols", 2),), (6, 6), (6, 12), 60)
    cell = Cell(task, Network("ComplexLlama", (*TINY.items(), ("initializer_range", 0.5))), 1e-2)
    first, second = run(cell, 1), run(cell, 1)
    assert first["test"] == second["test"]
    assert first["test"]["6"]["accuracy"] > 0.75
    assert (first["steps"], first["diverged"], set(first["test"])) == (60, False, {"6", "12"})
    assert run(replace(cell, learning_rate=float("inf")), 1)["diverged"]


@pytest.mark.parametrize("attention", [name for name in ATTENTION if name not in COMPLEX_ONLY])
def test_rows_of_equal_parameters_have_them(attention: str) -> None:
    with torch.device("meta"):
        counts = {
            field: count_parameters(build(ROWS[f"needle,{attention},{field}"].cell(RATES[0]))) for field in FIELDS
        }
    assert counts["real-equal-parameters"] == pytest.approx(counts["complex"], rel=0.01)
    assert counts["real"] > 1.3 * counts["complex"]


def test_unknown_options_are_rejected() -> None:
    refused(r"must be fields of ComplexLlamaConfig, got \['imaginary_tails'\]", build, tiny(imaginary_tails=2))


def test_every_row_has_every_rate_and_other_final_seeds() -> None:
    assert set(CHOICE.rows) == {f"{row},{rate}" for row in ROWS for rate in RATES}
    assert not set(FINAL.seeds) & set(CHOICE.seeds)
    assert {cell.learning_rate for cell in CHOICE.rows.values()} == set(RATES)


def test_the_best_rate_on_validation_is_trained(tmp_path: Path) -> None:
    row = SimpleNamespace(cell=lambda rate: replace(tiny(), learning_rate=rate))
    choice = Functions("tiny-choice", {}, (0,))
    options = {"choice": choice.name, "rates": RATES[:3]}
    final = ChosenRate("tiny", {"a": row}, (1,), lambda cell, _: {"rate": cell.learning_rate}, settings, **options)
    for rate, loss in zip(RATES[:2], (1.5, 1.2), strict=True):
        add_line(tmp_path / "tiny-choice.jsonl", {"row": f"a,{rate}", "seed": 0, "validation": {"loss": loss}})
    refused("a has no learning rate yet", final.run, "a", 1, Place(tmp_path))
    add_line(tmp_path / "tiny-choice.jsonl", {"row": f"a,{RATES[2]}", "seed": 0, "validation": {"loss": 1.2}})
    run_grid(final, ["a"], [1], Place(tmp_path))
    rows = dict.fromkeys("ab", Row(tiny().task, tiny().network))
    _, with_another = rate_grids("tiny", rows, RATES[:3], chosen_with={"b": "a"})
    assert with_another.best("b", Place(tmp_path)) == RATES[1]
    found = final.run("a", 1, Place(tmp_path))
    wanted = settings(replace(tiny(), learning_rate=RATES[1]))
    assert found == {"settings": json.loads(json.dumps(wanted)), "rate": RATES[1]}
    run_grid(final, ["a"], [1], Place(tmp_path))  # has a result with these settings
    other = SimpleNamespace(cell=lambda rate: replace(tiny(4), learning_rate=rate))
    changed = ChosenRate("tiny", {"a": other}, settings=settings)
    refused("a was measured with other settings", run_grid, changed, ["a"], [1], Place(tmp_path))


def test_table(tmp_path: Path) -> None:
    assert long_range.accuracy_table(tmp_path) == long_range.MISSING
    facts = {"processor": "P", "vector_instructions": "V", "threads": 1, "cores": 2, "python": "3", "versions": {}}
    for row in ("copy,rotary,complex", "copy,rotary,real", "indirect-indexing,rotary,real"):
        for seed, accuracy in ((1, 0.5), (2, 0.7), (3, 0.6)):
            lengths = {str(length): {"accuracy": accuracy} for length in (64, 79, 128, 256, 512)}
            lengths["1024"] = {"accuracy": accuracy / 2}
            line = {"row": row, "seed": seed, "test": lengths, "parameters": 42_000, "seconds": 9.5, "machine": facts}
            add_line(tmp_path / "long-range.jsonl", line)
    for rate, loss in zip(RATES, (1.0, 0.5, 2.0, 3.0, 4.0), strict=True):
        for row, sign in (("copy,rotary,complex", 1), ("copy,rotary,real", -1)):
            line = {"row": f"{row},{rate}", "seed": 0, "validation": {"loss": sign * loss}}
            add_line(tmp_path / "long-range-choice.jsonl", line)
    lines = long_range.accuracy_table(tmp_path).splitlines()
    assert lines[0].startswith("| task, positions and attention | field | parameters | trained length | x 2 |")
    assert lines[2] == "| **copy** |  |  |  |  |  |  |  |  |"
    means = "60.0 ± 10.0 | 60.0 ± 10.0 | 60.0 ± 10.0 | 60.0 ± 10.0 | 30.0 ± 5.0"
    assert lines[3] == f"| rotary | complex | 42,000 | {means} | 10 s |"
    assert lines[4].startswith("| rotary | real, equal width | 42,000 ")
    assert lines[5] == "| **indirect-indexing** |  |  |  |  |  |  |  |  |"
    assert lines[6] == "| rotary | real, equal width | 42,000 | 60.0 ± 10.0 | 60.0 ± 10.0 |  |  |  | 10 s |"
    assert lines[-1].endswith("1 of 2 rows chose the smallest or the largest learning rate.")


def test_complex_against_real(tmp_path: Path) -> None:
    assert long_range.fields_table(tmp_path) == long_range.MISSING
    for field, mean in (("complex", 0.9), ("real", 0.91), ("real-equal-parameters", 0.5)):
        for task in ("copy", "needle"):
            if (task, field) != ("needle", "real"):  # a task without all three is left out
                for seed in (1, 2, 3):
                    test = {"64": {"accuracy": mean + 0.02 * seed}}
                    add_line(
                        tmp_path / "long-range.jsonl", {"row": f"{task},polar,{field}", "seed": seed, "test": test}
                    )
    (line,) = long_range.fields_table(tmp_path).splitlines()[2:]
    assert line == "| copy | polar | 94.0 ± 2.0 | better (54.0 ± 2.0) | on par (95.0 ± 2.0) |"


def test_claims(tmp_path: Path) -> None:
    assert long_range.claims_table(tmp_path) == long_range.MISSING
    better = {"64": (0.9, 0.8), "128": (0.5, 0.51), "256": (0.2, 0.4), "512": (0.2, 0.4), "1024": (0.2, 0.2)}
    for row, which in (("copy,rotary-sigmoid,complex", 0), ("copy,rotary,complex", 1)):
        for seed in (1, 2, 3):
            test = {length: {"accuracy": both[which] + 0.02 * seed} for length, both in better.items()}
            add_line(tmp_path / "long-range.jsonl", {"row": row, "seed": seed, "test": test})
    lines = long_range.claims_table(tmp_path).splitlines()[2:]
    assert lines[0].endswith("better in 1 of 1, on par in 0 | **not reproduced**: better in 0 of 4, on par in 2 |")
    assert all(line.endswith("| not measured yet | not measured yet |") for line in lines[1:])
