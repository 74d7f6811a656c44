# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The experiments of the thesis: rows, runs and tables."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from benchmarks.reporting import add_line
from experiments.grids import GRIDS
from experiments.grids.thesis import DEPTHS, FAILING
from experiments.tables.thesis import TABLES
from experiments.thesis import protocol
from experiments.thesis.data import (
    Part,
    Task,
)
from experiments.thesis.printed import PRINTED
from experiments.thesis.protocol import ACTIVATIONS, Cell, build, run, settings, summary, trace_run


def images(number, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 2, (number,), generator=generator)
    pixels = torch.rand(number, 1, 10, 10, generator=generator) * 0.2
    pixels[labels == 1, :, :5] += 0.7
    return Part({"pixel_values": pixels}, labels)


def texts(number, seed):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, 8, (number, 5), generator=generator)
    mask = torch.ones_like(ids)
    ids[:, 3:], mask[:, 3:] = 0, 0
    labels = torch.stack([(ids == word).any(dim=1) for word in (1, 2, 3)], dim=1).float()
    return Part({"input_ids": ids, "attention_mask": mask}, labels)


IMAGES = Task(
    images(300, 0), images(50, 1), images(50, 2), {"num_channels": 1, "image_size": [10, 10], "num_labels": 2}
)
BAGS = {"vocab_size": 8, "bag_of_words": "binary", "num_labels": 3, "pad_token_id": 0}
LABELS = Task(texts(300, 0), texts(50, 1), texts(50, 2), BAGS, multi_label=True)
CELL = Cell("mnist", "1", "split_relu", 2, "complex", 3)


@pytest.fixture(autouse=True)
def tasks(monkeypatch):
    monkeypatch.setattr(protocol, "load_task", lambda name, seed: LABELS if name == "modapte90" else IMAGES)


def test_rows_are_those_of_the_thesis():
    assert len(PRINTED["1"]) == len(PRINTED["2"]) == 4 * 5 * 6
    assert len(PRINTED["cnn"]) == 2 * 5 * 6
    assert PRINTED["1"]["mnist", "relu", 8, "complex"] == 0.9760
    assert PRINTED["2"]["r52", "|z|", 8, "complex"] == 0.7302
    assert PRINTED["cnn"]["cifar10-cut", "|z|", 2, "real"] == 0.7756
    rows = GRIDS["thesis-mlp"].rows
    for data, name, k, field in PRINTED["1"]:
        for layout in "12":
            cell = rows[f"{data},{layout},{name},{k},{field}"]
            assert (cell.data, cell.layout, cell.hidden_act, cell.k) == (data, layout, ACTIVATIONS[name], k)
            assert cell.number_field == field
    assert len(GRIDS["thesis-failures"].rows) == 2 * len(FAILING) * len(DEPTHS) * 2


@pytest.mark.parametrize(
    ("changes", "widths"),
    [
        ({}, [64, 128, 64]),
        ({"number_field": "real"}, [64, 64, 64]),
        ({"data": "cifar10-cut"}, [128, 256, 128]),
        ({"layout": (6, 4)}, [6, 4]),
        ({"layout": "cnn", "k": 0}, [128]),
    ],
)
def test_widths_of_a_cell(changes, widths):
    cell = replace(CELL, **changes)
    assert cell.widths(IMAGES) == widths
    config = build(cell, IMAGES).config
    assert config.layer_widths == widths
    assert config.model_type == ("complex_convnet" if cell.layout == "cnn" else "complex_mlp")


def test_a_budget_is_kept():
    sizes = {"num_channels": 1, "image_size": [28, 28], "num_labels": 10}
    mnist = Task(IMAGES.train, IMAGES.validation, IMAGES.test, sizes)
    assert replace(CELL, layout="2").widths(mnist) == [2 * 207] * 3  # Table 3.5
    assert replace(CELL, layout="2", number_field="real").widths(mnist) == [339] * 3


def test_weights_of_one_over_fan():
    torch.manual_seed(0)
    model = build(replace(CELL, init="fan"), IMAGES)
    for layer in (model.model.layers[1].dense, model.classifier.projection):
        fans = sum(layer.real.weight.shape)
        square = layer.real.weight.square().mean() + layer.imag.weight.square().mean()
        assert square.item() == pytest.approx(2 / fans**2, rel=0.2)


@pytest.mark.parametrize("number_field", ["complex", "real"])
def test_a_run_learns_and_repeats(number_field):
    cell = replace(CELL, number_field=number_field, epochs=6)
    first, second = run(cell, 1), run(cell, 1)
    assert first["test"] > 0.95
    assert (first["dead"], first["diverged"]) == (False, None)
    assert len(first["curve"]) == 6
    assert {**first, "seconds": 0} == {**second, "seconds": 0}
    assert run(cell, 2)["curve"] != first["curve"]


