# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The tables of the paper: cells, splits, significance, resuming an interrupted run, the page."""

import json

import numpy as np
import pytest
import torch
from benchmarks.reporting import RESULTS, add_line, read_lines
from datasets import Dataset, DatasetDict
from experiments.grid import Place
from experiments.grids import (
    GRIDS,
    fair,
    paper as grids,
    quantum,
)
from experiments.paper import data, protocol
from experiments.paper.protocol import EMBEDDINGS, NETWORKS, PAPER_NETWORKS, Cell
from experiments.tables import (
    coherent,
    paper as render,
)
from scipy.stats import wilcoxon

from complex_transformers import decay_parameter_names
from refusals import refused


def result(network, embedding, seed, correct, dataset="mr", options=()):
    cell = Cell(dataset, network, embedding, seed, options=tuple(options))
    hits = np.asarray(correct, bool)
    return {
        "row": cell.row,
        "seed": seed,
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


def test_grids_have_the_rows_of_the_paper():
    rows = GRIDS["paper-table2"].rows
    assert len(rows) == len(data.DATASETS) * len(PAPER_NETWORKS) * len(EMBEDDINGS)
    assert set(grids.TABLE2) | {"GCN"} == set(PAPER_NETWORKS)
    assert all(set(rows) == set(EMBEDDINGS) for rows in (*grids.TABLE2.values(), grids.GCN_TABLE))
    folds = GRIDS["paper-table2-folds"]
    assert not set(folds.rows) & set(rows)
    assert len(folds.choose(["mr,CNN,none,*"])) == data.FOLDS - 1
    assert len(GRIDS["paper-table4"].choose(["trec,*"])) == len(grids.TABLE4) == 13
    assert sum(scheme.share_parts for scheme in grids.TABLE4) == 5


@pytest.mark.parametrize(("grid", "gate"), [("paper-table2", "modulus"), ("fair-choice", "real_part")])
def test_results_say_which_gate_their_complex_lstms_have(grid, gate):
    """The results are older than the default."""
    for row, cell in GRIDS[grid].rows.items():
        gated = cell.network == "LSTM" and cell.number_field == "complex"
        assert dict(cell.options).get("gate") == (gate if gated else None), row


def test_a_row_is_run_with_its_seed(small_data, capsys):
    row = "mr,FastText,complex-order"
    found = GRIDS["paper-table2"].run(row, 3, Place())
    assert found["cell"]["seed"] == 3
    assert json.loads(json.dumps(found))["cell"]["network"] == "FastText"
    assert found["settings"]["training"]["num_train_epochs"] == protocol.EPOCHS["mr"]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("network", list(NETWORKS))
@pytest.mark.parametrize("embedding", list(EMBEDDINGS))
def test_every_cell_builds_a_network_of_its_field(small_data, network, embedding):
    model, coverage = protocol.build_model(Cell("mr", network, embedding, 0), {"<pad>": 0, "film": 1, "odd": 2}, 2)
    embedding_type, number_field = EMBEDDINGS[embedding]
    assert model.config.embedding_type == embedding_type
    assert model.config.number_field == number_field
    assert coverage == (pytest.approx(1 / 3) if NETWORKS[network].vectors else None)


def test_trained_sinusoids_start_as_fixed_ones_and_move(small_data):
    models = []
    for options in ((), (("trained_positions", True),)):
        cell = Cell("mr", "FastText", "TPE", 0, options=options)
        torch.manual_seed(0)
        models.append(protocol.build_model(cell, {"<pad>": 0, "film": 1, "odd": 2}, 2)[0].eval())
    ids, table = torch.tensor([[1, 2, 2]]), models[1].get_input_embeddings()
    torch.testing.assert_close(*(model(ids).logits for model in models), rtol=0, atol=0)
    assert models[1].num_parameters() - models[0].num_parameters() == table.num_features == 50
    assert "embeddings.frequency" not in " ".join(decay_parameter_names(models[1]))
    cotangent = torch.randn(1, 3, 100)
    (gradient,) = torch.autograd.grad(table(ids), table.frequency, cotangent)
    position, wave = torch.arange(1, 4.0)[:, None], table.frequency.detach() * torch.arange(1, 4.0)[:, None]
    real, imag = cotangent[0, :, :50], cotangent[0, :, 50:]
    torch.testing.assert_close(gradient, (position * (imag * wave.cos() - real * wave.sin())).sum(0))


@pytest.mark.full
def test_a_cell_is_selected_on_validation_and_is_the_same_twice(small_data):
    cell = Cell("mr", "FastText", "complex-order", 0)
    one, two = protocol.run_cell(cell), protocol.run_cell(cell)
    assert {**one, "seconds": 0} == {**two, "seconds": 0}
    assert one["test_accuracy"] == one["validation_accuracy"] > 0.9  # the splits of this test are equal
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(one["correct"]), np.uint8))[:40]
    assert bits.mean() == pytest.approx(one["test_accuracy"])


