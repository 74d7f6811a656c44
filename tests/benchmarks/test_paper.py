# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The tables of the paper: cells, splits, significance, a stopped run that goes on, the page."""

import json

import numpy as np
import pytest
from benchmarks.paper import data, protocol, render, runner, tables
from benchmarks.paper.protocol import EMBEDDINGS, NETWORKS, Cell
from datasets import Dataset, DatasetDict
from scipy.stats import wilcoxon


def result(network, embedding, seed, correct, dataset="mr", options=()):
    cell = Cell(dataset, network, embedding, seed, options=tuple(options))
    hits = np.asarray(correct, bool)
    return {
        "key": cell.key,
        "cell": json.loads(json.dumps(vars(cell))),
        "test_accuracy": float(hits.mean()),
        "validation_accuracy": 0.5,
        "parameters": 1_000_000,
        "rows": {"test": len(hits)},
        "correct": np.packbits(hits).tobytes().hex(),
    }


def small_parts(*_):
    rows = {"text": ["good film", "bad film", "fine plot", "poor plot"] * 10, "label": ["1", "0"] * 20}
    return DatasetDict({name: Dataset.from_dict(rows) for name in ("train", "validation", "test")})


@pytest.fixture
def small_data(monkeypatch):
    monkeypatch.setattr(protocol, "load_parts", small_parts)
    monkeypatch.setattr(protocol, "_vectors", lambda: {"film": np.ones(50), "good": -np.ones(50)})
    protocol.encoded.cache_clear()
    yield
    protocol.encoded.cache_clear()


def test_table2_has_every_row_and_every_cell_once():
    cells = tables.table2_cells(["trec", "mr"], list(NETWORKS), [0, 1])
    assert len({cell.key for cell in cells}) == len(cells) == 2 * 5 * 5 * 2
    assert {cell.seed for cell in cells[:50]} == {0}  # whole tables of fewer seeds first
    assert set(tables.TABLE2) | {"GCN"} == set(NETWORKS)
    assert all(set(rows) == set(EMBEDDINGS) for rows in (*tables.TABLE2.values(), tables.GCN_TABLE))


def test_table4_has_the_rows_of_the_paper():
    cells = tables.table4_cells(["trec"], [0])
    assert len({cell.key for cell in cells}) == len(cells) == len(tables.TABLE4) == 13
    assert sum(scheme.share_parts for scheme in tables.TABLE4) == 5


@pytest.mark.parametrize("network", list(NETWORKS))
@pytest.mark.parametrize("embedding", list(EMBEDDINGS))
def test_every_cell_builds_a_network_of_its_field(small_data, network, embedding):
    model, coverage = protocol.build_model(Cell("mr", network, embedding, 0), {"<pad>": 0, "film": 1, "odd": 2}, 2)
    embedding_type, number_field = EMBEDDINGS[embedding]
    assert model.config.embedding_type == embedding_type
    assert model.config.number_field == number_field
    assert coverage == (pytest.approx(1 / 3) if NETWORKS[network].vectors else None)


def test_a_cell_is_selected_on_validation_and_is_the_same_twice(small_data):
    cell = Cell("mr", "FastText", "complex-order", 0)
    one, two = protocol.run_cell(cell), protocol.run_cell(cell)
    assert {**one, "seconds": 0} == {**two, "seconds": 0}
    assert one["test_accuracy"] == one["validation_accuracy"] > 0.9  # the parts of this test are equal
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(one["correct"]), np.uint8))[:40]
    assert bits.mean() == pytest.approx(one["test_accuracy"])


def test_a_stopped_run_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "table.jsonl"
    cells = tables.table2_cells(["mr"], ["FastText"], [0])
    lines = [json.dumps({"key": cell.key, "settings": runner._settings(cell), "test_accuracy": 0.5}) for cell in cells]
    path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])  # the last line was cut by the stop
    assert len(runner.read_results(path)) == len(cells) - 1
    path.write_text("\n".join(lines) + "\n")
    assert len(runner.run_cells(cells, path)) == len(cells)  # nothing is left to run
    monkeypatch.setitem(NETWORKS["FastText"].training, "learning_rate", 0.5)
    with pytest.raises(ValueError, match="under other settings: remove the file"):
        runner.run_cells(cells, path)


def test_signed_rank_is_that_of_the_shares_of_seeds():
    generator = np.random.default_rng(0)
    ours, other = generator.random((3, 200)) < 0.8, generator.random((3, 200)) < 0.6
    p, sign = render.signed_rank(
        [result("CNN", "complex-order", i, row) for i, row in enumerate(ours)],
        [result("CNN", "none", i, row) for i, row in enumerate(other)],
    )
    difference = ours.mean(0) - other.mean(0)
    assert p == pytest.approx(wilcoxon(difference, method="asymptotic").pvalue)
    assert sign == 1
    assert p < 1e-6
    same = [result("CNN", "none", 0, ours[0])]
    assert render.signed_rank(same, same) == (1.0, 0)


def test_page_shows_means_marks_and_what_is_missing():
    generator = np.random.default_rng(0)
    rates = {"none": 0.5, "PE": 0.95, "TPE": 0.8, "complex-vanilla": 0.5, "complex-order": 0.8}
    results = [
        result("CNN", name, seed, generator.random(400) < rate) for name, rate in rates.items() for seed in (0, 1)
    ]
    table = render.table2(results, ["CNN", "LSTM"], tables.TABLE2)
    order = next(line for line in table.splitlines() if line.startswith("| CNN, complex-order"))
    assert "§*" in order
    assert "(worse: †)" in order
    assert "[82.5]" in order
    assert "**" in next(line for line in table.splitlines() if line.startswith("| CNN, PE"))
    assert "not measured" in next(line for line in table.splitlines() if line.startswith("| LSTM, none"))
    assert "0 of 1" in render.wins(results)


def test_table4_finds_its_rows():
    scheme = tables.TABLE4[2]
    rows = [result("Transformer", scheme.embedding, 0, [1, 1, 0, 1], "trec", scheme.options)]
    line = next(line for line in render.table4(rows).splitlines() if line.startswith(f"| {scheme.name}"))
    assert "75.0" in line
    assert "79.7" in line


def test_a_text_in_two_parts_is_found():
    parts = {"train": Dataset.from_dict({"text": ["A  film"]}), "test": Dataset.from_dict({"text": ["a film"]})}
    with pytest.raises(ValueError, match="in train and in test: 'a film'"):
        data.check_disjoint(parts)


@pytest.mark.parametrize("name", list(data.DATASETS))
def test_real_parts_are_disjoint(name):
    try:
        data.data_folder()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    parts = data.load_parts(name)
    data.check_disjoint(parts)
    assert set(parts) == {"train", "validation", "test"}
    assert len(parts["test"]) >= 500
    with pytest.raises(ValueError, match="must be one of"):
        data.load_parts("imdb")