def test_inputs_out_of_scale_and_numbers_that_are_none():
    scaled = run(replace(CELL, scale=3e38, hidden_act="identity", number_field="real"), 0)
    assert scaled["diverged"].startswith("step 0, loss")
    assert len(scaled["curve"]) == 1


@pytest.mark.full
def test_several_labels():
    cell = Cell("modapte90", "1", "split_relu", 0, "complex", 40)
    good = run(replace(cell, options=(("readout", "probability_amplitude"),)), 0)
    bad = run(replace(cell, options=(("readout", "squared_modulus"),)), 0)
    assert good["test"] > 0.9
    always = 2 * LABELS.test.labels.mean().item() / (1 + LABELS.test.labels.mean().item())
    assert bad["test"] == pytest.approx(always, abs=1e-4)  # every label, always


def test_the_epoch_is_chosen_on_validation():
    epochs = [
        {"validation": v, "test": t, "train": 1.0, "one_answer": 0.6} for v, t in ((0.5, 0.9), (0.7, 0.4), (0.7, 0.8))
    ]
    found = summary({"epochs": epochs, "diverged": None})
    assert (found["test"], found["best_epoch"], found["last_test"], found["dead"]) == (0.4, 2, 0.8, False)
    epochs[-1]["one_answer"] = 0.995
    assert summary({"epochs": epochs, "diverged": None})["dead"]


def test_a_recipe_mirrors_decays_and_drops(monkeypatch):
    cell = replace(CELL, layout=(8, 8), recipe="regularised")
    assert build(cell, IMAGES).config.hidden_dropout_prob == 0.2
    assert settings(cell).keys() - settings(CELL).keys() == {"decay", "mirrored", "dropout", "scored"}
    part = IMAGES.train[torch.arange(100)]
    seen = protocol.mirror(part, torch.Generator().manual_seed(0))
    pixels, turned = part.inputs["pixel_values"], seen.inputs["pixel_values"]
    kept = (turned == pixels).flatten(1).all(1)
    assert 30 < kept.sum() < 70
    assert torch.equal(turned[~kept], pixels[~kept].flip(-1))
    assert torch.equal(seen.labels, part.labels)

    rates = []

    class Recorded(torch.optim.SGD):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])

    monkeypatch.setattr(torch.optim, "Adam", Recorded)
    run(replace(cell, epochs=2), 0)
    steps = 2 * math.ceil(300 / 128)
    assert rates == pytest.approx([1e-3 * (1 - step / steps) for step in range(steps)])


def test_traces_of_the_first_weight():
    torch.manual_seed(0)
    weight = build(CELL, IMAGES).model.layers[0].dense.imag.weight
    found = trace_run(CELL, 0)
    assert len(found["real"]) == len(found["imag"]) == 4
    assert found["imag"][0] == pytest.approx(weight.double().abs().mean().item(), abs=1e-6)
    assert found["imag"][0] != found["imag"][-1]


def write(results, grid, row, seed, **figures):
    run = {"test": 0.9, "last_test": 0.91, "validation": 0.9, "train": 0.95, "diverged": None, "dead": False}
    add_line(results / f"thesis-{grid}.jsonl", {"row": row, "seed": seed, "parameters": 10, **run, **figures})


def test_how_far_the_complex_network_is_ahead(tmp_path):
    """Check the smallest and largest lead over the depths of both fields; one depth gives one value."""
    for k, theirs, ours in ((0, 0.90, 0.93), (2, 0.91, 0.92), (4, 0.95, 0.90)):
        write(tmp_path, "mlp", f"r52,2,|z|,{k},real", 0, test=theirs)
        write(tmp_path, "mlp", f"r52,2,|z|,{k},complex", 0, test=ours - 0.01)
        write(tmp_path, "mlp", f"r52,2,|z|,{k},complex", 1, test=ours + 0.01)
    write(tmp_path, "mlp", "r52,2,|z|,8,real", 0, test=0.1)
    write(tmp_path, "cnn", "cifar10-cut,relu,2,real", 0, test=0.50)
    write(tmp_path, "cnn", "cifar10-cut,relu,2,complex", 0, test=0.48)
    rows = TABLES["docs/thesis.md"]["thesis-ahead"](tmp_path).splitlines()[2:]
    assert rows == ["| 2 | `modulus` |  | -5.0 to +3.0 |  |", "| 3 | `split_relu` |  |  | -2.0 |"]
    signs = TABLES["docs/thesis.md"]["thesis-sign-test"](tmp_path).splitlines()[2:]
    assert signs == ["| R52 | 1 | 3 | 1.000 |", "| R52 and CIFAR-10 (cut) | 1 | 3 | 1.000 |"]