def test_settings_of_the_results_are_those_of_the_cells():
    grids = ("paper-table2", "paper-table4", "fair-choice", "fair", "quantum-choice", "quantum")
    for name in (*grids, "fair-coherent-choice", "fair-coherent"):
        for line in read_lines(RESULTS / f"{name}.jsonl"):
            GRIDS[name].check(line["row"], line)
    refused("with other settings", GRIDS["paper-table4"].check, "trec,Transformer,TPE", {"settings": {}})


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
    table = render.table2(results, ["CNN", "LSTM"], grids.TABLE2)
    order = next(line for line in table.splitlines() if line.startswith("| CNN, complex-order"))
    assert "§*" in order
    assert "(worse: †)" in order
    assert "[82.5]" in order
    assert "**" in next(line for line in table.splitlines() if line.startswith("| CNN, PE"))
    assert "not measured" in next(line for line in table.splitlines() if line.startswith("| LSTM, none"))
    assert "0 of 1" in (counts := render.wins(results))
    assert "better in 2 and worse in 1 of 4 tests" in counts
    assert counts.endswith("Holm's correction in 2 and 1.")


def test_a_text_in_two_parts_is_found():
    parts = {"train": Dataset.from_dict({"text": ["A  film"]}), "test": Dataset.from_dict({"text": ["a film"]})}
    refused("splits must be disjoint, got 'a film'", data.check_disjoint, parts)


# One data set with its own test split; the others are split by the same lines, into folds or not.
@pytest.mark.parametrize(
    "name", [name if name == "trec" else pytest.param(name, marks=pytest.mark.slow) for name in data.DATASETS]
)
def test_real_parts_are_disjoint(name):
    try:
        data.data_folder()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    parts = data.load_parts(name)
    data.check_disjoint(parts)
    assert set(parts) == {"train", "validation", "test"}
    assert len(parts["test"]) >= 500
    refused("must be one of", data.load_parts, "imdb")


# --- the same tuning budget for every row --------------------------------------------------------------------------


@pytest.mark.parametrize("network", PAPER_NETWORKS)
def test_every_row_chooses_among_as_many_settings(network):
    pools = {embedding: fair.pool(network, embedding) for embedding in EMBEDDINGS}
    assert {len(settings) for settings in pools.values()} == {fair.POOL}
    common = [[{name: each[name] for name in fair.COMMON} for each in settings] for settings in pools.values()]
    assert all(settings == common[0] for settings in common)
    for name, values in fair.COMMON.items():
        assert sorted(setting[name] for setting in common[0]) == sorted(values)
    waves = [(one["frequency_learning_rate"] / one["learning_rate"]) for one in pools["complex-order"]]
    assert sorted(waves) == pytest.approx(fair.WAVES["frequency_learning_rate"])
    attention = {"attention_score", "readout"} <= set(pools["complex-vanilla"][0])
    assert attention == (network == "Transformer")
    assert set(pools["TPE"][0]) == set(fair.COMMON)


def test_coherent_rows_differ_in_attention_alone(small_data):
    for name, row in GRIDS["fair-coherent"].rows.items():
        assert len(row.pool()) == fair.POOL
        model, config = (protocol.build_model(each.cell(row.pool()[0]), {"<pad>": 0, "film": 1}, 2)[0].config
                         for each in (row, GRIDS["fair"].rows[name]))  # fmt: skip
        assert (model.attention_score, model.attention_normalization) == ("cosine", "sigmoid")
        changed = {key for key, value in model.to_dict().items() if value != config.to_dict()[key]}
        assert changed == {"attention_score", "attention_normalization", "max_position_embeddings"}


def test_coherent_rows_are_judged_beside_softmax(tmp_path):
    assert coherent.coherent_table(tmp_path) == coherent.MISSING
    for grid, accuracies in (("fair-coherent", (0.8, 0.82)), ("fair", (0.7, 0.72))):
        for seed, accuracy in enumerate(accuracies):
            line = {"row": "mr,Transformer,TPE,equal", "seed": seed, "test_accuracy": accuracy}
            add_line(tmp_path / f"{grid}.jsonl", line)
    lines = coherent.coherent_table(tmp_path).splitlines()[2:]
    assert [line.count("against") for line in lines] == [0, 0, 0, 1]
    assert "|  | better: 81.0 ± 1.4 against 71.0 ± 1.4 |  |" in lines[-1]


def test_coherent_translators_are_judged_beside_softmax_with_the_best_learning_rate(tmp_path):
    assert coherent.translation_table(tmp_path) == coherent.MISSING
    grid = GRIDS["multi30k-coherent"]
    for row in ("complex_order", "complex_order-coherent"):
        with pytest.raises(ValueError, match=f'Run python -m experiments.run multi30k-coherent-choice "{row},'):
            grid.command(row, 1, Place(tmp_path))
        for rate, loss in zip(grid.rates, (3.0, 2.0, 4.0, 5.0), strict=True):
            line = {"row": f"{row},{rate}", "seed": 0, "validation": {"loss": loss}}
            add_line(tmp_path / "multi30k-coherent-choice.jsonl", line)
        assert grid.command(row, 1, Place(tmp_path))[-2:] == ["--learning_rate", "0.002"]
        for seed in (1, 2):
            bleu = 10 * seed + 20 * row.endswith("coherent")
            line = {"row": row, "seed": seed, "parameters": 1, "test": {"bleu": bleu}, "validation": {"loss": 2.0}}
            add_line(tmp_path / "multi30k-coherent.jsonl", line)
    (line,) = coherent.translation_table(tmp_path).splitlines()[2:]
    assert line.startswith("| complex-order | complex | 1 | better: 35.00 ± 7.07 against 15.00 ± 7.07 | on par: 2.00")
    assert line.endswith("| 0.002 and 0.002 |")


def test_states_choose_among_as_many_settings(small_data):
    rows = GRIDS["quantum"].rows
    assert {row.dataset for row in rows.values()} == set(data.DATASETS)
    assert {row.network: len(row.pool()) for row in rows.values()} == {"Quantum": fair.POOL, "FastText": 2 * fair.POOL}
    first, second = (rows["trec,FastText,none"].pool()[start : start + fair.POOL] for start in (0, fair.POOL))
    assert first == fair.pool("FastText", "none")
    for name in ("learning_rate", "hidden_dropout_prob"):
        assert sorted(setting[name] for setting in second) == sorted(quantum.STATES[name])
    real, free = (rows[f"trec,Quantum,{name}"] for name in ("none", "complex-vanilla"))
    assert real.pool() == free.pool()
    for name, values in quantum.STATES.items():
        assert sorted(setting[name] for setting in real.pool()) == sorted(values)
    real, free = (protocol.build_model(row.cell({}), {"<pad>": 0, "film": 1}, 2)[0] for row in (real, free))
    assert real.num_parameters() == free.num_parameters()
    assert len(GRIDS["quantum-choice"].rows) == sum(len(row.pool()) for row in rows.values())


@pytest.mark.parametrize("network", list(fair.EQUAL))
@pytest.mark.parametrize(("dataset", "words"), [("trec", 2900), ("mr", 7700), ("sst2", 6000)])
def test_equal_rows_have_as_many_parameters(small_data, dataset, words, network):
    vocabulary = {"film": 1} | {str(i): i for i in range(words) if i != 1}

    def parameters(embedding, equal=False):
        cell = fair.Row(dataset, network, embedding, equal).cell({})
        return protocol.build_model(cell, vocabulary, 2)[0].num_parameters()

    assert parameters("none", equal=True) == pytest.approx(parameters("complex-order"), rel=0.02)


@pytest.mark.full
def test_the_best_setting_on_validation_is_tested_with_other_seeds(small_data, tmp_path):
    grid, place, row = GRIDS["fair"], Place(results=tmp_path), "mr,FastText,complex-order"
    assert fair.SEED not in grid.seeds
    refused(f'experiments.run fair-choice "{row},', grid.run, row, 1, place)
    for index, accuracy in enumerate((0.5, 0.8, 0.8, 0.1)):
        add_line(tmp_path / "fair-choice.jsonl", {"row": f"{row},{index}", "seed": 0, "validation_accuracy": accuracy})
    found = json.loads(json.dumps(grid.run(row, 1, place)))
    assert (found["choice"], found["cell"]["seed"]) == (1, 1)
    given = dict(found["cell"]["options"]) | dict(found["cell"]["training"])
    assert given == fair.pool("FastText", "complex-order")[1]
    grid.check(row, {**found, "seed": 1})
    refused("another pool", grid.check, row, {**found, "seed": 1, "choice": 2})


def test_the_fair_table_has_rows_of_equal_parameters_and_what_was_chosen(tmp_path):
    assert render.fair_table(tmp_path) == "not measured yet"
    accuracies = {"mr,CNN,none": 0.5, "mr,CNN,none,equal": 0.9, "mr,CNN,complex-order": 0.8}
    for row, accuracy in accuracies.items():
        for seed in fair.FINAL_SEEDS:
            found = result("CNN", row.split(",")[2], seed, np.arange(100) < 100 * accuracy)
            add_line(tmp_path / "fair.jsonl", {**found, "row": row, "choice": 2})
    add_line(tmp_path / "fair.jsonl", {**found, "row": "mr,CNN,TPE", "seed": 1, "choice": 0})  # of three seeds
    lines = [line for line in render.fair_table(tmp_path).splitlines() if "CNN" in line]
    assert lines[0] == "| CNN, none (real) § | 50.0 ± 0.0 #3 [80.9] | 1.00 M | 3 |"
    assert lines[-1] == "| CNN, none, equal parameters (real) | **90.0 ± 0.0** #3 | 1.00 M | 3 |"
    assert "80.0 ± 0.0 § #3" in lines[-2]
    assert "not measured" in next(line for line in lines if "TPE" in line)
    assert len(lines) == len(EMBEDDINGS) + 1


def test_the_rate_of_frequencies_reaches_the_optimizer(small_data):
    cell = Cell("mr", "FastText", "complex-order", 0, training=(("frequency_learning_rate", 0.0),))
    trained, _ = protocol.train_cell(cell)
    start, _ = protocol.build_model(cell, {"<pad>": 0, "film": 1}, 2)
    one, other = (model.get_input_embeddings().frequency[0].detach() for model in (trained.model, start))
    assert np.array_equal(one, other)