def test_tables(tmp_path):
    tables = TABLES["docs/thesis.md"]
    assert {table(tmp_path) for table in tables.values()} == {"not measured yet"}
    for seed, test in ((0, 0.9), (1, 0.94)):
        write(tmp_path, "mlp", "mnist,1,|z|,8,complex", seed, test=test, dead=seed == 1)
        write(tmp_path, "failures", "none,modulus,8,complex", seed, test=test, diverged="step 3" if seed else None)
        write(tmp_path, "causes", "r52,modulus,4,real,x1,fan,layer", seed, test=test - 0.42)
        curves = {part: [1.0, 2 + seed, 3, 5 - seed + shift] for shift, part in enumerate(("real", "imag"))}
        write(tmp_path, "dynamics", "mnist-5000", seed, **curves)
        write(tmp_path, "labels", "real,concat", seed, test=test)
        write(tmp_path, "cnn-recipes", "modulus,complex,regularised", seed, test=test)
        for field in ("real", "complex"):
            write(tmp_path, "inputs", f"mnist,mlp,fft2,2,{field}", seed, test=test)
            write(tmp_path, "synthetic", f"real,tanh,{field}", seed, test=test)
    rows = {name: table(tmp_path).splitlines()[-1] for name, table in tables.items()}
    assert rows["thesis-1-mnist"] == "| 8 | `modulus` |  | 92.0 ± 2.8 (91.0), 1 of 2 failed | 2 | 97.9 | 10.3 |"
    assert rows["thesis-failures"] == "| none | complex | `modulus` | 2 |  |  |  | 92.0, **1 diverged** |"
    assert rows["thesis-causes-r52"] == "| x1 | fan | layer | `modulus` | real |  |  | 50.0 ± 2.8, 1/2 |  |"
    assert rows["thesis-inputs"] == "| fft2 | 2 | 92.0 ± 2.8 (10) | 92.0 ± 2.8 (10) | 2 |"
    assert rows["thesis-labels"] == "| real | `concat` | 95.0 ± 0.0 | 90.0 ± 0.0 | 92.0 ± 2.8 | 2 |"
    assert rows["thesis-synthetic"].startswith("| real | `tanh` | 95.0 ± 0.0 | 92.0 ± 2.8 |")
    assert rows["thesis-dynamics"].startswith("| mnist-5000 | 2 | ")
    recipes = rows["thesis-cnn-recipes"]
    assert recipes == "| `modulus` | regularised |  |  |  | 95.0 ± 0.0 | 90.0 ± 0.0 | 92.0 ± 2.8 | 2 |"
    assert rows["thesis-cnn-mnist"] == "not measured yet"


def test_language_models_that_see_words_to_come_are_marked(tmp_path):
    for row, name in (("LM-R", "perplexity"), ("Fourier-sequence", "not_a_perplexity")):
        scores = {"loss": 2.0, name: math.exp(2), "bits_per_character": 1.5}
        figures = {"validation": {"loss": 1.0, name: math.e}, "test": scores, "seconds": 7.0, "resumed": False}
        curve = {"perplexity_by_position": [8.0, 2.0, *[4.0] * 8, 9.0]} if row == "LM-R" else {}
        write(tmp_path, "language-models", row, 0, **figures, **curve)
    rows = TABLES["docs/thesis.md"]["thesis-language-models"](tmp_path).splitlines()[2:]
    assert rows[0] == "| LM-R | `--number_field real` | 0 | 2.7 | 7.4 | 1.500 | 4.0 | 4.7 | 0.00 M | 7 s |"
    assert rows[1].startswith("| Fourier-sequence (**sees future tokens**) | ")
    assert rows[1].endswith(" | 0 | 2.7 | 7.4 | 1.500 |  |  | 0.00 M | 7 s |")


def test_parts_of_the_printed_language_model(tmp_path):
    assert TABLES["docs/thesis.md"]["thesis-language-printed"](tmp_path) == "not measured yet"
    for row, loss in (("head", 2.0), ("full-softmax", 1.0)):
        write(tmp_path, "language-printed", row, 0, validation={"loss": loss}, seconds=7.0, resumed=False)
    rows = TABLES["docs/thesis.md"]["thesis-language-printed"](tmp_path).splitlines()[2:]
    assert rows == [
        "| full-softmax | none | 2.7 | 0.00 M | 7 s |",
        "| head | `--lm_readout squared_modulus --lm_bias false` | 7.4 | 0.00 M | 7 s |",
    ]


def test_states_of_the_printed_language_model(tmp_path):
    assert TABLES["docs/thesis.md"]["thesis-language-states"](tmp_path) == "not measured yet"
    losses = {"loss_from_empty": 2.0, "loss_from_training": 1.0}
    write(tmp_path, "language-states", "gate", 0, largest_of_training=155.4, largest_from_empty=462.9, **losses)
    rows = TABLES["docs/thesis.md"]["thesis-language-states"](tmp_path).splitlines()[2:]
    assert rows == ["| gate | 0 | 7.4 | 2.7 | 155 | 463 |"]
